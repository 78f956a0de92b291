package model_test

import (
	"errors"

	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// told is an error in the model's words.
func told(err error) string {
	var f *fault.Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &f):
		return "unexpected: " + err.Error()
	case f.Field != "":
		return f.Code + " " + f.Field
	case f.Reason != "":
		return f.Code + " " + f.Reason
	}
	return f.Code
}

// shown is a reservation in the model's words.
func shown(v voucher.Reservation) redemption {
	r := v.Record()
	return redemption{
		order: string(r.Order), customer: int64(r.Customer), amount: r.OrderAmount, discount: r.DiscountAmount,
		epoch: r.Version.Epoch, sequence: r.Version.Sequence, status: string(r.Status),
		created: r.CreatedAt, expires: r.ExpiresAt, confirmed: r.ConfirmedAt, released: r.ReleasedAt, reason: r.ReleaseReason,
	}
}

// page is a voucher as a reader sees it.
type page struct {
	terms
	code             string
	created, updated any
	used             int64
}

func (s *shop) page(code string) page {
	v := s.vouchers[code]
	return page{terms: v.terms, code: code, created: v.created, updated: v.updated, used: v.live(0)}
}

func read(v voucher.Voucher) page {
	s, t := v.Snapshot(), v.Terms()
	return page{
		terms: terms{
			discount: t.DiscountAmount, minimum: t.MinOrderAmount, total: t.TotalLimit, perUser: t.PerUserLimit,
			starts: t.StartsAt, ends: t.EndsAt, paused: t.Paused, mode: string(t.Mode),
		},
		code: string(v.Code()), created: s.CreatedAt, updated: s.UpdatedAt, used: v.Used(),
	}
}

// books takes in everything that is stored about a voucher.
type books struct {
	rows map[string]redemption
	uses map[int64]int64
}

func (b *books) Voucher(voucher.Voucher)  {}
func (b *books) History([]voucher.Change) {}

func (b *books) Reservations(page []voucher.Reservation) {
	for _, r := range page {
		b.rows[string(r.Record().Order)] = shown(r)
	}
}

func (b *books) Customers(page map[voucher.CustomerID]voucher.CustomerCount) {
	for id, n := range page {
		if n.Uses != 0 {
			b.uses[int64(id)] = n.Uses
		}
	}
}
