package audit_test

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func in(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

// books are the plainest store of one voucher, open to tampering.
type books struct {
	t       require.TestingT
	v       voucher.Snapshot
	history []voucher.Change
	rows    map[voucher.OrderID]voucher.Record
	counts  map[voucher.CustomerID]voucher.CustomerCount
}

func newBooks(t require.TestingT, total, perUser int64) *books {
	v, err := voucher.New("SPRING", voucher.Terms{
		DiscountAmount: 1000, TotalLimit: total, PerUserLimit: perUser,
		StartsAt: t0.Add(-time.Hour), EndsAt: t0.Add(24 * time.Hour), Mode: voucher.Standard,
	}, t0)
	require.NoError(t, err)
	b := &books{t: t, v: v.Snapshot(), rows: map[voucher.OrderID]voucher.Record{}, counts: map[voucher.CustomerID]voucher.CustomerCount{}}
	b.record(voucher.Created(v, "admin"))
	return b
}

func (b *books) record(cs ...voucher.Change) {
	for _, c := range cs {
		c.ID = int64(len(b.history))*2 + 5 // ids rise, with gaps
		b.history = append(b.history, c)
	}
}

func (b *books) decide(now time.Time, decide func(*voucher.State)) {
	l := voucher.Loaded{Voucher: voucher.Restore(b.v), Uses: map[voucher.CustomerID]int64{}}
	for id, n := range b.counts {
		l.Uses[id] = n.Uses
	}
	for _, id := range slices.Sorted(maps.Keys(b.rows)) {
		r := voucher.RestoreReservation(b.rows[id])
		l.Orders = append(l.Orders, r)
		if r.Overdue(now) {
			l.Overdue = append(l.Overdue, id)
		}
	}
	s := voucher.NewState(l)
	decide(s)
	c := s.Changes()
	b.v = c.After.Snapshot()
	for _, w := range c.Reservations {
		b.rows[w.After.Record().Order] = w.After.Record()
	}
	for _, u := range c.Uses {
		b.setCount(u.Customer, func(n *voucher.CustomerCount) {
			n.Uses += u.Delta
			n.LimitSeen = cmp.Or(u.Limit, n.LimitSeen)
		})
	}
	b.record(c.History...)
}

func (b *books) reserve(now time.Time, order voucher.OrderID, customer voucher.CustomerID) {
	b.decide(now, func(s *voucher.State) {
		s.Reserve([]voucher.Request{{Order: order, Customer: customer, Amount: 5000, TTL: 15 * time.Minute}}, now)
	})
}

func (b *books) confirm(now time.Time, order voucher.OrderID) {
	b.decide(now, func(s *voucher.State) { _, _ = s.Confirm(order, voucher.Condition{}, "shop", now) })
}

func (b *books) release(now time.Time, order voucher.OrderID) {
	b.decide(now, func(s *voucher.State) { _ = s.Release(order, voucher.Condition{}, "shop", now) })
}

func (b *books) amend(now time.Time, a voucher.Amendment) {
	b.decide(now, func(s *voucher.State) { _ = s.Amend(a, "admin", now) })
}

// audit shows the books in pages, as a store does.
func (b *books) audit() audit.Report {
	a := audit.New()
	a.Voucher(voucher.Restore(b.v))
	for page := range slices.Chunk(b.history, 3) {
		a.History(page)
	}
	var rows []voucher.Reservation
	for _, id := range slices.Sorted(maps.Keys(b.rows)) {
		rows = append(rows, voucher.RestoreReservation(b.rows[id]))
	}
	for page := range slices.Chunk(rows, 4) {
		a.Reservations(page)
	}
	for id, n := range b.counts {
		a.Customers(map[voucher.CustomerID]voucher.CustomerCount{id: n})
	}
	return a.Report()
}

func (b *books) setRow(id voucher.OrderID, change func(*voucher.Record)) {
	r := b.rows[id]
	change(&r)
	b.rows[id] = r
}

func (b *books) setCount(id voucher.CustomerID, change func(*voucher.CustomerCount)) {
	n := b.counts[id]
	change(&n)
	b.counts[id] = n
}

// aLife is a voucher with one reservation in each state, and an amendment.
func aLife(t require.TestingT) *books {
	b := newBooks(t, 4, 2)
	b.reserve(t0, "kept", 1)
	b.reserve(t0, "paid", 1)
	b.reserve(t0, "cancelled", 2)
	b.confirm(in(1), "paid")
	b.release(in(1), "cancelled")
	b.reserve(in(1), "expired", 3)
	b.amend(in(2), voucher.Amendment{TotalLimit: new(int64(5)), DiscountAmount: new(int64(700))})
	b.decide(in(16), func(s *voucher.State) { s.Expire([]voucher.OrderID{"expired"}, "expiry", in(16)) })
	b.reserve(in(17), "again", 3)
	return b
}
