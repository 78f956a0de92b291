package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/audit"
	"voucherd/domain/voucher"
	"voucherd/test/clock"
)

// Stores are the ports of one empty store, and the clock that it reads.
type Stores struct {
	Ledger port.Ledger
	Reader port.Reader
	Books  port.Books
	Clock  *clock.Clock
}

// Open makes an empty store that reads the time from clock; it is gone when the test ends.
type Open func(t testing.TB, clock *clock.Clock) Stores

// Start is what a new Clock shows.
var Start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const (
	ttl      = 15 * time.Minute
	discount = 1000
	amount   = 5000
	actor    = "shop"
)

// world is a store in the hands of one test.
type world struct {
	*testing.T
	Stores
	codes []voucher.Code // those it made, to be audited in the end
}

func newWorld(t *testing.T, open Open) *world {
	t.Helper()
	w := &world{T: t, Stores: open(t, clock.At(Start))}
	return w
}

// voucher stores a voucher with the limits; change may alter its other terms.
func (w *world) voucher(code voucher.Code, total, perUser int64, change ...func(*voucher.Terms)) voucher.Voucher {
	w.Helper()
	terms := voucher.Terms{
		DiscountAmount: discount, TotalLimit: total, PerUserLimit: perUser, Mode: voucher.Standard,
		StartsAt: Start.Add(-time.Hour), EndsAt: Start.Add(24 * time.Hour),
	}
	for _, f := range change {
		f(&terms)
	}
	v, err := voucher.New(code, terms, w.Clock.Now())
	require.NoError(w, err)
	require.NoError(w, w.Ledger.Create(w.Context(), v, actor))
	w.codes = append(w.codes, code)
	return v
}

func request(customer voucher.CustomerID, order voucher.OrderID) voucher.Request {
	return voucher.Request{Order: order, Customer: customer, Amount: amount, TTL: ttl, Actor: actor}
}

// reserveStep is the step that decides the requests in one transaction; the outcomes appear in out.
func reserveStep(code voucher.Code, reqs []voucher.Request, out *[]voucher.Outcome) port.Step {
	step := port.Step{
		Code:    code,
		Overdue: func(l voucher.Loaded) bool { return l.ShortOf(reqs) },
		Decide:  func(s *voucher.State, now time.Time) { *out = s.Reserve(reqs, now) },
	}
	for _, q := range reqs {
		step.Orders, step.Customers = append(step.Orders, q.Order), append(step.Customers, q.Customer)
	}
	return step
}

// reserve decides the requests in one transaction.
func (w *world) reserve(code voucher.Code, reqs ...voucher.Request) []voucher.Outcome {
	w.Helper()
	var out []voucher.Outcome
	require.NoError(w, w.Ledger.Update(w.Context(), reserveStep(code, reqs, &out)))
	require.Len(w, out, len(reqs))
	return out
}

// reserveOne decides one request.
func (w *world) reserveOne(code voucher.Code, customer voucher.CustomerID, order voucher.OrderID) voucher.Outcome {
	w.Helper()
	return w.reserve(code, request(customer, order))[0]
}

// hold takes a use and insists on it.
func (w *world) hold(code voucher.Code, customer voucher.CustomerID, order voucher.OrderID) voucher.Reservation {
	w.Helper()
	out := w.reserveOne(code, customer, order)
	require.Equal(w, voucher.Granted, out.Verdict)
	return out.Reservation
}

// step runs a decision on some orders.
func (w *world) step(code voucher.Code, orders []voucher.OrderID, decide func(*voucher.State, time.Time)) {
	w.Helper()
	require.NoError(w, w.Ledger.Update(w.Context(), port.Step{Code: code, Orders: orders, Decide: decide}))
}

func (w *world) confirm(code voucher.Code, order voucher.OrderID) (r voucher.Reservation, err error) {
	w.Helper()
	w.step(code, []voucher.OrderID{order}, func(s *voucher.State, now time.Time) {
		r, err = s.Confirm(order, voucher.Condition{}, actor, now)
	})
	return r, err
}

