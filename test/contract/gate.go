package contract

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Gate holds an adapter to the promises of port.Gate, port.GateWatch, port.GateKeeper and port.GateLoader, each case on a
// voucher of its own. Cases run in parallel.
func Gate(t *testing.T, open OpenGates) {
	t.Helper()
	for _, group := range []map[string]func(*gateWorld){gateCases, gateLoadCases, gateRaceCases, gateHistories} {
		for name, run := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newGateWorld(t, open)
				run(w)
				w.check()
			})
		}
	}
}

var gateCases = map[string]func(*gateWorld){
	"reserved, duplicate, in conflict":            gateReserves,
	"limit N gives N":                             gateLimit,
	"a customer's limit":                          gateCustomerLimit,
	"window, pause and minimum":                   gateTerms,
	"the order of judgement":                      gateJudgement,
	"a batch decides in order":                    gateBatchOrder,
	"a batch of the greatest size, and above":     gateBatchSize,
	"extreme values":                              gateExtremes,
	"acknowledged, no longer pending":             gateAcknowledge,
	"settled by the way":                          gateSettled,
	"given back by version under an epoch":        gateGiveBack,
	"given back as live elsewhere":                gateConflicted,
	"find":                                        gateFind,
	"pending, by age":                             gatePending,
	"pending, the oldest first":                   gatePendingOrder,
	"a lower change number is stale":              gateStale,
	"a higher change number is told first":        gateToldFirst,
	"told, it keeps the highest change":           gateTell,
	"lowered, free uses go first":                 gateLower,
	"the lease: nothing new, duplicates go on":    gateLease,
	"the lease is not prolonged":                  gateLeaseFixed,
	"the lease does not hold back other refusals": gateLeaseOthers,
	"live orders as of a sequence":                gateLive,
	"no gate, no answer":                          gateMissing,
	"retire":                                      gateRetire,
	"inspect in pages":                            gateInspect,
	"every call sent twice":                       gateTwice,
	"an ended context":                            gateEndedContext,
}

func gateReserves(w *gateWorld) {
	w.load(standing(10, 2))
	q := request(7, "order")
	q.Actor = "till|7" // may hold whatever a record uses as a mark
	d := w.reserve(q)
	want := port.Hold{
		Order: "order", Customer: 7, OrderAmount: amount, DiscountAmount: discount, PerUserLimit: 2,
		Version:   voucher.Version{Epoch: w.epoch, Sequence: 1},
		CreatedAt: Start, ExpiresAt: Start.Add(ttl), Actor: "till|7", Pending: true,
	}
	require.Equal(w, port.GateDecision{
		Footing: port.Footing{Epoch: w.epoch, Mode: voucher.FlashSync}, Change: 1, Sequence: 1,
		Replies: []port.GateReply{{Code: port.GateReserved, Hold: want}},
	}, d)

	later := w.batch(q)
	later.Now = Start.Add(time.Minute)
	require.Equal(w, []port.GateReply{{Code: port.GateDuplicate, Hold: want}}, w.decide(later).Replies)
	for _, other := range []voucher.Request{
		{Order: "order", Customer: 8, Amount: amount, TTL: ttl},
		{Order: "order", Customer: 7, Amount: amount + 1, TTL: ttl},
	} {
		require.Equal(w, []port.GateReply{{Code: port.GateConflict, Hold: want}}, w.reserve(other).Replies)
	}
	require.Equal(w, int64(9), w.summary().Remaining)
}

func gateLimit(w *gateWorld) {
	w.load(standing(3, 1))
	for n := range 5 {
		want := port.GateReserved
		if n >= 3 {
			want = port.GateOutOfStock
		}
		require.Equal(w, want, w.codeOf(voucher.CustomerID(n+1), orderID(n)), n)
	}
	require.Zero(w, w.summary().Remaining)
}

