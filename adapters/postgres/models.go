package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"voucherd/domain/voucher"
)

// voucherColumns are the columns of voucherRow, in its order.
const voucherColumns = `code, discount_amount, min_order_amount, total_limit, used_count, per_user_limit, starts_at, ends_at,
	paused, mode, config_mode, epoch, drained_epoch, partition, sequence, change_number, created_at, updated_at`

// voucherRow is a row of voucher.
type voucherRow struct {
	bun.BaseModel `bun:"table:voucher" db:"-"`

	Code           voucher.Code
	DiscountAmount int64
	MinOrderAmount int64
	TotalLimit     int64
	UsedCount      int64
	PerUserLimit   int64
	StartsAt       time.Time
	EndsAt         time.Time
	Paused         bool
	Mode           voucher.Mode
	ConfigMode     *voucher.Mode
	Epoch          int64
	DrainedEpoch   int64
	Partition      *int32
	Sequence       int64
	ChangeNumber   int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

func (r voucherRow) voucher() voucher.Voucher {
	s := voucher.Snapshot{
		Code: r.Code,
		Terms: voucher.Terms{
			DiscountAmount: r.DiscountAmount, MinOrderAmount: r.MinOrderAmount,
			TotalLimit: r.TotalLimit, PerUserLimit: r.PerUserLimit,
			StartsAt: utc(r.StartsAt), EndsAt: utc(r.EndsAt),
			Paused: r.Paused, Mode: r.Mode,
		},
		Used: r.UsedCount, Epoch: r.Epoch, Drained: r.DrainedEpoch, Partition: r.Partition,
		Sequence: r.Sequence, Change: r.ChangeNumber,
		CreatedAt: utc(r.CreatedAt), UpdatedAt: utc(r.UpdatedAt),
	}
	if r.ConfigMode != nil {
		s.ConfigMode = *r.ConfigMode
	}
	return voucher.Restore(s)
}

// redemptionColumns are the columns of redemptionRow, in its order.
const redemptionColumns = `r.voucher_code, r.order_id, r.customer_id, r.order_amount, r.discount_amount, r.status,
	r.epoch, r.sequence, r.created_at, r.expires_at, r.confirmed_at, r.released_at, r.release_reason`

// redemptionRow is a row of voucher_redemption.
type redemptionRow struct {
	bun.BaseModel `bun:"table:voucher_redemption" db:"-"`

	VoucherCode    voucher.Code
	OrderID        voucher.OrderID
	CustomerID     voucher.CustomerID
	OrderAmount    int64
	DiscountAmount int64
	Status         voucher.Status
	Epoch          int64
	Sequence       int64
	CreatedAt      time.Time
	ExpiresAt      time.Time
	ConfirmedAt    *time.Time
	ReleasedAt     *time.Time
	ReleaseReason  *string
}

func (r redemptionRow) reservation() voucher.Reservation {
	rec := voucher.Record{
		Code: r.VoucherCode, Order: r.OrderID, Customer: r.CustomerID,
		OrderAmount: r.OrderAmount, DiscountAmount: r.DiscountAmount, Status: r.Status,
		Version:   voucher.Version{Epoch: r.Epoch, Sequence: r.Sequence},
		CreatedAt: utc(r.CreatedAt), ExpiresAt: utc(r.ExpiresAt),
		ConfirmedAt: instant(r.ConfirmedAt), ReleasedAt: instant(r.ReleasedAt),
	}
	if r.ReleaseReason != nil {
		rec.ReleaseReason = *r.ReleaseReason
	}
	return voucher.RestoreReservation(rec)
}

func reservations(rs []redemptionRow) []voucher.Reservation {
	out := make([]voucher.Reservation, len(rs))
	for i, r := range rs {
		out[i] = r.reservation()
	}
	return out
}

// customerRow is a row of voucher_customer, as far as a decision needs it.
type customerRow struct {
	bun.BaseModel `bun:"table:voucher_customer" db:"-"`

	CustomerID voucher.CustomerID
	Uses       int64
}

// bookedCustomer is the whole row.
type bookedCustomer struct {
	bun.BaseModel `bun:"table:voucher_customer" db:"-"`

	CustomerID voucher.CustomerID
	Uses       int64
	LimitSeen  int64
}

// eventColumns are the columns of eventRow, in its order.
const eventColumns = `id, voucher_code, kind, order_id, customer_id, epoch, sequence, actor, at, before, after`

// eventRow is a row of voucher_event.
type eventRow struct {
	bun.BaseModel `bun:"table:voucher_event" db:"-"`

	ID          int64
	VoucherCode voucher.Code
	Kind        voucher.ChangeKind
	OrderID     *voucher.OrderID
	CustomerID  *voucher.CustomerID
	Epoch       int64
	Sequence    int64
	Actor       string
	At          time.Time
	Before      []byte `bun:"type:jsonb"`
	After       []byte `bun:"type:jsonb"`
}

func (r eventRow) change() (voucher.Change, error) {
	c := voucher.Change{
		ID: r.ID, Code: r.VoucherCode, Kind: r.Kind, Actor: r.Actor, At: utc(r.At),
		Version: voucher.Version{Epoch: r.Epoch, Sequence: r.Sequence},
	}
	var err error
	if r.OrderID == nil {
		if c.TermsBefore, err = fromJSON(r.Before, termsJSON.terms); err == nil {
			c.TermsAfter, err = fromJSON(r.After, termsJSON.terms)
		}
	} else {
		c.Order = *r.OrderID
		if r.CustomerID != nil {
			c.Customer = *r.CustomerID
		}
		if c.Before, err = fromJSON(r.Before, factsJSON.facts); err == nil {
			c.After, err = fromJSON(r.After, factsJSON.facts)
		}
	}
	if err != nil {
		return voucher.Change{}, fmt.Errorf("history entry %d: %w", r.ID, err)
	}
	return c, nil
}

// termsJSON is how the history writes a voucher's terms: by the names of the columns.
type termsJSON struct {
	DiscountAmount int64        `json:"discount_amount"`
	MinOrderAmount int64        `json:"min_order_amount"`
	TotalLimit     int64        `json:"total_limit"`
	PerUserLimit   int64        `json:"per_user_limit"`
	StartsAt       time.Time    `json:"starts_at"`
	EndsAt         time.Time    `json:"ends_at"`
	Paused         bool         `json:"paused"`
	Mode           voucher.Mode `json:"mode"`
}

func (j termsJSON) terms() voucher.Terms {
	t := voucher.Terms(j)
	t.StartsAt, t.EndsAt = utc(t.StartsAt), utc(t.EndsAt)
	return t
}

// factsJSON is how the history writes what a change of a reservation rests on.
type factsJSON struct {
	Status         voucher.Status `json:"status"`
	OrderAmount    int64          `json:"order_amount,omitempty"`
	DiscountAmount int64          `json:"discount_amount,omitempty"`
	ExpiresAt      time.Time      `json:"expires_at,omitzero"`
	ReleasedAt     time.Time      `json:"released_at,omitzero"`
	ReleaseReason  string         `json:"release_reason,omitempty"`
}

func (j factsJSON) facts() voucher.Facts {
	f := voucher.Facts(j)
	f.ExpiresAt, f.ReleasedAt = instant(&f.ExpiresAt), instant(&f.ReleasedAt)
	return f
}

// toJSON returns the text of *v as J, nil for nil.
func toJSON[J, V any](v *V, as func(V) J) (*string, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(as(*v))
	if err != nil {
		return nil, fmt.Errorf("write history: %w", err)
	}
	s := string(text)
	return &s, nil
}

func fromJSON[J, V any](text []byte, as func(J) V) (*V, error) {
	if text == nil {
		return nil, nil
	}
	var j J
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	v := as(j)
	return &v, nil
}

// utc returns the time as the core keeps it. It is not cut to milliseconds: it was when it was written, and what a hand
// changed below them must show in an audit.
func utc(t time.Time) time.Time { return t.UTC() }

// instant does the same where there may be none; the core's word for that is zero.
func instant(t *time.Time) time.Time {
	if t == nil || t.IsZero() {
		return time.Time{}
	}
	return utc(*t)
}

// orNull is the way back.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
