package contract

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

var readerCases = map[string]func(*world){
	"vouchers by code":                    vouchersByCode,
	"vouchers in order of code":           listVouchers,
	"a reservation that isn't there":      noReservation,
	"redemptions, newest first, in pages": redemptionPages,
	"redemptions by status":               redemptionsByStatus,
	"redemptions of no voucher":           redemptionsOfNone,
	"redemptions across epochs":           redemptionsAcrossEpochs,
	"what is due, in pages":               duePages,
	"nothing is due before its time":      dueBoundary,
}

var booksCases = map[string]func(*world){
	"books of an unknown voucher":   booksOfNone,
	"books in order and in pages":   bookOrder,
	"history says what happened":    historyContent,
	"books hold what counts to nil": bookZeroes,
}

func vouchersByCode(w *world) {
	a, b := w.voucher("A", 1, 1), w.voucher("B", 2, 2)
	got, err := w.Reader.Vouchers(w.Context(), []voucher.Code{"B", "NONE", "A"})
	require.NoError(w, err)
	require.ElementsMatch(w, []voucher.Voucher{a, b}, got)
	got, err = w.Reader.Vouchers(w.Context(), nil)
	require.NoError(w, err)
	require.Empty(w, got)
}

func listVouchers(w *world) {
	// Byte order, whatever the language of the database says of '-' and '_'.
	codes := []voucher.Code{"A-1", "A-Z", "A0", "AA", "A_1", "Z"}
	for _, code := range []voucher.Code{"Z", "A_1", "AA", "A-Z", "A0", "A-1"} {
		w.voucher(code, 1, 1)
	}
	var got []voucher.Code
	for after := voucher.Code(""); ; {
		page, err := w.Reader.List(w.Context(), after, 4)
		require.NoError(w, err)
		require.LessOrEqual(w, len(page), 4)
		for _, v := range page {
			got = append(got, v.Code())
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Code()
	}
	require.Equal(w, codes, got)
}

func noReservation(w *world) {
	w.voucher("SALE", 1, 1)
	w.voucher("OTHER", 1, 1)
	w.hold("OTHER", 1, "a")
	_, err := w.Reader.Reservation(w.Context(), "SALE", "a")
	require.ErrorIs(w, err, voucher.ErrReservationNotFound)
	_, err = w.Reader.Reservation(w.Context(), "NONE", "a")
	require.ErrorIs(w, err, voucher.ErrVoucherNotFound)
}

func (w *world) redemptions(q port.RedemptionQuery) []voucher.OrderID {
	w.Helper()
	var got []voucher.OrderID
	for {
		page, err := w.Reader.Redemptions(w.Context(), q)
		require.NoError(w, err)
		require.LessOrEqual(w, len(page), q.Limit)
		if len(page) == 0 {
			return got
		}
		for _, r := range page {
			got = append(got, r.Record().Order)
		}
		last := page[len(page)-1].Record().Version
		q.Before = &last
	}
}

func redemptionPages(w *world) {
	const n = 203
	w.voucher("SALE", n, n)
	w.voucher("OTHER", n, n)
	var want []voucher.OrderID
	for i := range n {
		want = append(want, orderID((i*31)%n))
	}
	var reqs []voucher.Request
	for _, id := range want {
		reqs = append(reqs, request(1, id))
	}
	w.reserve("SALE", reqs...)
	w.hold("OTHER", 1, "other")
	w.step("SALE", want, func(s *voucher.State, now time.Time) {
		for i, id := range want {
			switch i % 3 {
			case 0:
				_, err := s.Confirm(id, voucher.Condition{}, actor, now)
				require.NoError(w, err)
			case 1:
				require.NoError(w, s.Release(id, voucher.Condition{}, actor, now))
			}
		}
	})
	slices.Reverse(want)
	for _, limit := range []int{1, 7, 64, 100, n, 1000} {
		require.Equal(w, want, w.redemptions(port.RedemptionQuery{Code: "SALE", Now: Start, Limit: limit}))
	}
}

func redemptionsByStatus(w *world) {
	w.voucher("SALE", 100, 100)
	w.hold("SALE", 1, "early")
	w.hold("SALE", 1, "paid")
	_, err := w.confirm("SALE", "paid")
	require.NoError(w, err)
	w.hold("SALE", 1, "cancelled")
	require.NoError(w, w.release("SALE", "cancelled"))
	w.Clock.Advance(time.Minute)
	w.hold("SALE", 1, "held")
	for _, at := range []time.Duration{0, ttl - time.Millisecond} {
		q := port.RedemptionQuery{Code: "SALE", Now: Start.Add(at), Limit: 1}
		q.Status = voucher.Reserved
		require.Equal(w, []voucher.OrderID{"held", "early"}, w.redemptions(q))
		q.Status = voucher.Released
		require.Equal(w, []voucher.OrderID{"cancelled"}, w.redemptions(q))
	}
	// From its deadline on a reservation counts as released, whether or not that is written down.
	q := port.RedemptionQuery{Code: "SALE", Now: Start.Add(ttl), Limit: 2}
	q.Status = voucher.Reserved
	require.Equal(w, []voucher.OrderID{"held"}, w.redemptions(q))
	q.Status = voucher.Released
	require.Equal(w, []voucher.OrderID{"cancelled", "early"}, w.redemptions(q))
	q.Status = voucher.Confirmed
	require.Equal(w, []voucher.OrderID{"paid"}, w.redemptions(q))
	q.Status = ""
	require.Equal(w, []voucher.OrderID{"held", "cancelled", "paid", "early"}, w.redemptions(q))
}

func redemptionsOfNone(w *world) {
	_, err := w.Reader.Redemptions(w.Context(), port.RedemptionQuery{Code: "NONE", Now: Start, Limit: 10})
	require.ErrorIs(w, err, voucher.ErrVoucherNotFound)
	w.voucher("SALE", 1, 1)
	got, err := w.Reader.Redemptions(w.Context(), port.RedemptionQuery{Code: "SALE", Now: Start, Limit: 10})
	require.NoError(w, err)
	require.Empty(w, got)
}

func redemptionsAcrossEpochs(w *world) {
	w.voucher("SALE", 100, 100)
	w.hold("SALE", 1, "a")
	w.hold("SALE", 1, "b")
	flash, standard := voucher.FlashAsync, voucher.Standard
	require.NoError(w, w.amend(voucher.Amendment{Mode: &flash}))
	require.NoError(w, w.amend(voucher.Amendment{Mode: &standard}))
	w.hold("SALE", 1, "c") // sequence 1 again, in a higher epoch
	require.Equal(w, []voucher.OrderID{"c", "b", "a"}, w.redemptions(port.RedemptionQuery{Code: "SALE", Now: Start, Limit: 1}))
}

func (w *world) due(now time.Time, limit int) []port.Due {
	w.Helper()
	var got []port.Due
	for after := (port.Due{}); ; {
		page, err := w.Reader.Due(w.Context(), now, after, limit)
		require.NoError(w, err)
		require.LessOrEqual(w, len(page), limit)
		if len(page) == 0 {
			return got
		}
		got = append(got, page...)
		after = page[len(page)-1]
	}
}

func duePages(w *world) {
	var want []port.Due
	for i, code := range []voucher.Code{"B", "A", "C-1", "C"} {
		w.voucher(code, 100, 100)
		for j := range 5 {
			r := w.hold(code, 1, orderID(100*j+i)).Record()
			want = append(want, port.Due{ExpiresAt: r.ExpiresAt, Code: code, Order: r.Order})
		}
		if i == 1 {
			w.Clock.Advance(time.Second)
		}
	}
	slices.SortFunc(want, func(a, b port.Due) int {
		if c := a.ExpiresAt.Compare(b.ExpiresAt); c != 0 {
			return c
		}
		return slices.Compare([]string{string(a.Code), string(a.Order)}, []string{string(b.Code), string(b.Order)})
	})
	_, err := w.confirm("A", orderID(1))
	require.NoError(w, err)
	require.NoError(w, w.release("C", orderID(3)))
	want = slices.DeleteFunc(want, func(d port.Due) bool {
		return d.Code == "A" && d.Order == orderID(1) || d.Code == "C" && d.Order == orderID(3)
	})
	for _, limit := range []int{1, 3, 100} {
		require.Equal(w, want, w.due(Start.Add(time.Hour), limit))
	}
	require.Len(w, w.due(Start.Add(ttl), 4), 9)
}

func dueBoundary(w *world) {
	w.voucher("SALE", 100, 100)
	w.hold("SALE", 1, "a")
	require.Empty(w, w.due(Start.Add(ttl-time.Millisecond), 10))
	require.Equal(w, []port.Due{{ExpiresAt: Start.Add(ttl), Code: "SALE", Order: "a"}}, w.due(Start.Add(ttl), 10))
}

func booksOfNone(w *world) {
	require.ErrorIs(w, w.Books.Read(w.Context(), "NONE", &book{}), voucher.ErrVoucherNotFound)
}

func bookOrder(w *world) {
	const n = 1100
	w.voucher("SALE", n, 1)
	w.voucher("OTHER", n, 1)
	for from := 0; from < n; from += 100 {
		w.reserve("SALE", buyers(n)[from:from+100]...)
		w.hold("OTHER", voucher.CustomerID(from+1), orderID(10_000+from))
	}
	b := w.book("SALE")
	require.Len(w, b.history, n+1)
	require.Len(w, b.reservations, n)
	require.Len(w, b.customers, n)
	require.True(w, slices.IsSortedFunc(b.history, func(x, y voucher.Change) int { return int(x.ID - y.ID) }))
	for i, c := range b.history[1:] {
		require.Equal(w, orderID(i), c.Order)
		require.EqualValues(w, i+1, c.Version.Sequence)
	}
	require.Equal(w, []string{"voucher", "history", "reservations", "customers"}, slices.Compact(b.calls))
	require.LessOrEqual(w, b.pages, n+1)
}

func historyContent(w *world) {
	v := w.voucher("SALE", 5, 5)
	r := w.hold("SALE", 7, "a").Record()
	w.Clock.Advance(1500 * time.Microsecond)
	_, err := w.confirm("SALE", "a")
	require.NoError(w, err)
	w.hold("SALE", 8, "b")
	require.NoError(w, w.release("SALE", "b"))
	h := w.book("SALE").history
	for i := range h {
		require.Positive(w, h[i].ID)
		require.True(w, i == 0 || h[i].ID > h[i-1].ID)
		h[i].ID = 0
	}
	terms, later := v.Terms(), Start.Add(time.Millisecond)
	second := voucher.Version{Epoch: r.Version.Epoch, Sequence: 2}
	made := voucher.Facts{Status: voucher.Reserved, OrderAmount: amount, DiscountAmount: discount, ExpiresAt: Start.Add(ttl)}
	madeLater := made
	// The deadline is counted from the instant that is stored, not from the one that was read.
	madeLater.ExpiresAt = later.Add(ttl)
	require.Equal(w, []voucher.Change{
		{Code: "SALE", Kind: voucher.VoucherCreated, Actor: actor, At: Start, Version: voucher.Version{Epoch: r.Version.Epoch}, TermsAfter: &terms},
		{Code: "SALE", Kind: voucher.ReservationMade, Actor: actor, At: Start, Order: "a", Customer: 7, Version: r.Version, After: &made},
		{
			Code: "SALE", Kind: voucher.ReservationConfirmed, Actor: actor, At: later, Order: "a", Customer: 7, Version: r.Version,
			Before: &voucher.Facts{Status: voucher.Reserved}, After: &voucher.Facts{Status: voucher.Confirmed},
		},
		{Code: "SALE", Kind: voucher.ReservationMade, Actor: actor, At: later, Order: "b", Customer: 8, Version: second, After: &madeLater},
		{
			Code: "SALE", Kind: voucher.ReservationReleased, Actor: actor, At: later, Order: "b", Customer: 8, Version: second,
			Before: &voucher.Facts{Status: voucher.Reserved},
			After:  &voucher.Facts{Status: voucher.Released, ReleasedAt: later, ReleaseReason: voucher.Cancelled},
		},
	}, h)
}

func bookZeroes(w *world) {
	w.voucher("SALE", 5, 5)
	w.hold("SALE", 7, "a")
	require.NoError(w, w.release("SALE", "a"))
	b := w.book("SALE")
	require.Equal(w, map[voucher.CustomerID]int64{7: 0}, b.customers)
	require.Equal(w, voucher.Released, b.reservations["a"].Record().Status)
}