func gateCustomerLimit(w *gateWorld) {
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	w.hold(7, "b")
	require.Equal(w, port.GateCustomerLimit, w.codeOf(7, "c"))
	require.Equal(w, port.GateReserved, w.codeOf(8, "d"))
	require.Equal(w, []bool{true}, w.giveBack(false, h))
	require.Equal(w, port.GateReserved, w.codeOf(7, "c"))
}

func gateTerms(w *gateWorld) {
	w.load(standing(10, 2))
	at := func(now time.Time, much int64) port.GateCode {
		b := w.batch(voucher.Request{Order: "order", Customer: 7, Amount: much, TTL: ttl})
		b.Now = now
		return w.decide(b).Replies[0].Code
	}
	t := w.standing.Terms
	require.Equal(w, port.GateNotStarted, at(t.StartsAt.Add(-time.Millisecond), amount))
	require.Equal(w, port.GateEnded, at(t.EndsAt, amount))
	require.Equal(w, port.GateBelowMinimum, at(Start, 499))
	require.Equal(w, port.GateReserved, at(t.StartsAt, 500))
	// What it holds it repeats at any time; its discount was the order's amount.
	require.Equal(w, port.GateDuplicate, at(t.EndsAt, 500))
	require.Equal(w, int64(500), w.find("order").DiscountAmount)

	w.standing.Change, w.standing.Terms.Paused = 2, true
	require.Equal(w, port.GatePaused, w.codeOf(8, "other"))
	require.Equal(w, port.GateDuplicate, at(Start, 500))
}

func gateJudgement(w *gateWorld) {
	w.load(standing(1, 1, func(s *port.Standing) { s.Terms.Paused = true }))
	low := voucher.Request{Order: "low", Customer: 7, Amount: 1, TTL: ttl}
	early := w.batch(low)
	early.Now = w.standing.Terms.StartsAt.Add(-time.Second)
	require.Equal(w, port.GatePaused, w.decide(early).Replies[0].Code)
	w.standing.Change, w.standing.Terms.Paused = 2, false
	early.As = w.standing
	require.Equal(w, port.GateNotStarted, w.decide(early).Replies[0].Code)
	w.hold(7, "a")
	require.Equal(w, port.GateBelowMinimum, w.reserve(low).Replies[0].Code)
	require.Equal(w, port.GateCustomerLimit, w.codeOf(7, "b"), "before the stock")
	require.Equal(w, port.GateOutOfStock, w.codeOf(8, "c"))
	old := w.batch(low, request(7, "a"))
	old.As.Change--
	replies := w.decide(old).Replies
	require.Equal(w, port.GateStale, replies[0].Code)
	require.Equal(w, port.GateDuplicate, replies[1].Code, "a hold goes before everything")
}

func gateBatchOrder(w *gateWorld) {
	w.load(standing(3, 2))
	d := w.reserve(request(1, "a"), request(1, "b"), request(1, "c"), request(1, "a"), request(2, "a"), request(2, "d"), request(3, "e"))
	want := []port.GateCode{
		port.GateReserved, port.GateReserved, port.GateCustomerLimit, port.GateDuplicate, port.GateConflict,
		port.GateReserved, port.GateOutOfStock,
	}
	for i, r := range d.Replies {
		require.Equal(w, want[i], r.Code, i)
	}
	require.Equal(w, d.Replies[0].Hold, d.Replies[3].Hold)
	require.Equal(w, int64(3), d.Sequence)
	require.Positive(w, d.Lease)
}

