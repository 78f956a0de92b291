package voucher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

func TestReserveGrants(t *testing.T) {
	b := newShelf(t)
	now := t0.Add(1_999_999 * time.Nanosecond)
	out := b.reserve(now, request("a", 7, 5000))[0]
	cut := t0.Add(time.Millisecond)
	want := voucher.Record{
		Code: code, Order: "a", Customer: 7, OrderAmount: 5000, DiscountAmount: 1000, Status: voucher.Reserved,
		Version: voucher.Version{Epoch: t0.UnixMilli(), Sequence: 1}, CreatedAt: cut, ExpiresAt: cut.Add(ttl),
	}
	require.Equal(t, voucher.Granted, out.Verdict)
	require.Equal(t, want, out.Reservation.Record())
	require.Equal(t, int64(1), b.v.Used())
	require.Equal(t, map[voucher.CustomerID]int64{7: 1}, b.uses)
	require.Equal(t, []voucher.Change{{
		Code: code, Kind: voucher.ReservationMade, Actor: "shop", At: cut, Order: "a", Customer: 7, Version: want.Version,
		After: &voucher.Facts{Status: voucher.Reserved, OrderAmount: 5000, DiscountAmount: 1000, ExpiresAt: want.ExpiresAt},
	}}, b.history)
}

func TestReserveGrantsNeverMoreThanTheOrderIsWorth(t *testing.T) {
	for amount, want := range map[int64]int64{999: 999, 1000: 1000, 1001: 1000, 500: 500, voucher.MaxAmount: 1000} {
		require.Equal(t, want, newShelf(t).granted(t0, request("a", 1, amount))[0].Record().DiscountAmount)
	}
}

// F08: limit N gives N.
func TestReserveStopsAtTheTotalLimit(t *testing.T) {
	for n := range int64(4) {
		b := newShelf(t, limits(n+1, 1))
		for i := range n + 1 {
			b.granted(t0, request(voucher.OrderID(fmt.Sprint("o", i)), voucher.CustomerID(i+1), 5000))
		}
		require.Equal(t, voucher.OutOfStock, b.reserve(t0, request("last", 99, 5000))[0].Verdict)
		require.NotContains(t, b.orders, voucher.OrderID("last"))
	}
}

func TestReserveStopsAtTheCustomersLimit(t *testing.T) {
	for n := range int64(4) {
		b := newShelf(t, limits(100, n+1))
		for i := range n + 1 {
			b.granted(t0, request(voucher.OrderID(fmt.Sprint("o", i)), 1, 5000))
		}
		require.Equal(t, voucher.LimitReached, b.reserve(t0, request("last", 1, 5000))[0].Verdict)
		b.granted(t0, request("other", 2, 5000))
	}
}

// A lowered limit takes nothing from anybody, and gives nothing more.
func TestReserveUnderALoweredCustomersLimit(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000), request("b", 1, 5000))
	require.NoError(t, b.amend(t0, voucher.Amendment{PerUserLimit: to[int64](1)}))
	require.Equal(t, int64(2), b.v.Used())
	require.NoError(t, b.release(t0, "a", voucher.Condition{}))
	require.Equal(t, voucher.LimitReached, b.reserve(t0, request("c", 1, 5000))[0].Verdict)
	require.NoError(t, b.release(t0, "b", voucher.Condition{}))
	b.granted(t0, request("c", 1, 5000))
}

// Counts that are over their limits by whatever fault lead to no further grant.
func TestReserveGivesNothingWhereTooMuchIsTaken(t *testing.T) {
	snapshot := newShelf(t).v.Snapshot()
	snapshot.Used = snapshot.TotalLimit + 1
	s := voucher.NewState(voucher.Loaded{Voucher: voucher.Restore(snapshot), Uses: map[voucher.CustomerID]int64{1: 3}})
	require.Equal(t, []voucher.Verdict{voucher.LimitReached, voucher.OutOfStock},
		verdicts(s.Reserve([]voucher.Request{request("a", 1, 5000), request("b", 2, 5000)}, t0)))
}

