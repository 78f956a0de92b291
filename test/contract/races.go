package contract

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

func contextThatEnded(w *world) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	return ctx, cancel
}

var raceCases = map[string]func(*world){
	"F01 one use, many buyers":                  oneUse,
	"F02 one use left of ten":                   oneLeft,
	"batches of many buyers":                    batchesOfBuyers,
	"F24 one customer, many orders":             oneCustomer,
	"F10 twins":                                 twins,
	"one order on two vouchers":                 twoVouchers,
	"batches of shared orders on two vouchers":  sharedOrders,
	"confirm, release and expiry of one order":  oneEnd,
	"a lower limit under load":                  amendUnderLoad,
	"a client that hangs up in the middle":      hangUp,
	"F03 a step waits for the one that decides": oneByOne,
}

// together runs f for 0…n-1 at once and returns when all have.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	wg.Wait()
}

// race reserves one request each at once and returns the outcomes.
func (w *world) race(code voucher.Code, reqs ...voucher.Request) []voucher.Outcome {
	w.Helper()
	outs := make([]voucher.Outcome, len(reqs))
	errs := make([]error, len(reqs))
	together(len(reqs), func(i int) {
		var out []voucher.Outcome
		if errs[i] = w.Ledger.Update(w.Context(), reserveStep(code, reqs[i:i+1], &out)); errs[i] == nil {
			outs[i] = out[0]
		}
	})
	for _, err := range errs {
		require.NoError(w, err)
	}
	return outs
}

func buyers(n int) []voucher.Request {
	reqs := make([]voucher.Request, n)
	for i := range reqs {
		reqs[i] = request(voucher.CustomerID(i+1), orderID(i))
	}
	return reqs
}

func oneUse(w *world) {
	w.voucher("SALE", 1, 1)
	require.Equal(w, map[voucher.Verdict]int{voucher.Granted: 1, voucher.OutOfStock: 99}, count(w.race("SALE", buyers(100)...)))
	require.EqualValues(w, 1, w.stored("SALE").Used())
}

func oneLeft(w *world) {
	w.voucher("SALE", 10, 10)
	for i := range 9 {
		w.hold("SALE", 1, orderID(1000+i))
		_, err := w.confirm("SALE", orderID(1000+i))
		require.NoError(w, err)
	}
	require.Equal(w, map[voucher.Verdict]int{voucher.Granted: 1, voucher.OutOfStock: 49}, count(w.race("SALE", buyers(50)...)))
}

func batchesOfBuyers(w *world) {
	const batches, size, total = 12, 100, 250
	w.voucher("SALE", total, 1)
	all := buyers(batches * size)
	granted := make([]int, batches)
	together(batches, func(i int) {
		var out []voucher.Outcome
		if err := w.Ledger.Update(w.Context(), reserveStep("SALE", all[i*size:(i+1)*size], &out)); err != nil {
			w.Errorf("batch %d: %v", i, err)
		}
		granted[i] = count(out)[voucher.Granted]
	})
	sum := 0
	for _, n := range granted {
		sum += n
	}
	require.Equal(w, total, sum)
	require.EqualValues(w, total, w.stored("SALE").Used())
	// The sequence counted every grant once.
	seen := map[int64]bool{}
	for _, r := range w.book("SALE").reservations {
		seen[r.Record().Version.Sequence] = true
	}
	require.Len(w, seen, total)
}

func oneCustomer(w *world) {
	for n, code := range []voucher.Code{"ONE", "TWO", "THREE"} {
		w.voucher(code, 1000, int64(n+1))
		reqs := make([]voucher.Request, 50)
		for i := range reqs {
			reqs[i] = request(7, orderID(1000*n+i))
		}
		require.Equal(w, map[voucher.Verdict]int{voucher.Granted: n + 1, voucher.LimitReached: 49 - n}, count(w.race(code, reqs...)))
		require.EqualValues(w, n+1, w.book(code).customers[7])
	}
}

func twins(w *world) {
	w.voucher("SALE", 1, 1)
	reqs := make([]voucher.Request, 50)
	for i := range reqs {
		reqs[i] = request(7, "twin")
	}
	outs := w.race("SALE", reqs...)
	require.Equal(w, map[voucher.Verdict]int{voucher.Granted: 1, voucher.Repeated: 49}, count(outs))
	for _, o := range outs {
		require.Equal(w, outs[0].Reservation, o.Reservation)
	}
}

func twoVouchers(w *world) {
	w.voucher("HERE", 1000, 1000)
	w.voucher("THERE", 1000, 1000)
	for round := range 30 {
		verdicts := make([]voucher.Verdict, 2)
		together(2, func(i int) {
			var out []voucher.Outcome
			step := reserveStep([]voucher.Code{"HERE", "THERE"}[i], []voucher.Request{request(1, orderID(round))}, &out)
			if err := w.Ledger.Update(w.Context(), step); err != nil {
				w.Errorf("round %d: %v", round, err)
				return
			}
			verdicts[i] = out[0].Verdict
		})
		require.ElementsMatch(w, []voucher.Verdict{voucher.Granted, voucher.Conflict}, verdicts)
	}
	require.EqualValues(w, 30, w.stored("HERE").Used()+w.stored("THERE").Used())
}

