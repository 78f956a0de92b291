package upkeep_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/application/upkeep"
	"voucherd/domain/voucher"
)

func TestRunEndsWhatIsDue(t *testing.T) {
	w := newWorld(t, "A", "B")
	w.reserve(t, "A", 2, 5*time.Minute)
	w.reserve(t, "A", 3, 20*time.Minute)
	w.reserve(t, "B", 4, 10*time.Minute)

	w.clock.Set(in(5).Add(-1))
	done, err := w.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, upkeep.Expiry{}, done)
	w.clock.Set(in(5))
	done, err = w.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, upkeep.Expiry{Expired: 2}, done)
	w.clock.Set(in(12))
	done, err = w.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, upkeep.Expiry{Expired: 4, Lag: 2 * time.Minute}, done)
	done, err = w.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, upkeep.Expiry{}, done, "nothing is behind any more")
	require.Equal(t, int64(3), w.used(t, "A"))
	require.Zero(t, w.used(t, "B"))
	w.sound(t, "A", "B")

	report, err := upkeep.Audit(t.Context(), w.shop, "B")
	require.NoError(t, err)
	require.Equal(t, map[string]int{voucher.Expired: 4}, report.Released)
}

func TestRunWorksInBoundedBatchesUntilNoneIsDue(t *testing.T) {
	w := newWorld(t, "A", "B")
	w.reserve(t, "A", 1200, 5*time.Minute)
	w.reserve(t, "B", 7, 5*time.Minute)
	w.clock.Set(in(6))
	done, err := w.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, upkeep.Expiry{Expired: 1207, Lag: time.Minute}, done)
	require.Equal(t, []int{500, 500, 207, 0}, w.shop.pages)
	require.LessOrEqual(t, slices.Max(w.shop.steps), 500)
	w.sound(t, "A", "B")
}

func TestAVoucherThatIsRefusedIsPassedOver(t *testing.T) {
	w := newWorld(t, "A", "B", "C")
	for _, code := range []voucher.Code{"A", "B", "C"} {
		w.reserve(t, code, 400, 5*time.Minute) // so that B's are on several pages
	}
	w.clock.Set(in(6))
	w.shop.breaks = func(code voucher.Code) error {
		if code == "B" {
			return fmt.Errorf("%w: drift", port.ErrRefused)
		}
		return nil
	}
	done, err := w.Run(t.Context())
	require.ErrorIs(t, err, port.ErrRefused)
	require.ErrorContains(t, err, "1 vouchers passed over, B among them")
	require.Equal(t, 800, done.Expired)
	require.Zero(t, w.used(t, "A"))
	require.Equal(t, int64(400), w.used(t, "B"))
	require.Zero(t, w.used(t, "C"))
}

func TestAStoreThatIsAwayEndsTheRun(t *testing.T) {
	for _, broken := range []error{port.ErrUnavailable, port.ErrUnknown, port.ErrOverloaded} {
		codes := []voucher.Code{"A", "B", "C", "D", "E", "F", "G", "H"}
		w := newWorld(t, codes...)
		for _, code := range codes {
			w.reserve(t, code, 150, 5*time.Minute)
		}
		w.clock.Set(in(6))
		w.shop.breaks = func(voucher.Code) error { return broken }
		done, err := w.Run(t.Context())
		require.ErrorIs(t, err, broken)
		require.Equal(t, upkeep.Expiry{Lag: time.Minute}, done)
		require.Len(t, w.shop.steps, 5, "no hammering")

		w.shop.breaks, w.shop.reads = nil, broken
		done, err = w.Run(t.Context())
		require.ErrorIs(t, err, broken)
		require.Zero(t, done)

		w.shop.reads = nil
		done, err = w.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1200, done.Expired)
	}
}