func gateBatchSize(w *gateWorld) {
	w.load(standing(10_000, 1))
	var reqs []voucher.Request
	var refs []port.GateRef
	var ids []voucher.OrderID
	for n := range port.GateBatchMax + 1 {
		reqs = append(reqs, request(voucher.CustomerID(n+1), orderID(n)))
		refs = append(refs, port.GateRef{Order: orderID(n), Version: voucher.Version{Epoch: w.epoch, Sequence: int64(n + 1)}})
		ids = append(ids, orderID(n))
	}
	for _, r := range w.reserve(reqs[:port.GateBatchMax]...).Replies {
		require.Equal(w, port.GateReserved, r.Code)
	}
	b := w.batch(reqs...)
	_, err := w.Reserve(w.Context(), b)
	require.ErrorIs(w, err, port.ErrOverloaded)
	b.Requests, b.Settled = nil, refs
	_, err = w.Reserve(w.Context(), b)
	require.ErrorIs(w, err, port.ErrOverloaded)
	_, err = w.Acknowledge(w.Context(), w.code, refs)
	require.ErrorIs(w, err, port.ErrOverloaded)
	_, err = w.GiveBack(w.Context(), w.code, w.epoch, refs, false)
	require.ErrorIs(w, err, port.ErrOverloaded)
	_, _, err = w.Find(w.Context(), w.code, ids)
	require.ErrorIs(w, err, port.ErrOverloaded)
	_, _, err = w.Pending(w.Context(), w.code, 0, port.GateBatchMax+1)
	require.ErrorIs(w, err, port.ErrOverloaded)

	found, _, err := w.Find(w.Context(), w.code, ids[:port.GateBatchMax])
	require.NoError(w, err)
	require.Len(w, found, port.GateBatchMax)
	held, err := w.Acknowledge(w.Context(), w.code, refs[:port.GateBatchMax])
	require.NoError(w, err)
	require.NotContains(w, held, false)
	held, err = w.GiveBack(w.Context(), w.code, w.epoch, refs[:port.GateBatchMax], false)
	require.NoError(w, err)
	require.NotContains(w, held, false)
	require.Equal(w, int64(10_000), w.summary().Remaining)
	require.Empty(w, w.reserve().Replies, "an empty batch")
}

func gateExtremes(w *gateWorld) {
	longest := voucher.OrderID("Z" + strings.Repeat(":", 63))
	w.load(standing(voucher.MaxLimit, voucher.MaxLimit, func(s *port.Standing) {
		s.Terms.DiscountAmount, s.Terms.MinOrderAmount = voucher.MaxAmount, voucher.MaxAmount
		s.Terms.StartsAt = time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)
		s.Terms.EndsAt = time.Date(9999, time.December, 31, 23, 59, 59, 999_000_000, time.UTC)
		s.Change = 1 << 52
	}))
	b := w.batch(voucher.Request{Order: longest, Customer: 1<<63 - 1, Amount: voucher.MaxAmount, TTL: 90 * 24 * time.Hour})
	b.Now = w.standing.Terms.EndsAt.Add(-time.Millisecond)
	d := w.decide(b)
	h := d.Replies[0].Hold
	require.Equal(w, int64(1<<52), d.Change)
	require.Equal(w, voucher.CustomerID(1<<63-1), h.Customer)
	require.Equal(w, int64(voucher.MaxAmount), h.DiscountAmount)
	require.Equal(w, b.Now.Add(90*24*time.Hour), h.ExpiresAt)
	require.Equal(w, h, w.find(longest))
	require.Equal(w, port.GateConflict, w.reserve(voucher.Request{Order: longest, Customer: 1<<63 - 2, Amount: voucher.MaxAmount}).Replies[0].Code)
	require.Equal(w, int64(1), w.inspect().uses[1<<63-1])
	require.Equal(w, int64(voucher.MaxLimit-1), w.summary().Remaining)
}

func gateAcknowledge(w *gateWorld) {
	w.load(standing(10, 2))
	h, other := w.hold(7, "a"), w.hold(8, "b")
	require.Equal(w, int64(2), w.summary().Pending)
	wrong := port.GateRef{Order: "b", Version: voucher.Version{Epoch: w.epoch, Sequence: 9}}
	lower := port.GateRef{Order: "b", Version: voucher.Version{Epoch: w.epoch - 1, Sequence: other.Version.Sequence}}
	held, err := w.Acknowledge(w.Context(), w.code, append(gateRefs(h), wrong, lower, port.GateRef{Order: "c"}))
	require.NoError(w, err)
	require.Equal(w, []bool{true, false, false, false}, held)
	require.False(w, w.find("a").Pending)
	require.True(w, w.find("b").Pending)
	r := w.reserve(request(7, "a")).Replies[0]
	require.Equal(w, port.GateDuplicate, r.Code)
	require.False(w, r.Hold.Pending)
	w.giveBack(false, h)
	held, err = w.Acknowledge(w.Context(), w.code, gateRefs(h))
	require.NoError(w, err)
	require.Equal(w, []bool{false}, held)
}