func sharedOrders(w *world) {
	const orders = 100
	codes := []voucher.Code{"HERE", "THERE"}
	for _, code := range codes {
		w.voucher(code, 1000, 1000)
	}
	reqs := buyers(orders)
	outs := make([][]voucher.Outcome, 2)
	together(2, func(i int) {
		mine := make([]voucher.Request, orders)
		for j, q := range reqs {
			if i == 1 {
				j = orders - 1 - j // in the opposite order, which invites a deadlock
			}
			mine[j] = q
		}
		if err := w.Ledger.Update(w.Context(), reserveStep(codes[i], mine, &outs[i])); err != nil {
			w.Errorf("batch on %s: %v", codes[i], err)
		}
	})
	granted := count(outs[0])[voucher.Granted] + count(outs[1])[voucher.Granted]
	require.Equal(w, orders, granted)
	require.EqualValues(w, orders, w.stored("HERE").Used()+w.stored("THERE").Used())
}

func oneEnd(w *world) {
	const rounds = 20
	w.voucher("SALE", rounds, rounds)
	for i := range rounds {
		w.hold("SALE", 1, orderID(i))
	}
	w.Clock.Advance(ttl - time.Millisecond)
	for i := range rounds {
		order := []voucher.OrderID{orderID(i)}
		step := func(decide func(*voucher.State, time.Time)) {
			if err := w.Ledger.Update(w.Context(), port.Step{Code: "SALE", Orders: order, Decide: decide}); err != nil {
				w.Errorf("%s: %v", order[0], err)
			}
		}
		var confirmed, released error
		together(4, func(j int) {
			switch j {
			case 0:
				step(func(s *voucher.State, now time.Time) {
					_, confirmed = s.Confirm(order[0], voucher.Condition{}, actor, now)
				})
			case 1:
				step(func(s *voucher.State, now time.Time) { released = s.Release(order[0], voucher.Condition{}, actor, now) })
			case 2:
				step(func(s *voucher.State, now time.Time) { s.Expire(order, actor, now) })
			case 3:
				if i == rounds/2 {
					w.Clock.Advance(time.Millisecond)
				}
			}
		})
		require.NotEqual(w, confirmed == nil, released == nil, "one of the two won: %v, %v", confirmed, released)
	}
	ends := map[voucher.OrderID]int{}
	for _, c := range w.book("SALE").history {
		if c.Kind == voucher.ReservationConfirmed || c.Kind == voucher.ReservationReleased {
			ends[c.Order]++
		}
	}
	require.Len(w, ends, rounds)
	for order, n := range ends {
		require.Equal(w, 1, n, "ends of %s", order)
	}
}

func amendUnderLoad(w *world) {
	w.voucher("SALE", 100, 1)
	together(40, func(i int) {
		if i%4 == 0 {
			limit := int64(5 + i)
			var refused error
			err := w.Ledger.Update(w.Context(), port.Step{Code: "SALE", Decide: func(s *voucher.State, now time.Time) {
				refused = s.Amend(voucher.Amendment{TotalLimit: &limit}, actor, now)
			}})
			if err != nil {
				w.Errorf("amend: %v, %v", err, refused)
			}
			return
		}
		var out []voucher.Outcome
		if err := w.Ledger.Update(w.Context(), reserveStep("SALE", []voucher.Request{request(voucher.CustomerID(i), orderID(i))}, &out)); err != nil {
			w.Errorf("reserve: %v", err)
		}
	})
}

// hangUp ends the caller's context while the decision is being made: it is stored whole all the same.
func hangUp(w *world) {
	w.voucher("SALE", 10, 10)
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	var out []voucher.Outcome
	step := reserveStep("SALE", []voucher.Request{request(1, "a")}, &out)
	decide := step.Decide
	step.Decide = func(s *voucher.State, now time.Time) {
		cancel()
		decide(s, now)
	}
	require.NoError(w, w.Ledger.Update(ctx, step))
	require.Equal(w, out[0].Reservation.Record(), w.row("SALE", "a"))
}

// oneByOne starts a second step while the first one decides: the second must wait, and decide on what the first left.
func oneByOne(w *world) {
	w.voucher("SALE", 1, 1)
	var first, second []voucher.Outcome
	var err error
	var wg sync.WaitGroup
	step := reserveStep("SALE", []voucher.Request{request(1, "a")}, &first)
	decide := step.Decide
	step.Decide = func(s *voucher.State, now time.Time) {
		started := make(chan struct{})
		wg.Go(func() {
			close(started)
			err = w.Ledger.Update(w.Context(), reserveStep("SALE", []voucher.Request{request(2, "b")}, &second))
		})
		<-started
		decide(s, now)
	}
	require.NoError(w, w.Ledger.Update(w.Context(), step))
	wg.Wait()
	require.NoError(w, err)
	require.Equal(w, voucher.Granted, first[0].Verdict)
	require.Equal(w, voucher.OutOfStock, second[0].Verdict)
}
