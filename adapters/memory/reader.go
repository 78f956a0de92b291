package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// addOverdue loads the voucher's oldest reservations past their deadline, and the counts of their customers.
func (sh *shelf) addOverdue(l *voucher.Loaded, now time.Time) {
	loaded := map[voucher.OrderID]bool{}
	for _, r := range l.Orders {
		loaded[r.Record().Order] = true
	}
	found := sh.overdue(now, port.OverdueBatch)
	l.MoreDue = len(found) == port.OverdueBatch
	for _, r := range found {
		rec := r.Record()
		l.Overdue = append(l.Overdue, rec.Order)
		if !loaded[rec.Order] {
			l.Orders = append(l.Orders, r)
		}
		l.Uses[rec.Customer] = sh.uses[rec.Customer].Uses
	}
}

// overdue returns up to limit of the reservations past their deadline, the earliest first, and lifts the bound on the
// next deadline. The caller holds the store's lock for writing.
func (sh *shelf) overdue(now time.Time, limit int) []voucher.Reservation {
	if sh.soonest.IsZero() || now.Before(sh.soonest) {
		return nil
	}
	var rs []voucher.Reservation
	sh.soonest = time.Time{}
	for _, r := range sh.orders {
		rec := r.Record()
		if rec.Status != voucher.Reserved {
			continue
		}
		if r.Overdue(now) {
			rs = append(rs, r)
		}
		if sh.soonest.IsZero() || rec.ExpiresAt.Before(sh.soonest) {
			sh.soonest = rec.ExpiresAt
		}
	}
	slices.SortFunc(rs, func(a, b voucher.Reservation) int {
		x, y := a.Record(), b.Record()
		return cmp.Or(x.ExpiresAt.Compare(y.ExpiresAt), x.Version.Compare(y.Version))
	})
	return rs[:min(limit, len(rs))]
}

// Vouchers implements port.Reader.
func (s *Store) Vouchers(ctx context.Context, codes []voucher.Code) ([]voucher.Voucher, error) {
	if ctx.Err() != nil {
		return nil, port.ErrOverloaded
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var vs []voucher.Voucher
	for _, code := range codes {
		if sh, ok := s.vouchers[code]; ok {
			vs = append(vs, sh.voucher)
		}
	}
	return vs, nil
}

// List implements port.Reader.
func (s *Store) List(ctx context.Context, after voucher.Code, limit int) ([]voucher.Voucher, error) {
	if ctx.Err() != nil {
		return nil, port.ErrOverloaded
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, found := slices.BinarySearch(s.codes, after)
	if found {
		at++
	}
	var vs []voucher.Voucher
	for _, code := range s.codes[at:min(at+limit, len(s.codes))] {
		vs = append(vs, s.vouchers[code].voucher)
	}
	return vs, nil
}

// Reservation implements port.Reader.
func (s *Store) Reservation(ctx context.Context, code voucher.Code, order voucher.OrderID) (voucher.Reservation, error) {
	if ctx.Err() != nil {
		return voucher.Reservation{}, port.ErrOverloaded
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	sh, ok := s.vouchers[code]
	if !ok {
		return voucher.Reservation{}, voucher.ErrVoucherNotFound
	}
	r, ok := sh.orders[order]
	if !ok {
		return voucher.Reservation{}, voucher.ErrReservationNotFound
	}
	return r, nil
}

// Redemptions implements port.Reader.
func (s *Store) Redemptions(ctx context.Context, q port.RedemptionQuery) ([]voucher.Reservation, error) {
	if ctx.Err() != nil {
		return nil, port.ErrOverloaded
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	sh, ok := s.vouchers[q.Code]
	if !ok {
		return nil, voucher.ErrVoucherNotFound
	}
	var rs []voucher.Reservation
	for _, r := range sh.orders {
		if q.Status != "" && r.AsOf(q.Now).Record().Status != q.Status {
			continue
		}
		if q.Before == nil || r.Record().Version.Compare(*q.Before) < 0 {
			rs = append(rs, r)
		}
	}
	slices.SortFunc(rs, func(a, b voucher.Reservation) int { return b.Record().Version.Compare(a.Record().Version) })
	return rs[:min(q.Limit, len(rs))], nil
}

// Due implements port.Reader.
func (s *Store) Due(ctx context.Context, now time.Time, after port.Due, limit int) ([]port.Due, error) {
	if ctx.Err() != nil {
		return nil, port.ErrOverloaded
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var due []port.Due
	for code, sh := range s.vouchers {
		if sh.soonest.IsZero() || now.Before(sh.soonest) {
			continue
		}
		for id, r := range sh.orders {
			d := port.Due{ExpiresAt: r.Record().ExpiresAt, Code: code, Order: id}
			if r.Overdue(now) && compareDue(d, after) > 0 {
				due = append(due, d)
			}
		}
	}
	slices.SortFunc(due, compareDue)
	return due[:min(limit, len(due))], nil
}

func compareDue(a, b port.Due) int {
	return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt),
		strings.Compare(string(a.Code), string(b.Code)), strings.Compare(string(a.Order), string(b.Order)))
}

// Read implements port.Books.
func (s *Store) Read(ctx context.Context, code voucher.Code, visit port.BookVisitor) error {
	if ctx.Err() != nil {
		return port.ErrOverloaded
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	sh, ok := s.vouchers[code]
	if !ok {
		return voucher.ErrVoucherNotFound
	}
	visit.Voucher(sh.voucher)
	visit.History(copies(sh.history))
	visit.Reservations(slices.Collect(maps.Values(sh.orders)))
	visit.Customers(maps.Clone(sh.uses))
	return nil
}

// copies returns the changes with nothing in them shared.
func copies(cs []voucher.Change) []voucher.Change {
	cs = slices.Clone(cs)
	for i := range cs {
		c := &cs[i]
		c.TermsBefore, c.TermsAfter = clone(c.TermsBefore), clone(c.TermsAfter)
		c.Before, c.After = clone(c.Before), clone(c.After)
	}
	return cs
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