// Somebody holds the rows of some vouchers: that is no reason to let the others wait.
func TestVouchersThatAreHeldArePassedOver(t *testing.T) {
	w := newWorld(t, "A", "B", "C", "D", "E", "F", "G", "H")
	for _, code := range []voucher.Code{"A", "B", "C", "D", "E", "F", "G", "H"} {
		w.reserve(t, code, 100, 5*time.Minute)
	}
	w.clock.Set(in(6))
	w.shop.breaks = func(code voucher.Code) error {
		if code <= "D" {
			return port.ErrUnavailable
		}
		return nil
	}
	done, err := w.Run(t.Context())
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.Equal(t, 400, done.Expired)
	w.shop.breaks = nil
	done, err = w.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 400, done.Expired)
}

func TestEachStepIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "A")
		w.reserve(t, "A", 1, 5*time.Minute)
		w.clock.Set(in(6))
		w.shop.hangs = true
		began := time.Now()
		_, err := w.Run(t.Context())
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.Equal(t, 1500*time.Millisecond, time.Since(began))
	})
}

// A stop between two transactions; what was done stays done.
func TestRunStopsWithItsContext(t *testing.T) {
	w := newWorld(t, "A")
	w.reserve(t, "A", 1200, 5*time.Minute)
	w.clock.Set(in(6))
	ctx, cancel := context.WithCancel(t.Context())
	w.shop.breaks = func(voucher.Code) error { cancel(); return nil }
	done, err := w.Run(ctx)
	require.Error(t, err)
	require.Equal(t, 500, done.Expired, "the transaction under way is finished")
	require.Equal(t, int64(700), w.used(t, "A"))
	w.sound(t, "A")

	done, err = w.Run(ctx)
	require.Error(t, err)
	require.Zero(t, done)
}

// Between the look and the transaction an order may be confirmed, released or reserved anew: it stays what it is.
func TestRunEndsOnlyWhatIsStillDue(t *testing.T) {
	w := newWorld(t, "A")
	ids := w.reserve(t, "A", 4, 5*time.Minute)
	w.clock.Set(in(6))
	once := sync.OnceFunc(func() {
		w.clock.Set(in(4)) // what follows came in time, and was only slow
		require.NoError(t, w.shop.Store.Update(t.Context(), port.Step{Code: "A", Orders: ids, Decide: func(s *voucher.State, now time.Time) {
			_, err := s.Confirm(ids[0], voucher.Condition{}, "shop", now)
			require.NoError(t, err)
			require.NoError(t, s.Release(ids[1], voucher.Condition{}, "shop", now))
			require.NoError(t, s.Release(ids[2], voucher.Condition{}, "shop", now))
			s.Reserve([]voucher.Request{{Order: ids[2], Customer: 1, Amount: 10, TTL: time.Hour}}, now)
		}}))
		w.clock.Set(in(6))
	})
	w.shop.breaks = func(voucher.Code) error { once(); return nil }
	done, err := w.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, done.Expired)
	require.Equal(t, int64(2), w.used(t, "A"))
	w.sound(t, "A")
}

// No leader: several at once end each reservation once, and count it once.
func TestSeveralExpirersAtOnceEndEachOnce(t *testing.T) {
	w := newWorld(t, "A", "B", "C")
	for _, code := range []voucher.Code{"A", "B", "C"} {
		w.reserve(t, code, 700, 5*time.Minute)
	}
	w.clock.Set(in(6))
	counts := make([]int, 6)
	var wg sync.WaitGroup
	for i := range counts {
		wg.Go(func() {
			done, err := upkeep.NewExpirer(w.shop, w.shop, w.clock).Run(t.Context())
			if err == nil {
				counts[i] = done.Expired
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	require.Equal(t, 2100, sum)
	w.sound(t, "A", "B", "C")
	report, err := upkeep.Audit(t.Context(), w.shop, "A")
	require.NoError(t, err)
	require.Equal(t, map[string]int{voucher.Expired: 700}, report.Released)
	require.Equal(t, 1+700+700, report.History)
}

func TestAuditOfAnUnknownVoucher(t *testing.T) {
	w := newWorld(t)
	_, err := upkeep.Audit(t.Context(), w.shop, "A")
	require.ErrorIs(t, err, voucher.ErrVoucherNotFound)
}
