package catalog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/catalog"
	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// slow holds up each write until it is let go, or its time is over.
type slow struct {
	*shop
	gate chan struct{}
}

func (s slow) wait(ctx context.Context) error {
	select {
	case <-s.gate:
		return nil
	case <-ctx.Done():
		return port.ErrUnavailable
	}
}

func (s slow) Update(ctx context.Context, step port.Step) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.shop.Update(ctx, step)
}

func (s slow) Create(ctx context.Context, v voucher.Voucher, actor string) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.shop.Create(ctx, v, actor)
}

// newSlow has a voucher A behind a slow store.
func newSlow(t *testing.T) (process, slow) {
	t.Helper()
	p := newProcess()
	p.create(t, "A")
	s := slow{p.shop, make(chan struct{})}
	p.Catalog = catalog.New(s, s, p.directory, p.clock, settings)
	return p, s
}

func TestAWriteIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newSlow(t)
		for range 2 {
			began := time.Now()
			_, err := p.Amend(t.Context(), "A", voucher.Amendment{Paused: new(true)}, "admin")
			require.ErrorIs(t, err, port.ErrUnavailable)
			require.Equal(t, 1500*time.Millisecond, time.Since(began))
			_, err = p.Create(t.Context(), "B", terms(), "admin")
			require.ErrorIs(t, err, port.ErrUnavailable)
		}
	})
}

// Whoever leaves is told what is certain: nothing, while the write waited; that it may have happened, once it is under
// way, and then it is finished.
func TestWhoeverLeavesAWriteIsToldWhatIsCertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newSlow(t)
		pause := func(discount int64) (context.CancelFunc, *error) {
			ctx, cancel := context.WithCancel(t.Context())
			var err error
			go func() {
				_, err = p.Amend(ctx, "A", voucher.Amendment{Paused: new(true), DiscountAmount: &discount}, "admin")
			}()
			synctest.Wait()
			return cancel, &err
		}
		inHand, unknown := pause(7)
		waiting, nothing := pause(8)
		waits, _ := p.Queues()["catalog"]()
		require.Equal(t, 1, waits)
		inHand()
		waiting()
		synctest.Wait()
		require.ErrorIs(t, *unknown, port.ErrUnknown)
		require.ErrorIs(t, *nothing, port.ErrOverloaded)
		s.gate <- struct{}{}
		p.Wait()
		v, err := p.Find(t.Context(), "A")
		require.NoError(t, err)
		require.True(t, v.Terms().Paused)
		require.Equal(t, int64(7), v.Terms().DiscountAmount)
		known, err := p.directory.Lookup(t.Context(), "A")
		require.NoError(t, err)
		require.True(t, known.Terms().Paused, "this process knows of it as well")
	})
}

// A create that its caller no longer waits for is known here once it is done.
func TestACreateThatNobodyWaitsForIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newSlow(t)
		ctx, cancel := context.WithCancel(t.Context())
		var failed error
		go func() { _, failed = p.Create(ctx, "B", terms(), "admin") }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.ErrorIs(t, failed, port.ErrUnknown)
		_, err := p.directory.Lookup(t.Context(), "B")
		require.ErrorIs(t, err, voucher.ErrVoucherNotFound)
		s.gate <- struct{}{}
		p.Wait()
		_, err = p.directory.Lookup(t.Context(), "B")
		require.NoError(t, err)
	})
}

// One voucher's slow writes hold up no other's.
func TestWritesOfOtherVouchersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newSlow(t)
		for range 3 {
			go func() { _, _ = p.Amend(t.Context(), "A", voucher.Amendment{Paused: new(true)}, "admin") }()
		}
		synctest.Wait()
		done := false
		go func() {
			_, err := p.Create(t.Context(), "B", terms(), "admin")
			done = err == nil
		}()
		synctest.Wait()
		// Two hold the gate now: one write of A and the create. Both pass, then A's others one by one.
		s.gate <- struct{}{}
		s.gate <- struct{}{}
		synctest.Wait()
		require.True(t, done)
		s.gate <- struct{}{}
		s.gate <- struct{}{}
		p.Wait()
	})
}