func (w *world) release(code voucher.Code, order voucher.OrderID) (err error) {
	w.Helper()
	w.step(code, []voucher.OrderID{order}, func(s *voucher.State, now time.Time) {
		err = s.Release(order, voucher.Condition{}, actor, now)
	})
	return err
}

func (w *world) expire(code voucher.Code, orders ...voucher.OrderID) (n int) {
	w.Helper()
	w.step(code, orders, func(s *voucher.State, now time.Time) { n = s.Expire(orders, actor, now) })
	return n
}

// amend changes the voucher SALE.
func (w *world) amend(a voucher.Amendment) (err error) {
	w.Helper()
	require.NoError(w, w.Ledger.Update(w.Context(), port.Step{
		Code:    "SALE",
		Overdue: func(voucher.Loaded) bool { return a.TotalLimit != nil },
		Decide:  func(s *voucher.State, now time.Time) { err = s.Amend(a, actor, now) },
	}))
	return err
}

// stored is the voucher as it is stored.
func (w *world) stored(code voucher.Code) voucher.Voucher {
	w.Helper()
	vs, err := w.Reader.Vouchers(w.Context(), []voucher.Code{code})
	require.NoError(w, err)
	require.Len(w, vs, 1)
	return vs[0]
}

// row is the order's row.
func (w *world) row(code voucher.Code, order voucher.OrderID) voucher.Record {
	w.Helper()
	r, err := w.Reader.Reservation(w.Context(), code, order)
	require.NoError(w, err)
	return r.Record()
}

// book is all that Books shows of a voucher.
type book struct {
	voucher      voucher.Voucher
	history      []voucher.Change
	reservations map[voucher.OrderID]voucher.Reservation
	customers    map[voucher.CustomerID]int64 // live uses
	limits       map[voucher.CustomerID]int64 // seen by the last grant
	calls        []string
	pages        int // the longest page
}

func (b *book) Voucher(v voucher.Voucher) { b.voucher, b.calls = v, append(b.calls, "voucher") }

func (b *book) History(page []voucher.Change) {
	b.history, b.calls, b.pages = append(b.history, page...), append(b.calls, "history"), max(b.pages, len(page))
}

func (b *book) Reservations(page []voucher.Reservation) {
	for _, r := range page {
		b.reservations[r.Record().Order] = r
	}
	b.calls = append(b.calls, "reservations")
}

func (b *book) Customers(page map[voucher.CustomerID]voucher.CustomerCount) {
	for id, n := range page {
		b.customers[id], b.limits[id] = n.Uses, n.LimitSeen
	}
	b.calls = append(b.calls, "customers")
}

func (w *world) book(code voucher.Code) *book {
	w.Helper()
	b := &book{
		reservations: map[voucher.OrderID]voucher.Reservation{},
		customers:    map[voucher.CustomerID]int64{}, limits: map[voucher.CustomerID]int64{},
	}
	require.NoError(w, w.Books.Read(w.Context(), code, b))
	return b
}

// check holds the sums of every voucher against each other: nothing that a test did may leave them uneven.
func (w *world) check() {
	w.Helper()
	for _, code := range w.codes {
		b := w.book(code)
		var live int64
		uses := map[voucher.CustomerID]int64{}
		for _, r := range b.reservations {
			if r.Live() {
				live++
				uses[r.Record().Customer]++
			}
		}
		require.Equal(w, live, b.voucher.Used(), "used_count of %s", code)
		require.LessOrEqual(w, live, b.voucher.Terms().TotalLimit, "uses of %s", code)
		for id, n := range b.customers {
			require.Equal(w, uses[id], n, "uses of customer %d on %s", id, code)
		}
		a := audit.New()
		require.NoError(w, w.Books.Read(w.Context(), code, a))
		require.Empty(w, a.Report().Differences, "audit of %s", code)
	}
}

func count(out []voucher.Outcome) map[voucher.Verdict]int {
	n := map[voucher.Verdict]int{}
	for _, o := range out {
		n[o.Verdict]++
	}
	return n
}

func orderID(n int) voucher.OrderID { return voucher.OrderID(fmt.Sprintf("order-%04d", n)) }