func TestReserveIsEligibleInAHalfOpenWindow(t *testing.T) {
	starts, ends := t0, t0.Add(time.Hour)
	for _, c := range []struct {
		at     time.Time
		reason string
	}{
		{starts.Add(-1), voucher.ReasonNotStarted},
		{starts, ""},
		{starts.Add(1), ""},
		{ends.Add(-1), ""},
		{ends, voucher.ReasonEnded},
		{ends.Add(1), voucher.ReasonEnded},
	} {
		b := newShelf(t, func(t *voucher.Terms) { t.StartsAt, t.EndsAt = starts, ends })
		out := b.reserve(c.at, request("a", 1, 5000))[0]
		require.Equal(t, c.reason, out.Reason, c.at)
		if c.reason == "" {
			require.Equal(t, voucher.Granted, out.Verdict)
		} else {
			require.Equal(t, voucher.NotEligible, out.Verdict)
			require.Empty(t, b.orders)
		}
	}
}

func TestReserveHoldsTheMinimum(t *testing.T) {
	b := newShelf(t)
	require.Equal(t, voucher.Outcome{Verdict: voucher.NotEligible, Reason: voucher.ReasonBelowMinimum}, b.reserve(t0, request("a", 1, 499))[0])
	b.granted(t0, request("a", 1, 500))
}

// Everything is wrong with this order; one after the other is mended.
func TestReserveJudgesInThePublishedOrder(t *testing.T) {
	b := newShelf(t, limits(2, 1))
	b.granted(t0, request("live", 1, 5000), request("other", 2, 5000))
	ended := func(t *voucher.Terms) { t.StartsAt, t.EndsAt = in(10), in(20) }
	snapshot := b.v.Snapshot()
	restore := func(change ...func(*voucher.Terms)) {
		snapshot.Terms = terms(append(change, limits(2, 1))...)
		b.v = voucher.Restore(snapshot)
	}
	paused := func(t *voucher.Terms) { t.Paused = true }
	q := request("new", 1, 1) // of a customer at the limit, below the minimum
	expect := func(v voucher.Verdict, reason string, q voucher.Request, now time.Time) {
		t.Helper()
		out := b.reserve(now, q)[0]
		require.Equal(t, v, out.Verdict)
		require.Equal(t, reason, out.Reason)
	}

	restore(paused, ended)
	expect(voucher.Conflict, "", request("live", 1, 1), in(5))
	expect(voucher.NotEligible, voucher.ReasonPaused, q, in(5))
	restore(ended)
	expect(voucher.NotEligible, voucher.ReasonNotStarted, q, in(5))
	restore(func(t *voucher.Terms) { t.StartsAt, t.EndsAt = in(1), in(5) })
	expect(voucher.NotEligible, voucher.ReasonEnded, q, in(5))
	restore()
	expect(voucher.NotEligible, voucher.ReasonBelowMinimum, q, in(5))
	q.Amount = 5000
	expect(voucher.LimitReached, "", q, in(5))
	q.Customer = 3
	expect(voucher.OutOfStock, "", q, in(5))
}

// The same again is the same answer, whatever has become of the voucher; it takes no further use.
func TestReserveRepeats(t *testing.T) {
	b := newShelf(t, limits(1, 1))
	first := b.granted(t0, request("a", 1, 5000))[0]
	again := func(now time.Time) {
		t.Helper()
		out := b.reserve(now, request("a", 1, 5000), request("a", 1, 5000))
		for _, o := range out {
			require.Equal(t, voucher.Outcome{Verdict: voucher.Repeated, Reservation: b.orders["a"]}, o)
			require.Equal(t, first.Record().DiscountAmount, o.Reservation.Record().DiscountAmount)
			require.Equal(t, first.Record().ExpiresAt, o.Reservation.Record().ExpiresAt)
			require.Equal(t, first.Record().Version, o.Reservation.Record().Version)
		}
		require.Equal(t, int64(1), b.v.Used())
	}
	again(t0) // sold out
	require.NoError(t, b.amend(in(1), voucher.Amendment{
		Paused: to(true), DiscountAmount: to[int64](1), MinOrderAmount: to[int64](9000), EndsAt: to(t0),
	}))
	again(in(14)) // paused, ended, below the minimum, at another discount
	_, err := b.confirm(in(14), "a", voucher.Condition{})
	require.NoError(t, err)
	again(in(1000)) // confirmed, for as long as that lasts
	require.Len(t, b.history, 3)
}

func TestReserveConflicts(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000))
	for _, q := range []voucher.Request{request("a", 2, 5000), request("a", 1, 5001), request("a", 1, 4999)} {
		require.Equal(t, voucher.Outcome{Verdict: voucher.Conflict}, b.reserve(t0, q)[0])
	}
	_, err := b.confirm(t0, "a", voucher.Condition{})
	require.NoError(t, err)
	require.Equal(t, voucher.Conflict, b.reserve(in(100), request("a", 2, 5000))[0].Verdict)
	require.Equal(t, int64(1), b.v.Used())
	require.NotContains(t, b.uses, voucher.CustomerID(2))
}