func gateSettled(w *gateWorld) {
	w.load(standing(10, 2))
	a, b := w.hold(7, "a"), w.hold(8, "b")
	batch := w.batch(request(9, "c"), request(7, "a"))
	batch.Settled = append(gateRefs(a), port.GateRef{Order: "b", Version: voucher.Version{Epoch: w.epoch, Sequence: b.Version.Sequence + 1}})
	replies := w.decide(batch).Replies
	require.True(w, replies[0].Hold.Pending)
	require.False(w, replies[1].Hold.Pending)
	require.True(w, w.find("b").Pending)
}

func gateGiveBack(w *gateWorld) {
	w.load(standing(1, 1))
	h := w.hold(7, "a")
	wrong := h
	wrong.Version.Sequence++
	require.Equal(w, []bool{false}, w.giveBack(false, wrong))
	_, err := w.GiveBack(w.Context(), w.code, w.epoch-1, gateRefs(h), false)
	require.ErrorIs(w, err, port.ErrNotLoaded)
	_, err = w.GiveBack(w.Context(), w.code, w.epoch+1, gateRefs(h), false)
	require.ErrorIs(w, err, port.ErrNotLoaded)
	require.Equal(w, []bool{true, false}, w.giveBack(false, h, h), "once, also within a call")
	require.Equal(w, []bool{false}, w.giveBack(false, h))

	again := w.hold(8, "a") // free for anybody, as a later version
	require.Equal(w, 1, again.Version.Compare(h.Version))
	require.Equal(w, []bool{false}, w.giveBack(false, h), "a late give-back finds a later reservation")
	require.Equal(w, again, w.find("a"))
}

func gateConflicted(w *gateWorld) {
	w.load(standing(1, 1))
	h := w.hold(7, "a")
	require.Equal(w, []bool{true, true}, w.giveBack(true, h, h))
	marked := w.find("a")
	require.True(w, marked.Conflicted)
	require.False(w, marked.Pending)
	require.Equal(w, int64(1), w.summary().Remaining)
	r := w.reserve(request(7, "a")).Replies[0]
	require.Equal(w, port.GateReply{Code: port.GateConflicted, Hold: marked}, r)
	require.Equal(w, port.GateConflicted, w.codeOf(8, "a"), "whoever asks")
	held, err := w.Acknowledge(w.Context(), w.code, gateRefs(h))
	require.NoError(w, err)
	require.Equal(w, []bool{false}, held)
	w.check()
	w.hold(7, "b") // the use is free, for the same customer too
	require.Equal(w, []bool{true}, w.giveBack(false, h))
	require.Zero(w, w.summary().Remaining, "a reminder holds no use")
	require.Zero(w, w.find("a"))
}

func gateFind(w *gateWorld) {
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	found, footing, err := w.Find(w.Context(), w.code, []voucher.OrderID{"a", "b", "a"})
	require.NoError(w, err)
	require.Equal(w, port.Footing{Epoch: w.epoch, Mode: voucher.FlashSync}, footing)
	require.Equal(w, map[voucher.OrderID]port.Hold{"a": h}, found)
	found, _, err = w.Find(w.Context(), w.code, nil)
	require.NoError(w, err)
	require.Empty(w, found)
}

