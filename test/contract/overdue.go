package contract

import (
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/catalog"
	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/domain/voucher"
)

// crowd is more than two looks for overdue uses can end.
const crowd = 2*port.OverdueBatch + 89

var overdueCases = map[string]func(*world){
	"one look ends a batch of overdue uses":               lookIsBounded,
	"the uses that are overdue for the longest go first":  longestOverdueFirst,
	"the last of a crowd of overdue uses gives way":       lastOfACrowd,
	"a crowd of overdue uses gives way to a lower limit":  crowdAmend,
	"overdue uses behind a crowd that isn't":              overdueBehindACrowd,
	"a crowd of overdue uses fills the stock":             crowdFillsStock,
	"nobody is refused while a crowd of uses is overdue":  crowdOfBuyers,
	"overdue uses of another voucher stay where they are": overdueElsewhere,
}

// useCases are the use cases on the store, as one process has them, holding uses for the given time.
func (w *world) useCases(ttl time.Duration) (*reservation.Service, *catalog.Catalog) {
	d := catalog.NewDirectory(w.Reader, w.Clock)
	deciders := map[voucher.Mode]reservation.Decider{voucher.Standard: reservation.Standard{Ledger: w.Ledger}}
	settings := catalog.Settings{DefaultMode: voucher.Standard, Served: []voucher.Mode{voucher.Standard}}
	return reservation.New(w.Ledger, w.Reader, d, deciders, w.Clock, ttl),
		catalog.New(w.Ledger, w.Reader, d, w.Clock, settings)
}

// wish asks for a use of the voucher SALE.
func wish(customer int64, order voucher.OrderID) reservation.Reserve {
	return reservation.Reserve{Code: "SALE", Customer: customer, Order: string(order), Amount: amount, Actor: actor}
}

// fill takes a use for each customer of a crowd, held for the given time.
func (w *world) fill(code voucher.Code, held time.Duration) {
	w.Helper()
	reqs := buyers(crowd)
	for i := range reqs {
		reqs[i].TTL = held
	}
	for len(reqs) > 0 {
		k := min(250, len(reqs))
		require.Equal(w, map[voucher.Verdict]int{voucher.Granted: k}, count(w.reserve(code, reqs[:k]...)))
		reqs = reqs[k:]
	}
}

func lookIsBounded(w *world) {
	w.voucher("SALE", crowd, 1)
	w.fill("SALE", ttl)
	w.Clock.Advance(ttl)
	for _, left := range []int64{crowd - port.OverdueBatch, crowd - 2*port.OverdueBatch} {
		require.Equal(w, voucher.Undecided, w.reserveOne("SALE", crowd, "mine").Verdict)
		require.Equal(w, left, w.stored("SALE").Used())
	}
	w.hold("SALE", crowd, "mine")
	require.EqualValues(w, 1, w.stored("SALE").Used())
}

func longestOverdueFirst(w *world) {
	w.voucher("SALE", crowd+3, 1)
	w.fill("SALE", 2*ttl)
	w.hold("SALE", crowd+1, "a")
	w.hold("SALE", crowd+2, "b")
	w.hold("SALE", crowd+3, "c")
	w.Clock.Advance(3 * ttl)
	require.Equal(w, voucher.Undecided, w.reserveOne("SALE", crowd, "mine").Verdict)
	for _, id := range []voucher.OrderID{"a", "b", "c"} {
		require.Equal(w, voucher.Expired, w.row("SALE", id).ReleaseReason)
	}
}

// A customer's own use is the last of the overdue ones: it must not keep the customer out.
func lastOfACrowd(w *world) {
	w.voucher("SALE", 10*crowd, 1)
	w.fill("SALE", ttl)
	service, _ := w.useCases(ttl)
	w.Clock.Advance(ttl - time.Millisecond)
	_, err := service.Reserve(w.Context(), wish(crowd, "mine"))
	require.ErrorIs(w, err, voucher.ErrAlreadyUsed)
	w.Clock.Advance(time.Millisecond)
	r, err := service.Reserve(w.Context(), wish(crowd, "mine"))
	require.NoError(w, err)
	require.Equal(w, r.Record(), w.row("SALE", "mine"))
	require.EqualValues(w, 1, w.stored("SALE").Used())
	_, err = service.Reserve(w.Context(), wish(crowd, "again"))
	require.ErrorIs(w, err, voucher.ErrAlreadyUsed)
}

