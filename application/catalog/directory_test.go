package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

func TestAKnownVoucherIsReadOnce(t *testing.T) {
	s, c := newShop()
	start(s, c).create(t, "A")
	p := start(s, c)
	for range 3 {
		v, err := p.directory.Lookup(t.Context(), "A")
		require.NoError(t, err)
		require.Equal(t, voucher.Code("A"), v.Code())
		p.clock.Advance(time.Hour)
	}
	require.Len(t, s.reads, 1)
	p.directory.Forget("A")
	_, err := p.directory.Lookup(t.Context(), "A")
	require.NoError(t, err)
	require.Len(t, s.reads, 2)
}

// F53: what another process created is found within a second.
func TestAnUnknownCodeIsRememberedForASecond(t *testing.T) {
	p := newProcess()
	unknown := func(reads int) {
		t.Helper()
		_, err := p.directory.Lookup(t.Context(), "A")
		require.ErrorIs(t, err, voucher.ErrVoucherNotFound)
		require.Len(t, p.shop.reads, reads)
	}
	unknown(1)
	unknown(1)
	p.clock.Advance(time.Second - 1)
	unknown(1)
	p.clock.Advance(1)
	unknown(2)
	start(p.shop, p.clock).create(t, "A")
	unknown(2)
	p.clock.Advance(time.Second)
	_, err := p.directory.Lookup(t.Context(), "A")
	require.NoError(t, err)
}

// F53: where it was created a code is known at once, however often it was probed before.
func TestWhatIsCreatedHereIsKnownAtOnce(t *testing.T) {
	p := newProcess()
	_, err := p.directory.Lookup(t.Context(), "A")
	require.ErrorIs(t, err, voucher.ErrVoucherNotFound)
	p.create(t, "A")
	_, err = p.directory.Lookup(t.Context(), "A")
	require.NoError(t, err)
	require.Len(t, p.shop.reads, 1)
	p.directory.Forget("A")
	_, err = p.directory.Lookup(t.Context(), "A")
	require.NoError(t, err, "nor does it come back as unknown")
}

func TestAFailedLookupIsNotRemembered(t *testing.T) {
	p := newProcess()
	p.create(t, "A")
	p.directory.Forget("A")
	p.shop.breaks(port.ErrUnavailable)
	_, err := p.directory.Lookup(t.Context(), "A")
	require.ErrorIs(t, err, port.ErrUnavailable)
	p.shop.breaks(nil)
	_, err = p.directory.Lookup(t.Context(), "A")
	require.NoError(t, err)
}

func TestALookupIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		p.shop.hold = make(chan struct{})
		began := time.Now()
		_, err := p.directory.Lookup(t.Context(), "A")
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.Equal(t, 1500*time.Millisecond, time.Since(began))
	})
}

// F53: a flood of random codes is taken together: few reads, a bounded queue, and the sale beside it reads nothing.
// A read does nothing, so a caller whose time ends during one is not told that something may have happened.
func TestALookupIsNeverUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		p.shop.hold = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.directory.Lookup(ctx, "A")
		require.ErrorIs(t, err, port.ErrUnavailable)
		close(p.shop.hold)
		p.directory.Wait()
	})
}

func TestAFloodOfUnknownCodesTakesFewReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		p.create(t, "SALE")
		p.shop.hold = make(chan struct{})
		var unknown, overloaded atomic.Int32
		var wg sync.WaitGroup
		lookup := func(code voucher.Code) {
			wg.Go(func() {
				switch _, err := p.directory.Lookup(t.Context(), code); {
				case errors.Is(err, voucher.ErrVoucherNotFound):
					unknown.Add(1)
				case errors.Is(err, port.ErrOverloaded):
					overloaded.Add(1)
				}
			})
		}
		lookup("FIRST")
		synctest.Wait()
		for i := range 5000 {
			lookup(voucher.Code(fmt.Sprint("X", i)))
		}
		synctest.Wait()
		require.Equal(t, int32(5000-4096), overloaded.Load(), "past the bound a quick answer")
		_, err := p.directory.Lookup(t.Context(), "SALE")
		require.NoError(t, err)
		for range 1 + 4096/512 {
			p.shop.hold <- struct{}{}
		}
		wg.Wait()
		require.Equal(t, int32(1+4096), unknown.Load())
		require.Len(t, p.shop.reads, 1+4096/512)
		p.directory.Wait()
	})
}

// One look-up of many codes tells the known from the unknown.
func TestALookupOfManyGivesEachItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newShop()
		start(s, c).create(t, "A")
		p := start(s, c)
		s.hold = make(chan struct{})
		var wg sync.WaitGroup
		for _, code := range []voucher.Code{"FIRST", "A", "B", "A", "B"} {
			wg.Go(func() {
				v, err := p.directory.Lookup(t.Context(), code)
				if code == "A" {
					require.NoError(t, err)
					require.Equal(t, code, v.Code())
				} else {
					require.ErrorIs(t, err, voucher.ErrVoucherNotFound)
				}
			})
			synctest.Wait()
		}
		s.hold <- struct{}{}
		s.hold <- struct{}{}
		wg.Wait()
		require.Len(t, s.reads, 2)
	})
}