func gatePending(w *gateWorld) {
	w.load(standing(10, 2))
	pending := func(age time.Duration, limit int) []port.Hold {
		w.Helper()
		holds, footing, err := w.Pending(w.Context(), w.code, age, limit)
		require.NoError(w, err)
		require.Equal(w, port.Footing{Epoch: w.epoch, Mode: voucher.FlashSync}, footing)
		return holds
	}
	require.Empty(w, pending(0, 10))
	a := w.hold(7, "a")
	require.Equal(w, []port.Hold{a}, pending(0, 10))
	require.Empty(w, pending(time.Hour, 10))
	w.Pass(w.code, time.Hour)
	b := w.hold(8, "b")
	require.Equal(w, []port.Hold{a}, pending(time.Hour, 10))
	require.Equal(w, []port.Hold{a, b}, pending(0, 10))
	require.Equal(w, []port.Hold{a}, pending(0, 1))
	// A repetition doesn't make it younger.
	require.Equal(w, port.GateDuplicate, w.codeOf(7, "a"))
	require.Equal(w, []port.Hold{a}, pending(time.Hour, 10))
	w.giveBack(false, a)
	require.Equal(w, []port.Hold{b}, pending(0, 10))
}

func gatePendingOrder(w *gateWorld) {
	w.load(standing(10, 2))
	for _, id := range []voucher.OrderID{"c", "a", "b"} {
		w.hold(voucher.CustomerID(id[0]), id)
		w.Pass(w.code, time.Second)
	}
	holds, _, err := w.Pending(w.Context(), w.code, 0, 2)
	require.NoError(w, err)
	require.Equal(w, []voucher.OrderID{"c", "a"}, []voucher.OrderID{holds[0].Order, holds[1].Order})
}

func gateStale(w *gateWorld) {
	w.load(standing(10, 2, func(s *port.Standing) { s.Change = 5 }))
	b := w.batch(request(7, "a"))
	b.As.Change, b.As.Terms.TotalLimit = 4, 1000
	d := w.decide(b)
	require.Equal(w, port.GateStale, d.Replies[0].Code)
	require.Equal(w, int64(5), d.Change)
	require.Equal(w, int64(10), w.summary().Total)
	_, err := w.Lower(w.Context(), w.code, b.As, 5)
	require.ErrorIs(w, err, port.ErrStale)
}

func gateToldFirst(w *gateWorld) {
	w.load(standing(1, 1))
	w.hold(7, "a")
	next := standing(2, 2, func(s *port.Standing) { s.Change, s.Terms.DiscountAmount = 2, 77 })
	w.standing = next
	d := w.reserve(request(7, "b"))
	require.Equal(w, port.GateReserved, d.Replies[0].Code)
	require.Equal(w, int64(77), d.Replies[0].Hold.DiscountAmount)
	require.Equal(w, int64(2), d.Replies[0].Hold.PerUserLimit)
	require.Equal(w, int64(2), d.Change)
	require.Equal(w, discount, int(w.find("a").DiscountAmount), "what was granted stays")
}

func gateTell(w *gateWorld) {
	w.load(standing(10, 2))
	w.hold(7, "a")
	tell := func(as port.Standing) port.GateTold {
		w.Helper()
		told, err := w.Tell(w.Context(), w.code, as)
		require.NoError(w, err)
		require.Equal(w, port.Footing{Epoch: w.epoch, Mode: voucher.FlashSync}, told.Footing)
		return told
	}
	up := standing(20, 3, func(s *port.Standing) { s.Change = 3 })
	told := tell(up)
	require.Equal(w, []int64{3, 20}, []int64{told.Change, told.Total})
	require.Zero(w, told.Lease)
	require.Equal(w, int64(19), w.summary().Remaining)
	tell(up)
	tell(standing(100, 9, func(s *port.Standing) { s.Change = 2 }))
	told = tell(standing(100, 9, func(s *port.Standing) { s.Change = 3 }))
	require.Equal(w, []int64{3, 20}, []int64{told.Change, told.Total}, "the highest change stays")
	require.Equal(w, int64(19), w.summary().Remaining)
	tell(standing(5, 1, func(s *port.Standing) { s.Change, s.Terms.Paused = 4, true }))
	require.Equal(w, int64(4), w.summary().Remaining)
	w.standing = standing(5, 1, func(s *port.Standing) { s.Change, s.Terms.Paused = 4, true })
	require.Equal(w, port.GatePaused, w.codeOf(8, "b"))
}

