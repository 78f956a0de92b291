// Package voucher holds vouchers, their reservations and the rules of both, and decides on them: a State is one voucher
// inside one transaction, takes decisions one after the other, and tells in the end what is to be written.
package voucher

import (
	"time"

	"voucherd/domain/fault"
)

// The ranges of section "HTTP API" of the published design.
const (
	// MaxAmount is the largest amount, in minor units: the largest whole number that every JSON client holds exactly.
	MaxAmount = 1<<53 - 1
	// MaxLimit is the largest totalLimit and perUserLimit.
	MaxLimit = 1<<31 - 1
)

// Terms are what a shop sets for a voucher, and may change.
type Terms struct {
	DiscountAmount int64 // minor units, 1…MaxAmount
	MinOrderAmount int64 // minor units, 0…MaxAmount
	TotalLimit     int64 // uses, 1…MaxLimit
	PerUserLimit   int64 // uses of one customer, 1…MaxLimit
	StartsAt       time.Time
	EndsAt         time.Time // exclusive; after StartsAt
	Paused         bool
	Mode           Mode // as set over the API; a configured mode goes before it
}

// Snapshot is a voucher with all fields open: what storage keeps and restores.
type Snapshot struct {
	Code Code
	Terms
	Used       int64 // live uses, 0…TotalLimit
	ConfigMode Mode  // the mode that the configuration names, or empty
	Epoch      int64 // first half of a version; rises when the mode changes
	Drained    int64 // the epoch below which nothing can arrive any more
	Partition  *int32
	Sequence   int64 // second half of the last version given out under Epoch
	Change     int64 // rises with every change of the terms
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Voucher is a voucher that keeps its rules: it is made by New, changed by Amend and by a State's decisions, and
// restored by storage alone. It is a value; copies are independent.
type Voucher struct{ s Snapshot }

// Instant cuts t to the precision that is stored and answered: whole milliseconds, in UTC.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// New returns a voucher with no use taken. Terms out of range are an Invalid fault that names the first wrong field.
func New(code Code, t Terms, now time.Time) (Voucher, error) {
	t = t.cut()
	if err := t.validate("endsAt"); err != nil {
		return Voucher{}, err
	}
	now = Instant(now)
	return Voucher{Snapshot{Code: code, Terms: t, Epoch: NextEpoch(0, now), CreatedAt: now, UpdatedAt: now}}, nil
}

// NextEpoch returns the epoch that follows last, 0 before the first, for a change at now. It follows the time, so that
// a database restored to an earlier point gives no version out twice.
func NextEpoch(last int64, now time.Time) int64 { return max(last+1, now.UnixMilli()) }

// Restore returns the voucher that storage kept. Only storage calls it: nothing is checked.
func Restore(s Snapshot) Voucher { return Voucher{s} }

// Snapshot returns all fields.
func (v Voucher) Snapshot() Snapshot { return v.s }

// Code returns the voucher's name.
func (v Voucher) Code() Code { return v.s.Code }

// Terms returns what the shop set.
func (v Voucher) Terms() Terms { return v.s.Terms }

// Used returns the number of live uses.
func (v Voucher) Used() int64 { return v.s.Used }

// EffectiveMode is the mode that decides: the configured one, else the one set over the API.
func (v Voucher) EffectiveMode() Mode {
	if v.s.ConfigMode != "" {
		return v.s.ConfigMode
	}
	return v.s.Terms.Mode
}

// Amendment is a change of some terms; nil leaves a term as it is.
type Amendment struct {
	DiscountAmount, MinOrderAmount, TotalLimit, PerUserLimit *int64
	StartsAt, EndsAt                                         *time.Time
	Paused                                                   *bool
	Mode                                                     *Mode
	ModeRefusal                                              error // why Mode can't be set here, known to the caller alone; nil if it can
}

// apply returns the whole terms that the amendment would give.
func (a Amendment) apply(t Terms) Terms {
	set(&t.DiscountAmount, a.DiscountAmount)
	set(&t.MinOrderAmount, a.MinOrderAmount)
	set(&t.TotalLimit, a.TotalLimit)
	set(&t.PerUserLimit, a.PerUserLimit)
	set(&t.StartsAt, a.StartsAt)
	set(&t.EndsAt, a.EndsAt)
	set(&t.Paused, a.Paused)
	set(&t.Mode, a.Mode)
	return t.cut()
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// amend returns the voucher with the amendment applied, whole or not at all. Faults: INVALID_REQUEST with the first
// wrong field, LIMIT_BELOW_USED, the amendment's ModeRefusal. An amendment that changes nothing returns v itself.
func (v Voucher) amend(a Amendment, now time.Time) (Voucher, error) {
	t := a.apply(v.s.Terms)
	window := "endsAt"
	if a.EndsAt == nil {
		window = "startsAt" // the only one of the two that this amendment touches
	}
	if err := t.validate(window); err != nil {
		return v, err
	}
	if t.TotalLimit < v.s.Used {
		return v, ErrLimitBelowUsed
	}
	if a.Mode != nil && a.ModeRefusal != nil {
		return v, a.ModeRefusal
	}
	if t == v.s.Terms {
		return v, nil
	}
	now = Instant(now)
	if t.Mode != v.s.Terms.Mode {
		v.s.Epoch, v.s.Sequence = NextEpoch(v.s.Epoch, now), 0
	}
	v.s.Terms, v.s.UpdatedAt = t, now
	v.s.Change++
	return v, nil
}

// cut brings the times to the stored precision, so that equal terms compare equal.
func (t Terms) cut() Terms {
	t.StartsAt, t.EndsAt = Instant(t.StartsAt), Instant(t.EndsAt)
	return t
}

// validate checks every range in the order of the published table; window names the field to blame for an empty window.
func (t Terms) validate(window string) error {
	for _, n := range []struct {
		field    string
		v        int64
		min, max int64
	}{
		{"discountAmount", t.DiscountAmount, 1, MaxAmount},
		{"minOrderAmount", t.MinOrderAmount, 0, MaxAmount},
		{"totalLimit", t.TotalLimit, 1, MaxLimit},
		{"perUserLimit", t.PerUserLimit, 1, MaxLimit},
	} {
		if n.v < n.min || n.v > n.max {
			return fault.In(n.field, "must be a whole number from %d to %d", n.min, n.max)
		}
	}
	for _, i := range []struct {
		field string
		at    time.Time
	}{{"startsAt", t.StartsAt}, {"endsAt", t.EndsAt}} {
		// The years that RFC 3339 can write and every store can keep, seen in UTC.
		if y := i.at.Year(); y < 1 || y > 9999 {
			return fault.In(i.field, "must lie in the years 0001 to 9999, in UTC")
		}
	}
	if !t.StartsAt.Before(t.EndsAt) {
		return fault.In(window, "must leave a window: startsAt before endsAt")
	}
	if _, err := ParseMode(string(t.Mode)); err != nil {
		return err
	}
	return nil
}

// Refuses says why a voucher on these terms takes no order of this amount at now, or "" if it does.
func (t Terms) Refuses(orderAmount int64, now time.Time) string {
	switch {
	case t.Paused:
		return ReasonPaused
	case now.Before(t.StartsAt):
		return ReasonNotStarted
	case !now.Before(t.EndsAt):
		return ReasonEnded
	case orderAmount < t.MinOrderAmount:
		return ReasonBelowMinimum
	}
	return ""
}
