package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

// limitSeen: a customer's row is there from the first grant on, and holds the limit of the last one, also where one step
// ended as many uses as it granted.
func limitSeen(w *world) {
	w.voucher("SALE", 10, 5)
	stored := func(uses, limit int64) {
		w.Helper()
		b := w.book("SALE")
		require.Equal(w, map[voucher.CustomerID]int64{7: uses}, b.customers)
		require.Equal(w, map[voucher.CustomerID]int64{7: limit}, b.limits)
	}
	lower := func(limit int64) { require.NoError(w, w.amend(voucher.Amendment{PerUserLimit: &limit})) }
	w.step("SALE", nil, func(s *voucher.State, now time.Time) {
		require.Equal(w, voucher.Granted, s.Reserve([]voucher.Request{request(7, "a")}, now)[0].Verdict)
		require.NoError(w, s.Release("a", voucher.Condition{}, actor, now))
	})
	stored(0, 5)
	w.hold("SALE", 7, "b")
	lower(4)
	stored(1, 5)
	w.Clock.Advance(ttl)
	w.hold("SALE", 7, "b") // its use was overdue: one ended, one begun
	stored(1, 4)
	lower(3)
	w.hold("SALE", 7, "c")
	stored(2, 3)
	require.NoError(w, w.release("SALE", "c"))
	lower(2)
	stored(1, 3)
	w.Clock.Advance(ttl)
	w.hold("SALE", 7, "d") // b is overdue and not asked for: it stays
	stored(2, 2)
	w.Clock.Advance(ttl)
	w.step("SALE", []voucher.OrderID{"b", "d"}, func(s *voucher.State, now time.Time) {
		require.Equal(w, 2, s.Expire([]voucher.OrderID{"b", "d"}, actor, now))
		require.Equal(w, voucher.Granted, s.Reserve([]voucher.Request{request(7, "b")}, now)[0].Verdict)
	})
	stored(1, 2)
}