func gateLower(w *gateWorld) {
	w.load(standing(10, 2))
	w.hold(7, "a")
	told, err := w.Lower(w.Context(), w.code, w.standing, 4)
	require.NoError(w, err)
	require.Equal(w, []int64{1, 4}, []int64{told.Change, told.Total})
	require.Equal(w, int64(3), w.summary().Remaining)
	// Sent twice, or with a total above, it gives up nothing more.
	for _, total := range []int64{4, 9} {
		told, err = w.Lower(w.Context(), w.code, w.standing, total)
		require.NoError(w, err)
		require.Equal(w, int64(4), told.Total)
	}
	_, err = w.Lower(w.Context(), w.code, w.standing, 0)
	require.ErrorIs(w, err, voucher.ErrLimitBelowUsed)
	require.Equal(w, int64(3), w.summary().Remaining)
	// Once stored it is told like any other change, and nothing moves.
	_, err = w.Tell(w.Context(), w.code, standing(4, 2, func(s *port.Standing) { s.Change = 2 }))
	require.NoError(w, err)
	require.Equal(w, int64(3), w.summary().Remaining)
	// A later state comes along with it.
	told, err = w.Lower(w.Context(), w.code, standing(8, 2, func(s *port.Standing) { s.Change = 3 }), 6)
	require.NoError(w, err)
	require.Equal(w, []int64{3, 6}, []int64{told.Change, told.Total})
	require.Equal(w, int64(5), w.summary().Remaining)
	// To exactly what is taken.
	told, err = w.Lower(w.Context(), w.code, standing(8, 2, func(s *port.Standing) { s.Change = 3 }), 1)
	require.NoError(w, err)
	require.Equal(w, int64(1), told.Total)
	require.Zero(w, w.summary().Remaining)
}

// soldOut is a gate with one use, taken, and a lease that has begun.
func (w *gateWorld) soldOut() port.Hold {
	w.Helper()
	w.load(standing(1, 1))
	h := w.hold(7, "a")
	d := w.reserve(request(8, "b"))
	require.Equal(w, port.GateOutOfStock, d.Replies[0].Code)
	require.Positive(w, d.Lease)
	require.LessOrEqual(w, d.Lease, port.SoldOutLease)
	require.Equal(w, int64(1), d.Sequence)
	return h
}

func gateLease(w *gateWorld) {
	h := w.soldOut()
	told, err := w.Tell(w.Context(), w.code, w.standing)
	require.NoError(w, err)
	require.Positive(w, told.Lease)
	require.Equal(w, port.GateDuplicate, w.codeOf(7, "a"))
	w.giveBack(false, h)
	require.Equal(w, port.GateOutOfStock, w.codeOf(7, "a"), "the lease still runs")
	require.Equal(w, int64(1), w.summary().Remaining)
	w.Pass(w.code, port.SoldOutLease)
	d := w.reserve(request(8, "b"))
	require.Equal(w, port.GateReserved, d.Replies[0].Code)
	require.Zero(w, d.Lease)
}

func gateLeaseFixed(w *gateWorld) {
	w.soldOut()
	w.Pass(w.code, port.SoldOutLease/2)
	d := w.reserve(request(8, "b"))
	require.Equal(w, port.GateOutOfStock, d.Replies[0].Code)
	require.LessOrEqual(w, d.Lease, port.SoldOutLease/2)
	w.Pass(w.code, port.SoldOutLease/2)
	d = w.reserve(request(9, "c"), request(10, "d"))
	require.Equal(w, port.GateOutOfStock, d.Replies[0].Code)
	require.Greater(w, d.Lease, port.SoldOutLease/2, "sold out still, a new one begins")
}

