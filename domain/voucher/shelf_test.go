package voucher_test

import (
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

// The stories of these tests begin at t0, in a window that opened an hour before.
var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	code = voucher.Code("SPRING")
	ttl  = 15 * time.Minute
)

// in is t0 and so many minutes.
func in(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

// terms are 10 uses of 1000 off, two for each customer, from an hour before t0 until a day after it.
func terms(change ...func(*voucher.Terms)) voucher.Terms {
	t := voucher.Terms{
		DiscountAmount: 1000, MinOrderAmount: 500, TotalLimit: 10, PerUserLimit: 2,
		StartsAt: t0.Add(-time.Hour), EndsAt: t0.Add(24 * time.Hour), Mode: voucher.Standard,
	}
	for _, c := range change {
		c(&t)
	}
	return t
}

func limits(total, perUser int64) func(*voucher.Terms) {
	return func(t *voucher.Terms) { t.TotalLimit, t.PerUserLimit = total, perUser }
}

func request(order voucher.OrderID, customer voucher.CustomerID, amount int64) voucher.Request {
	return voucher.Request{Order: order, Customer: customer, Amount: amount, TTL: ttl, Actor: "shop"}
}

// shelf is the plainest store of one voucher: maps that changes are written to. It holds every decision to what a
// store relies on.
type shelf struct {
	t         require.TestingT
	v         voucher.Voucher
	orders    map[voucher.OrderID]voucher.Reservation
	elsewhere map[voucher.OrderID]voucher.Reservation
	uses      map[voucher.CustomerID]int64
	history   []voucher.Change
	blind     bool // load no overdue orders
}

func newShelf(t require.TestingT, change ...func(*voucher.Terms)) *shelf {
	v, err := voucher.New(code, terms(change...), t0)
	require.NoError(t, err)
	return &shelf{
		t: t, v: v,
		orders: map[voucher.OrderID]voucher.Reservation{}, elsewhere: map[voucher.OrderID]voucher.Reservation{},
		uses: map[voucher.CustomerID]int64{},
	}
}

// load shows everything there is.
func (b *shelf) load(now time.Time) voucher.Loaded {
	l := voucher.Loaded{Voucher: b.v, Uses: b.uses}
	for _, id := range slices.Sorted(maps.Keys(b.orders)) {
		l.Orders = append(l.Orders, b.orders[id])
		if b.orders[id].Overdue(now) && !b.blind {
			l.Overdue = append(l.Overdue, id)
		}
	}
	for _, r := range b.elsewhere {
		l.Elsewhere = append(l.Elsewhere, r)
	}
	return l
}

// decide makes decisions on everything that is stored, writes them and returns what was written.
func (b *shelf) decide(now time.Time, decide func(*voucher.State)) voucher.Changes {
	s := voucher.NewState(b.load(now))
	decide(s)
	c := s.Changes()
	b.write(c)
	for id, r := range b.orders {
		decided, ok := s.Order(id)
		require.True(b.t, ok)
		require.Equal(b.t, decided, r, "what was written is what was decided")
	}
	require.Equal(b.t, s.Voucher(), b.v)
	b.check()
	return c
}

func (b *shelf) write(c voucher.Changes) {
	require.Equal(b.t, b.v, c.Before)
	b.v = c.After
	for _, w := range c.Reservations {
		id := w.After.Record().Order
		require.Equal(b.t, b.orders[id], w.Before)
		before, after := w.Before.Record().Version, w.After.Record().Version
		if w.New {
			require.Negative(b.t, before.Compare(after), "a new reservation has a higher version")
		} else {
			require.Equal(b.t, before, after)
		}
		b.orders[id] = w.After
	}
	last := voucher.CustomerID(0)
	for _, u := range c.Uses {
		require.Greater(b.t, u.Customer, last, "ascending, each customer once")
		require.True(b.t, u.Delta != 0 || u.Limit != 0, "a customer of whom nothing changed is left out")
		last = u.Customer
		b.uses[u.Customer] += u.Delta
	}
	b.history = append(b.history, c.History...)
}

// check holds the counts to the rows.
func (b *shelf) check() {
	live, each := int64(0), map[voucher.CustomerID]int64{}
	for _, r := range b.orders {
		if r.Live() {
			live++
			each[r.Record().Customer]++
		}
	}
	require.Equal(b.t, live, b.v.Used(), "used is the number of live rows")
	require.LessOrEqual(b.t, b.v.Used(), b.v.Terms().TotalLimit)
	for id, n := range b.uses {
		require.Equal(b.t, each[id], n, "uses of customer %d", id)
	}
}

func (b *shelf) reserve(now time.Time, reqs ...voucher.Request) []voucher.Outcome {
	var out []voucher.Outcome
	b.decide(now, func(s *voucher.State) { out = s.Reserve(reqs, now) })
	return out
}

// granted reserves and expects a use for each request.
func (b *shelf) granted(now time.Time, reqs ...voucher.Request) []voucher.Reservation {
	var rs []voucher.Reservation
	for _, o := range b.reserve(now, reqs...) {
		require.Equal(b.t, voucher.Granted, o.Verdict)
		rs = append(rs, o.Reservation)
	}
	return rs
}

func (b *shelf) confirm(now time.Time, id voucher.OrderID, cond voucher.Condition) (r voucher.Reservation, err error) {
	b.decide(now, func(s *voucher.State) { r, err = s.Confirm(id, cond, "shop", now) })
	return r, err
}

func (b *shelf) release(now time.Time, id voucher.OrderID, cond voucher.Condition) (err error) {
	b.decide(now, func(s *voucher.State) { err = s.Release(id, cond, "shop", now) })
	return err
}

func (b *shelf) amend(now time.Time, a voucher.Amendment) (err error) {
	b.decide(now, func(s *voucher.State) { err = s.Amend(a, "admin", now) })
	return err
}

func verdicts(out []voucher.Outcome) []voucher.Verdict {
	vs := make([]voucher.Verdict, len(out))
	for i, o := range out {
		vs[i] = o.Verdict
	}
	return vs
}