func crowdAmend(w *world) {
	w.voucher("SALE", crowd+1, 1)
	w.fill("SALE", ttl)
	w.Clock.Advance(ttl)
	w.hold("SALE", crowd+1, "held")
	_, vouchers := w.useCases(ttl)
	v, err := vouchers.Amend(w.Context(), "SALE", voucher.Amendment{TotalLimit: new(int64(1))}, actor)
	require.NoError(w, err)
	require.EqualValues(w, 1, v.Terms().TotalLimit)
	require.EqualValues(w, 1, v.Used())
	require.Equal(w, v, w.stored("SALE"))
	require.Equal(w, voucher.Reserved, w.row("SALE", "held").Status)
}

// The time that a use is held was shortened: the later uses are overdue first.
func overdueBehindACrowd(w *world) {
	w.voucher("SALE", 10*crowd, 1)
	w.fill("SALE", ttl)
	service, vouchers := w.useCases(time.Minute)
	_, err := service.Reserve(w.Context(), wish(crowd+1, "short"))
	require.NoError(w, err)
	w.Clock.Advance(time.Minute)
	_, err = service.Reserve(w.Context(), wish(crowd+1, "mine"))
	require.NoError(w, err)
	require.Equal(w, voucher.Expired, w.row("SALE", "short").ReleaseReason)
	require.EqualValues(w, crowd+1, w.stored("SALE").Used())
	// The same for the stock and for a lower limit.
	w.Clock.Advance(time.Minute)
	_, err = vouchers.Amend(w.Context(), "SALE", voucher.Amendment{TotalLimit: new(int64(crowd))}, actor)
	require.NoError(w, err)
	_, err = service.Reserve(w.Context(), wish(crowd+1, "more"))
	require.ErrorIs(w, err, voucher.ErrOutOfStock)
	_, err = vouchers.Amend(w.Context(), "SALE", voucher.Amendment{TotalLimit: new(int64(crowd - 1))}, actor)
	require.ErrorIs(w, err, voucher.ErrLimitBelowUsed)
}

// All of a crowd is paid for but the last two, which come back, and no more.
func crowdFillsStock(w *world) {
	w.voucher("SALE", crowd, crowd)
	w.fill("SALE", ttl)
	var paid []voucher.OrderID
	for i := range crowd - 2 {
		paid = append(paid, orderID(i))
	}
	w.step("SALE", paid, func(s *voucher.State, now time.Time) {
		for _, id := range paid {
			_, err := s.Confirm(id, voucher.Condition{}, actor, now)
			require.NoError(w, err)
		}
	})
	service, _ := w.useCases(ttl)
	_, err := service.Reserve(w.Context(), wish(1, "early"))
	require.ErrorIs(w, err, voucher.ErrOutOfStock)
	w.Clock.Advance(ttl)
	for _, order := range []voucher.OrderID{"a", "b"} {
		_, err := service.Reserve(w.Context(), wish(1, order))
		require.NoError(w, err)
	}
	_, err = service.Reserve(w.Context(), wish(1, "late"))
	require.ErrorIs(w, err, voucher.ErrOutOfStock)
}

// Every customer of a crowd comes back at once, each kept out by nothing but an overdue use.
func crowdOfBuyers(w *world) {
	w.voucher("SALE", crowd, 1)
	w.fill("SALE", ttl)
	service, _ := w.useCases(ttl)
	w.Clock.Advance(ttl)
	errs := make([]error, crowd)
	together(crowd, func(i int) {
		_, errs[i] = service.Reserve(w.Context(), wish(int64(i+1), orderID(crowd+i)))
	})
	for _, err := range errs {
		require.NoError(w, err)
	}
	require.EqualValues(w, crowd, w.stored("SALE").Used())
	_, err := service.Reserve(w.Context(), wish(crowd+1, "late"))
	require.ErrorIs(w, err, voucher.ErrOutOfStock)
}

func overdueElsewhere(w *world) {
	w.voucher("OTHER", crowd, 1)
	w.fill("OTHER", ttl)
	w.voucher("SALE", 1, 1)
	w.hold("SALE", 1, "held")
	w.Clock.Advance(ttl - time.Minute)
	require.NoError(w, w.release("SALE", "held"))
	w.hold("SALE", 1, "held")
	w.Clock.Advance(time.Minute)
	require.Equal(w, voucher.OutOfStock, w.reserveOne("SALE", 2, "mine").Verdict)
	require.EqualValues(w, crowd, w.stored("OTHER").Used())
	q := port.RedemptionQuery{Code: "SALE", Status: voucher.Released, Now: w.Clock.Now(), Limit: 10}
	require.Empty(w, w.redemptions(q))
	q.Now = w.Clock.Now().Add(ttl)
	require.Equal(w, []voucher.OrderID{"held"}, w.redemptions(q))
}