func gateLeaseOthers(w *gateWorld) {
	w.soldOut()
	require.Equal(w, port.GateCustomerLimit, w.codeOf(7, "z"))
	w.standing = standing(5, 1, func(s *port.Standing) { s.Change = 2 })
	require.Equal(w, port.GateOutOfStock, w.codeOf(9, "c"), "raised, but the lease runs")
	w.Pass(w.code, port.SoldOutLease)
	require.Equal(w, port.GateReserved, w.codeOf(9, "c"))
	w.standing.Change, w.standing.Terms.Paused = 3, true
	require.Equal(w, port.GatePaused, w.codeOf(10, "d"))
}

func gateLive(w *gateWorld) {
	w.load(standing(port.GateLiveMax+10, 1), stored(1, 1, 99, "loaded"))
	w.hold(1, "a")
	live, err := w.Live(w.Context(), w.code)
	require.NoError(w, err)
	require.True(w, live.Complete)
	require.ElementsMatch(w, []voucher.OrderID{"loaded", "a"}, live.Orders)
	require.Equal(w, port.Footing{Epoch: w.epoch, Mode: voucher.FlashSync}, live.Footing)
	require.Equal(w, int64(1), live.Sequence)
	for n := 0; n < port.GateLiveMax; n += 500 {
		var reqs []voucher.Request
		for i := range 500 {
			reqs = append(reqs, request(voucher.CustomerID(1000+n+i), voucher.OrderID(fmt.Sprintf("n%d", n+i))))
		}
		w.reserve(reqs...)
	}
	live, err = w.Live(w.Context(), w.code)
	require.NoError(w, err)
	require.False(w, live.Complete)
	require.Empty(w, live.Orders)
	require.Equal(w, int64(port.GateLiveMax+1), live.Sequence)
}

// calls are all calls that need a gate that serves, each on a hold.
func (w *gateWorld) calls(h port.Hold) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"reserve": func(ctx context.Context) error { _, err := w.Reserve(ctx, w.batch(request(7, "x"))); return err },
		"acknowledge": func(ctx context.Context) error {
			_, err := w.Acknowledge(ctx, w.code, gateRefs(h))
			return err
		},
		"give back": func(ctx context.Context) error {
			_, err := w.GiveBack(ctx, w.code, w.epoch, gateRefs(h), false)
			return err
		},
		"find": func(ctx context.Context) error {
			_, _, err := w.Find(ctx, w.code, []voucher.OrderID{"a"})
			return err
		},
		"pending": func(ctx context.Context) error { _, _, err := w.Pending(ctx, w.code, 0, 1); return err },
		"live":    func(ctx context.Context) error { _, err := w.Live(ctx, w.code); return err },
		"tell":    func(ctx context.Context) error { _, err := w.Tell(ctx, w.code, w.standing); return err },
		"lower":   func(ctx context.Context) error { _, err := w.Lower(ctx, w.code, w.standing, 5); return err },
	}
}

// closed insists that the gate answers nothing.
func (w *gateWorld) closed(h port.Hold, why string) {
	w.Helper()
	for name, call := range w.calls(h) {
		require.ErrorIs(w, call(w.Context()), port.ErrNotLoaded, "%s: %s", why, name)
	}
	require.False(w, w.summary().Open, why)
	require.Empty(w, w.inspect().holds, why)
}

func gateMissing(w *gateWorld) {
	w.closed(stored(1, 1, 7, "a"), "never loaded")
}

func gateRetire(w *gateWorld) {
	retire := func(epoch int64, force bool) bool {
		w.Helper()
		gone, err := w.Retire(w.Context(), w.code, epoch, force)
		require.NoError(w, err)
		return gone
	}
	require.True(w, retire(1, false), "there is none")
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	require.False(w, retire(w.epoch-1, true))
	require.False(w, retire(w.epoch, false), "it holds an order")
	w.giveBack(false, h)
	require.True(w, retire(w.epoch, false))
	w.closed(h, "retired")
	w.load(standing(10, 2), h)
	require.True(w, retire(w.epoch, true))
	w.closed(h, "retired by force")
	seal, err := w.Close(w.Context(), w.code, w.epoch+1)
	require.NoError(w, err)
	require.True(w, retire(w.epoch+1, false), "closed")
	_, err = w.Open(w.Context(), seal, w.opening(nil))
	require.ErrorIs(w, err, port.ErrSuperseded)
}

