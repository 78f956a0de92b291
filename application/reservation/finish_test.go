package reservation_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

func TestConfirmAndRelease(t *testing.T) {
	w := newWorld(t)
	first := w.reserved(t, "A", "a", 1)
	w.reserved(t, "A", "b", 2)
	w.clock.Set(in(1))
	for range 2 {
		r, err := w.Confirm(t.Context(), "A", "a", voucher.Condition{}, "shop")
		require.NoError(t, err)
		want := first
		want.Status, want.ConfirmedAt = voucher.Confirmed, in(1)
		require.Equal(t, want, r.Record())
		require.NoError(t, w.Release(t.Context(), "A", "b", voucher.Condition{}, "shop"))
	}
	require.ErrorIs(t, w.Release(t.Context(), "A", "a", voucher.Condition{}, "shop"), voucher.ErrAlreadyConfirmed)
	_, err := w.Confirm(t.Context(), "A", "b", voucher.Condition{}, "shop")
	require.ErrorIs(t, err, voucher.ErrReservationReleased.With(voucher.Cancelled))
	_, err = w.Confirm(t.Context(), "A", "a", voucher.Condition{Given: true}, "shop")
	require.ErrorIs(t, err, voucher.ErrPrecondition)
	for code, want := range map[voucher.Code]error{
		"UNKNOWN": voucher.ErrVoucherNotFound, "A": voucher.ErrReservationNotFound, "B": voucher.ErrReservationNotFound,
	} {
		order := voucher.OrderID("x")
		if code == "B" {
			order = "a" // F21: it lives on A
		}
		_, err := w.Confirm(t.Context(), code, order, voucher.Condition{}, "shop")
		require.ErrorIs(t, err, want)
		require.ErrorIs(t, w.Release(t.Context(), code, order, voucher.Condition{}, "shop"), want)
	}
	w.reserved(t, "A", "c", 3) // b's use came back
	w.sound(t)
}

// F19: a payment that lands after the hold ran out releases it, and the use is free for another.
func TestConfirmPastTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.reserved(t, "A", "a", 1)
	w.clock.Set(in(15))
	_, err := w.Confirm(t.Context(), "A", "a", voucher.Condition{}, "shop")
	require.ErrorIs(t, err, voucher.ErrReservationReleased.With(voucher.Expired))
	require.Equal(t, voucher.Expired, w.row(t, "A", "a").ReleaseReason)
	w.reserved(t, "A", "b", 1)
	w.sound(t)
}

// One confirmation and one release of each order at once: one of them wins, and both know.
func TestAReservationEndsOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		order := voucher.OrderID(rune('a' + i%26))
		w.reserved(t, "B", string(order), 1)
		var confirmed, released error
		var wg sync.WaitGroup
		wg.Go(func() { _, confirmed = w.Confirm(t.Context(), "B", order, voucher.Condition{}, "shop") })
		wg.Go(func() { released = w.Release(t.Context(), "B", order, voucher.Condition{}, "shop") })
		wg.Wait()
		if w.row(t, "B", order).Status == voucher.Confirmed {
			require.NoError(t, confirmed)
			require.ErrorIs(t, released, voucher.ErrAlreadyConfirmed)
		} else {
			require.NoError(t, released)
			require.ErrorIs(t, confirmed, voucher.ErrReservationReleased.With(voucher.Cancelled))
		}
	}
	w.sound(t)
}

// ending has one step in hand and confirms of the orders waiting behind it.
func ending(t *testing.T, w *world, orders ...voucher.OrderID) (errs []error, wait func()) {
	t.Helper()
	for _, o := range orders {
		w.reserved(t, "B", string(o), 1)
	}
	w.shop.hold, w.shop.steps = make(chan struct{}), nil
	go func() { _ = w.Release(t.Context(), "B", "first", voucher.Condition{}, "shop") }()
	synctest.Wait()
	var wg sync.WaitGroup
	errs = make([]error, len(orders))
	for i, o := range orders {
		wg.Go(func() { _, errs[i] = w.Confirm(t.Context(), "B", o, voucher.Condition{}, "shop") })
		synctest.Wait()
	}
	return errs, wg.Wait
}

func TestARefusedBatchOfEndsIsDecidedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		errs, wait := ending(t, w, "a", "bad", "c")
		w.shop.refuse("bad", port.ErrRefused)
		w.drain(5)
		wait()
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], port.ErrRefused)
		require.NoError(t, errs[2])
		require.Equal(t, []int{1, 3, 1, 1, 1}, w.shop.sizes())
		require.Equal(t, voucher.Confirmed, w.row(t, "B", "c").Status)
		require.Equal(t, voucher.Reserved, w.row(t, "B", "bad").Status)
		w.sound(t)
	})
}

func TestABatchOfEndsThatFailedOtherwiseIsNotTriedAgain(t *testing.T) {
	for _, want := range []error{port.ErrUnavailable, port.ErrUnknown, port.ErrOverloaded} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			errs, wait := ending(t, w, "a", "b")
			w.shop.refuse("b", want)
			w.drain(2)
			wait()
			for _, err := range errs {
				require.ErrorIs(t, err, want)
			}
			require.Equal(t, []int{1, 2}, w.shop.sizes())
		})
	}
}

// A reader sees what is true at this instant, whether or not somebody has written it down.
func TestFindAndListAsOfNow(t *testing.T) {
	w := newWorld(t)
	w.reserved(t, "B", "a", 1)
	w.clock.Set(in(1))
	w.reserved(t, "B", "b", 1)
	w.reserved(t, "B", "c", 1)
	_, err := w.Confirm(t.Context(), "B", "b", voucher.Condition{}, "shop")
	require.NoError(t, err)
	w.clock.Set(in(15))

	r, err := w.Find(t.Context(), "B", "a")
	require.NoError(t, err)
	require.Equal(t, voucher.Released, r.Record().Status)
	require.Equal(t, voucher.Expired, r.Record().ReleaseReason)
	require.Equal(t, in(15), r.Record().ReleasedAt)
	require.Equal(t, voucher.Reserved, w.row(t, "B", "a").Status)

	list := func(status voucher.Status, before *voucher.Version, limit int) (orders []voucher.OrderID, more bool) {
		rs, more, err := w.List(t.Context(), "B", status, before, limit)
		require.NoError(t, err)
		for _, r := range rs {
			orders = append(orders, r.Record().Order)
			if status != "" {
				require.Equal(t, status, r.Record().Status)
			}
		}
		return orders, more
	}
	for _, c := range []struct {
		status voucher.Status
		before *voucher.Version
		limit  int
		want   []voucher.OrderID
		more   bool
	}{
		{"", nil, 2, []voucher.OrderID{"c", "b"}, true},
		{"", &voucher.Version{Epoch: t0.UnixMilli(), Sequence: 2}, 2, []voucher.OrderID{"a"}, false},
		{"", nil, 3, []voucher.OrderID{"c", "b", "a"}, false},
		{voucher.Reserved, nil, 9, []voucher.OrderID{"c"}, false},
		{voucher.Confirmed, nil, 1, []voucher.OrderID{"b"}, false},
		{voucher.Released, nil, 1, []voucher.OrderID{"a"}, false},
		{voucher.Released, &voucher.Version{}, 1, nil, false},
	} {
		orders, more := list(c.status, c.before, c.limit)
		require.Equal(t, c.want, orders)
		require.Equal(t, c.more, more)
	}

	_, err = w.Find(t.Context(), "UNKNOWN", "a")
	require.ErrorIs(t, err, voucher.ErrVoucherNotFound)
	_, err = w.Find(t.Context(), "A", "a")
	require.ErrorIs(t, err, voucher.ErrReservationNotFound)
	_, _, err = w.List(t.Context(), "UNKNOWN", "", nil, 1)
	require.ErrorIs(t, err, voucher.ErrVoucherNotFound)
}
