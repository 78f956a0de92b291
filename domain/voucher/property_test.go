package voucher_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"voucherd/domain/voucher"
)

// A world small enough that orders, customers and limits meet all the time.
var (
	anyOrder    = rapid.SampledFrom([]voucher.OrderID{"a", "b", "c", "d", "e", "f", "g", "h"})
	anyCustomer = rapid.Int64Range(1, 3)
	anyAmount   = rapid.SampledFrom([]int64{499, 500, 1000, 5000})
	anyLimit    = rapid.Int64Range(1, 4)
)

var anyRequest = rapid.Custom(func(t *rapid.T) voucher.Request {
	return request(anyOrder.Draw(t, "order"), voucher.CustomerID(anyCustomer.Draw(t, "customer")), anyAmount.Draw(t, "amount"))
})

// history drives a shelf through random commands; its now moves on with them.
type history struct {
	*shelf
	now time.Time
}

func newHistory(t *rapid.T) *history {
	return &history{shelf: newShelf(t, limits(anyLimit.Draw(t, "totalLimit"), anyLimit.Draw(t, "perUserLimit"))), now: t0}
}

func (h *history) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"pass": func(t *rapid.T) {
			h.now = h.now.Add(time.Duration(rapid.Int64Range(0, 10).Draw(t, "minutes")) * time.Minute)
		},
		"reserve": func(t *rapid.T) { h.reserve(h.now, rapid.SliceOfN(anyRequest, 1, 6).Draw(t, "requests")...) },
		"confirm": func(t *rapid.T) { _, _ = h.confirm(h.now, anyOrder.Draw(t, "order"), voucher.Condition{}) },
		"release": func(t *rapid.T) { _ = h.release(h.now, anyOrder.Draw(t, "order"), voucher.Condition{}) },
		"expire": func(t *rapid.T) {
			ids := rapid.SliceOf(anyOrder).Draw(t, "orders")
			h.decide(h.now, func(s *voucher.State) { s.Expire(ids, "expiry", h.now) })
		},
		"amend": func(t *rapid.T) {
			_ = h.amend(h.now, voucher.Amendment{
				TotalLimit:   rapid.Ptr(anyLimit, true).Draw(t, "totalLimit"),
				PerUserLimit: rapid.Ptr(anyLimit, true).Draw(t, "perUserLimit"),
				Paused:       rapid.Ptr(rapid.Map(rapid.IntRange(0, 3), func(n int) bool { return n == 0 }), true).Draw(t, "paused"),
				Mode:         rapid.Ptr(rapid.SampledFrom(voucher.Modes()), true).Draw(t, "mode"),
			})
		},
		"elsewhere": func(t *rapid.T) {
			id := anyOrder.Draw(t, "order")
			if r, ok := h.orders[id]; ok && r.Live() {
				t.Skip("one live use for one order")
			}
			h.elsewhere[id] = voucher.RestoreReservation(voucher.Record{
				Code: "OTHER", Order: id, Status: voucher.Reserved, ExpiresAt: h.now.Add(time.Minute),
			})
		},
		"nowhere else": func(t *rapid.T) { delete(h.elsewhere, anyOrder.Draw(t, "order")) },
	}
}

// After each command the shelf holds rows, counts and limits to each other; see shelf.check. Beside that no customer
// gets a use over the limit in force, and versions only rise.
func TestRandomHistoriesKeepTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		highest, live := voucher.Version{}, map[voucher.CustomerID]int64{}
		seen := 0
		actions := h.actions()
		actions[""] = func(t *rapid.T) {
			for _, c := range h.history[seen:] {
				switch c.Kind { //nolint:exhaustive // the others take and give nothing
				case voucher.ReservationMade:
					require.Positive(t, c.Version.Compare(highest))
					highest = c.Version
					live[c.Customer]++
					require.LessOrEqual(t, live[c.Customer], h.v.Terms().PerUserLimit)
				case voucher.ReservationReleased:
					live[c.Customer]--
				}
			}
			seen = len(h.history)
			for id, n := range live {
				require.Equal(t, n, h.uses[id], "the history tells the counts")
			}
			for id, r := range h.elsewhere {
				if here, ok := h.orders[id]; ok && here.Live() {
					require.Failf(t, "two live uses of one order", "%s, elsewhere %v", id, r.Record())
				}
			}
		}
		t.Repeat(actions)
	})
}

// clone is an independent copy of the shelf.
func (b *shelf) clone() *shelf {
	c := *b
	c.orders, c.elsewhere, c.uses = maps.Clone(b.orders), maps.Clone(b.elsewhere), maps.Clone(b.uses)
	c.history = slices.Clone(b.history)
	return &c
}

// lazily reserves as a store does: overdue orders are loaded only where a limit may refuse.
func (b *shelf) lazily(now time.Time, reqs ...voucher.Request) []voucher.Outcome {
	b.blind = !b.load(now).ShortOf(reqs)
	defer func() { b.blind = false }()
	return b.reserve(now, reqs...)
}

func TestABatchIsAsGoodAsItsRequestsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		t.Repeat(h.actions())
		reqs := rapid.SliceOfN(anyRequest, 1, 12).Draw(t, "batch")
		together, eager, apart := h.clone(), h.clone(), h.clone()
		out := together.lazily(h.now, reqs...)
		require.Equal(t, eager.reserve(h.now, reqs...), out, "what is not needed is not loaded")
		var each []voucher.Outcome
		for _, q := range reqs {
			each = append(each, apart.lazily(h.now, q)...)
		}
		require.Equal(t, each, out)
		for _, other := range []*shelf{eager, apart} {
			require.Equal(t, other.v, together.v)
			require.Equal(t, other.orders, together.orders)
			require.Equal(t, other.history, together.history)
			for id, n := range together.uses {
				require.Equal(t, other.uses[id], n)
			}
		}
	})
}

// Without a look for overdue uses no limit may refuse: ShortOf said so.
func TestShortOfMissesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		t.Repeat(h.actions())
		reqs := rapid.SliceOfN(anyRequest, 1, 4).Draw(t, "batch")
		if h.load(h.now).ShortOf(reqs) {
			t.Skip("a limit is near")
		}
		h.blind = true
		for _, v := range verdicts(h.reserve(h.now, reqs...)) {
			require.NotContains(t, []voucher.Verdict{voucher.LimitReached, voucher.OutOfStock}, v)
		}
	})
}

// The same request right after a grant is a repeat with the same answer.
func TestWhatWasGrantedIsRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		t.Repeat(h.actions())
		q := anyRequest.Draw(t, "request")
		if out := h.reserve(h.now, q)[0]; out.Err() == nil {
			again := h.reserve(h.now, q)[0]
			require.Equal(t, voucher.Outcome{Verdict: voucher.Repeated, Reservation: out.Reservation}, again)
		}
	})
}