func gateInspect(w *gateWorld) {
	w.load(standing(5000, 2))
	want := map[voucher.OrderID]port.Hold{}
	for n := range 6 {
		var reqs []voucher.Request
		for i := range 300 {
			reqs = append(reqs, request(voucher.CustomerID(1+n*150+i/2), orderID(n*300+i)))
		}
		for _, r := range w.reserve(reqs...).Replies {
			want[r.Hold.Order] = r.Hold
		}
	}
	s := w.inspect()
	require.Equal(w, want, s.holds)
	require.Len(w, s.uses, 900)
	require.Equal(w, port.GateSummary{
		Footing: port.Footing{Epoch: w.epoch, Mode: voucher.FlashSync}, Open: true, Change: 1, Total: 5000,
		Remaining: 3200, Orders: 1800, Customers: 900, Pending: 1800,
	}, s.summary)
	require.Equal(w, s.summary, w.summary())
	require.Less(w, s.longest, 1800, "in pages")
}

func gateTwice(w *gateWorld) {
	twice := func(what string, call func() (any, error)) {
		w.Helper()
		first, err := call()
		require.NoError(w, err, what)
		before := w.inspect()
		again, err := call()
		require.NoError(w, err, what)
		require.Equal(w, first, again, what)
		require.Equal(w, before, w.inspect(), what)
	}
	w.epoch++
	w.standing = standing(10, 2)
	holds := []port.Hold{stored(1, 1, 7, "a"), stored(1, 2, 7, "b")}
	var seal port.Seal
	twice("close", func() (any, error) {
		var err error
		seal, err = w.Close(w.Context(), w.code, w.epoch)
		return seal, err
	})
	twice("fill", func() (any, error) { return nil, w.Fill(w.Context(), seal, holds) })
	twice("close after filling", func() (any, error) { return w.Close(w.Context(), w.code, w.epoch) })
	w.Pass(w.code, port.SoldOutLease)
	twice("open", func() (any, error) { return w.Open(w.Context(), seal, w.opening(holds)) })
	require.Equal(w, int64(2), w.inspect().uses[7])

	first := w.reserve(request(8, "c"))
	again := w.reserve(request(8, "c"))
	require.Equal(w, port.GateDuplicate, again.Replies[0].Code)
	require.Equal(w, first.Replies[0].Hold, again.Replies[0].Hold)
	h := first.Replies[0].Hold
	twice("acknowledge", func() (any, error) { return w.Acknowledge(w.Context(), w.code, gateRefs(h)) })
	twice("tell", func() (any, error) {
		return w.Tell(w.Context(), w.code, standing(9, 2, func(s *port.Standing) { s.Change = 2 }))
	})
	w.standing = standing(9, 2, func(s *port.Standing) { s.Change = 2 })
	twice("lower", func() (any, error) { return w.Lower(w.Context(), w.code, w.standing, 5) })
	twice("give back as a reminder", func() (any, error) {
		return w.GiveBack(w.Context(), w.code, w.epoch, gateRefs(h), true)
	})
	require.Equal(w, []bool{true}, w.giveBack(false, h))
	require.Equal(w, []bool{false}, w.giveBack(false, h))
	twice("retire", func() (any, error) { return w.Retire(w.Context(), w.code, w.epoch, true) })
}

func gateEndedContext(w *gateWorld) {
	w.load(standing(10, 2))
	h := w.hold(7, "a")
	ended, cancel := context.WithCancel(w.Context())
	cancel()
	for name, call := range w.calls(h) {
		require.ErrorIs(w, call(ended), port.ErrOverloaded, name)
	}
	_, err := w.Close(ended, w.code, w.epoch+1)
	require.ErrorIs(w, err, port.ErrOverloaded)
	require.Equal(w, int64(9), w.summary().Remaining)
}
