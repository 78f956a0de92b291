package reservation_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/domain/voucher"
)

// queued has one step in hand and the wishes waiting behind it.
func queued(t *testing.T, w *world, wishes ...reservation.Reserve) (errs []error, wait func()) {
	t.Helper()
	w.shop.hold = make(chan struct{})
	var wg sync.WaitGroup
	errs = make([]error, len(wishes))
	go func() { _, _ = w.Reserve(t.Context(), wish(wishes[0].Code, "first", 99)) }()
	synctest.Wait()
	for i, wi := range wishes {
		wg.Go(func() { _, errs[i] = w.Reserve(t.Context(), wi) })
		synctest.Wait() // one after the other, so that their order is known
	}
	return errs, wg.Wait
}

// drain lets n steps go.
func (w *world) drain(n int) {
	for range n {
		w.shop.hold <- struct{}{}
		synctest.Wait()
	}
}

func TestARefusedBatchIsDecidedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.shop.refuse("bad", port.ErrRefused)
		errs, wait := queued(t, w, wish("B", "a", 1), wish("B", "bad", 2), wish("B", "c", 3))
		w.drain(5)
		wait()
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], port.ErrRefused)
		require.NoError(t, errs[2])
		require.Equal(t, []int{1, 3, 1, 1, 1}, w.shop.sizes())
		w.shop.hold = nil
		_, err := w.Reserve(t.Context(), wish("B", "bad", 2))
		require.ErrorIs(t, err, port.ErrRefused)
		require.Equal(t, []int{1, 3, 1, 1, 1, 1}, w.shop.sizes(), "alone there is nothing to try again")
		w.sound(t)
	})
}

func TestABatchThatFailedOtherwiseIsNotTriedAgain(t *testing.T) {
	for _, want := range []error{port.ErrUnavailable, port.ErrUnknown, port.ErrOverloaded, voucher.ErrVoucherNotFound} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.shop.refuse("bad", want)
			errs, wait := queued(t, w, wish("B", "a", 1), wish("B", "bad", 2))
			w.drain(2)
			wait()
			for _, err := range errs {
				require.ErrorIs(t, err, want)
			}
			require.Equal(t, []int{1, 2}, w.shop.sizes())
		})
	}
}

// P9: a store that hangs costs a bounded time, and whoever leaves doesn't cancel the batch.
func TestABatchIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.shop.hold = make(chan struct{})
		began := time.Now()
		_, err := w.Reserve(t.Context(), wish("B", "a", 1))
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.Equal(t, 1500*time.Millisecond, time.Since(began))
	})
}

func TestWhoeverLeavesDoesNotCancelTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.shop.hold = make(chan struct{})
		leave := func(order string) (context.CancelFunc, *error) {
			ctx, cancel := context.WithCancel(t.Context())
			var err error
			go func() { _, err = w.Reserve(ctx, wish("B", order, 1)) }()
			synctest.Wait()
			return cancel, &err
		}
		inHand, unknown := leave("taken")
		waiting, nothing := leave("waiting")
		inHand()
		waiting()
		synctest.Wait()
		require.ErrorIs(t, *unknown, port.ErrUnknown)
		require.ErrorIs(t, *nothing, port.ErrOverloaded)
		w.drain(1)
		w.Wait()
		require.Equal(t, voucher.Reserved, w.row(t, "B", "taken").Status, "a retry finds it")
		_, err := w.shop.Reservation(t.Context(), "B", "waiting")
		require.ErrorIs(t, err, voucher.ErrReservationNotFound, "certainly nothing happened")
	})
}

func TestQueuesShowWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, wait := queued(t, w, wish("B", "a", 1), wish("B", "b", 1))
		queues := w.Queues()
		require.Len(t, queues, 2)
		waiting, turned := queues["reserve"]()
		require.Equal(t, 2, waiting)
		require.Zero(t, turned)
		waiting, _ = queues["finish"]()
		require.Zero(t, waiting)
		w.drain(2)
		wait()
		w.Wait()
		waiting, _ = queues["reserve"]()
		require.Zero(t, waiting)
	})
}