// Within one batch each request sees what the ones before it did.
func TestReserveDecidesABatchInOrder(t *testing.T) {
	b := newShelf(t, limits(3, 1))
	out := b.reserve(t0,
		request("a", 1, 5000), request("a", 1, 5000), request("a", 2, 5000), // repeated, conflict
		request("b", 1, 5000),                        // the customer's limit
		request("c", 2, 499),                         // below the minimum
		request("c", 2, 5000), request("d", 3, 5000), // the last two
		request("e", 4, 5000), request("d", 3, 5000), // sold out, and a repeat all the same
		request("e", 3, 5000), // both limits: the customer's comes first
	)
	require.Equal(t, []voucher.Verdict{
		voucher.Granted, voucher.Repeated, voucher.Conflict,
		voucher.LimitReached,
		voucher.NotEligible,
		voucher.Granted, voucher.Granted,
		voucher.OutOfStock, voucher.Repeated,
		voucher.LimitReached,
	}, verdicts(out))
	require.Len(t, b.history, 3)
}

// The uses that a customer held before the batch, those of the batch and those that end in it make one count.
func TestReserveCountsACustomersUsesAcrossABatch(t *testing.T) {
	b := newShelf(t, limits(100, 3))
	b.granted(t0, request("old", 1, 5000))
	b.granted(in(1), request("kept", 1, 5000))
	out := b.reserve(in(15), // "old" is overdue: it is ended when the limit is met
		request("a", 1, 5000), request("b", 1, 5000), request("c", 1, 5000), request("d", 2, 5000))
	require.Equal(t, []voucher.Verdict{voucher.Granted, voucher.Granted, voucher.LimitReached, voucher.Granted}, verdicts(out))
	require.Equal(t, map[voucher.CustomerID]int64{1: 3, 2: 1}, b.uses)
}

// A released order is free again for any customer and amount, as a new reservation with a higher version.
func TestReserveRevivesAReleasedOrder(t *testing.T) {
	b := newShelf(t)
	first := b.granted(t0, request("a", 1, 5000))[0].Record()
	require.NoError(t, b.release(in(1), "a", voucher.Condition{}))
	second := b.granted(in(2), request("a", 2, 700))[0].Record()
	require.Positive(t, second.Version.Compare(first.Version))
	require.Equal(t, voucher.Record{
		Code: code, Order: "a", Customer: 2, OrderAmount: 700, DiscountAmount: 700, Status: voucher.Reserved,
		Version: second.Version, CreatedAt: in(2), ExpiresAt: in(17),
	}, second, "nothing of the first is left")
	require.Equal(t, map[voucher.CustomerID]int64{1: 0, 2: 1}, b.uses)
}

func TestReserveOfAnOrderThatLivesElsewhere(t *testing.T) {
	b := newShelf(t, limits(1, 1))
	other := voucher.Record{Code: "OTHER", Order: "a", Customer: 1, OrderAmount: 5000, DiscountAmount: 10, Status: voucher.Reserved, ExpiresAt: in(5)}
	b.elsewhere["a"] = voucher.RestoreReservation(other)

	require.Equal(t, voucher.Conflict, b.reserve(in(5).Add(-1), request("a", 1, 5000))[0].Verdict)
	require.Equal(t, voucher.Outcome{Verdict: voucher.Blocked, Blocker: b.elsewhere["a"]}, b.reserve(in(5), request("a", 1, 5000))[0])
	require.Empty(t, b.orders)
	// What refuses by itself does so before anybody is asked to end the other one.
	require.Equal(t, voucher.NotEligible, b.reserve(in(5), request("a", 1, 1))[0].Verdict)
	b.granted(in(5), request("b", 1, 5000))
	require.Equal(t, voucher.LimitReached, b.reserve(in(5), request("a", 1, 5000))[0].Verdict)
	require.Equal(t, voucher.OutOfStock, b.reserve(in(5), request("a", 2, 5000))[0].Verdict)

	other.Status = voucher.Confirmed
	b.elsewhere["a"] = voucher.RestoreReservation(other)
	require.Equal(t, voucher.Conflict, b.reserve(in(100), request("a", 1, 5000))[0].Verdict, "a confirmed one never ends")
}
