package reservation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

func TestReserve(t *testing.T) {
	w := newWorld(t)
	first := w.reserved(t, "A", "a", 1)
	require.Equal(t, voucher.Record{
		Code: "A", Order: "a", Customer: 1, OrderAmount: 5000, DiscountAmount: 1000, Status: voucher.Reserved,
		Version: voucher.Version{Epoch: t0.UnixMilli(), Sequence: 1}, CreatedAt: t0, ExpiresAt: t0.Add(ttl),
	}, first)
	require.Equal(t, first, w.reserved(t, "A", "a", 1), "again, the same")
	w.reserved(t, "A", "b", 2)
	for _, c := range []struct {
		wish reservation.Reserve
		want error
	}{
		{wish("A", "c", 0), fault.In("customerId", "")},
		{wish("A", "", 1), fault.In("orderId", "")},
		{reservation.Reserve{Code: "A", Order: "c", Customer: 3}, fault.In("orderAmount", "")},
		{wish("UNKNOWN", "", 1), fault.In("orderId", "")}, // the shape is judged before the voucher
		{wish("UNKNOWN", "c", 3), voucher.ErrVoucherNotFound},
		{wish("A", "a", 3), voucher.ErrOrderConflict},
		{wish("B", "a", 1), voucher.ErrOrderConflict},
		{reservation.Reserve{Code: "A", Order: "c", Customer: 3, Amount: 499}, voucher.ErrNotEligible.With(voucher.ReasonBelowMinimum)},
		{wish("A", "c", 1), voucher.ErrAlreadyUsed},
		{wish("A", "c", 3), voucher.ErrOutOfStock},
	} {
		r, err := w.Reserve(t.Context(), c.wish)
		require.ErrorIs(t, err, c.want)
		require.Zero(t, r)
	}
	w.sound(t)
}

// The seed case, in one process: 10 uses, 200 customers, every order sent five times at once.
func TestConcurrentReserves(t *testing.T) {
	w := newWorld(t)
	w.create(t, "SALE", 10, 1, voucher.Standard)
	const customers, times = 200, 5
	answers := [customers][times]voucher.Reservation{}
	errs := [customers][times]error{}
	var wg sync.WaitGroup
	for c := range customers {
		for i := range times {
			wg.Go(func() {
				answers[c][i], errs[c][i] = w.Reserve(t.Context(), wish("SALE", fmt.Sprint("o", c), int64(c+1)))
			})
		}
	}
	wg.Wait()
	granted := 0
	for c := range customers {
		for i := range times {
			require.Equal(t, errs[c][0], errs[c][i])
			require.Equal(t, answers[c][0], answers[c][i], "the same answer each time")
		}
		if errs[c][0] == nil {
			granted++
		} else {
			require.ErrorIs(t, errs[c][0], voucher.ErrOutOfStock)
		}
	}
	require.Equal(t, 10, granted)
	w.sound(t)
}

// An order whose reservation on another voucher is past its deadline is ended there first.
func TestReserveEndsTheOverdueOrderElsewhere(t *testing.T) {
	w := newWorld(t)
	w.reserved(t, "B", "a", 1)
	w.clock.Set(in(15).Add(-time.Millisecond))
	_, err := w.Reserve(t.Context(), wish("A", "a", 1))
	require.ErrorIs(t, err, voucher.ErrOrderConflict)
	w.clock.Set(in(15))
	w.reserved(t, "A", "a", 1)
	there := w.row(t, "B", "a")
	require.Equal(t, voucher.Released, there.Status)
	require.Equal(t, voucher.Expired, there.ReleaseReason)
	require.Equal(t, in(15), there.ReleasedAt)
	w.sound(t)
}

func TestReserveTellsWhyTheOrderElsewhereCantBeEnded(t *testing.T) {
	w := newWorld(t)
	w.reserved(t, "B", "a", 1)
	w.clock.Set(in(15))
	w.shop.breaks = func(s port.Step) error {
		if s.Code == "B" {
			return port.ErrUnknown
		}
		return nil
	}
	_, err := w.Reserve(t.Context(), wish("A", "a", 1))
	require.ErrorIs(t, err, port.ErrUnknown)
	// It says that it did, and the order is in the way all the same: not for ever.
	w.shop.breaks = func(s port.Step) error {
		if s.Code == "B" {
			return errSwallow
		}
		return nil
	}
	w.Service = reservation.New(swallow{w.shop}, w.shop, w.directory,
		map[voucher.Mode]reservation.Decider{voucher.Standard: reservation.Standard{Ledger: w.shop}}, w.clock, ttl)
	before := len(w.shop.steps)
	_, err = w.Reserve(t.Context(), wish("A", "a", 1))
	require.ErrorIs(t, err, port.ErrOverloaded)
	require.Len(t, w.shop.steps, before+6, "three attempts")
}

var errSwallow = errors.New("swallow")

// swallow says yes where the shop said errSwallow.
type swallow struct{ *shop }

func (s swallow) Update(ctx context.Context, step port.Step) error {
	if err := s.shop.Update(ctx, step); !errors.Is(err, errSwallow) {
		return err
	}
	return nil
}

func TestAModeThatIsNotServed(t *testing.T) {
	w := newWorld(t)
	want := voucher.ErrUnavailable.With(voucher.ReasonDependency)
	_, err := w.Reserve(t.Context(), wish("FLASH", "a", 1))
	require.ErrorIs(t, err, want)
	_, err = w.Confirm(t.Context(), "FLASH", "a", voucher.Condition{}, "shop")
	require.ErrorIs(t, err, want)
	require.ErrorIs(t, w.Release(t.Context(), "FLASH", "a", voucher.Condition{}, "shop"), want)
	w.sound(t)
}

// flash decides like standard, for another mode; it counts.
type flash struct {
	mu  sync.Mutex
	got []voucher.Request
}

func (f *flash) Reserve(_ context.Context, _ voucher.Code, reqs []voucher.Request) ([]voucher.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, reqs...)
	out := make([]voucher.Outcome, len(reqs))
	for i := range out {
		out[i].Verdict = voucher.OutOfStock
	}
	return out, nil
}

// The voucher went to another mode on another process: this one finds out in the transaction, and follows.
func TestReserveFollowsAChangeOfMode(t *testing.T) {
	w := newWorld(t)
	f := &flash{}
	w.Service = reservation.New(w.shop, w.shop, w.directory, map[voucher.Mode]reservation.Decider{
		voucher.Standard: reservation.Standard{Ledger: w.shop}, voucher.FlashSync: f,
	}, w.clock, ttl)
	w.reserved(t, "A", "a", 1) // the directory knows A as standard from here on
	require.NoError(t, w.shop.Store.Update(t.Context(), port.Step{Code: "A", Decide: func(s *voucher.State, now time.Time) {
		require.NoError(t, s.Amend(voucher.Amendment{Mode: new(voucher.FlashSync)}, "admin", now))
	}}))
	_, err := w.Reserve(t.Context(), wish("A", "b", 2))
	require.ErrorIs(t, err, voucher.ErrOutOfStock)
	require.Len(t, f.got, 1)
}

// memoryless knows every voucher as standard, whatever is stored.
type memoryless struct{ forgot int }

func (m *memoryless) Lookup(context.Context, voucher.Code) (voucher.Voucher, error) {
	return voucher.Restore(voucher.Snapshot{Terms: voucher.Terms{Mode: voucher.Standard}}), nil
}

func (m *memoryless) Forget(voucher.Code) { m.forgot++ }

func TestReserveGivesUpOnAVoucherThatChangesAllTheTime(t *testing.T) {
	w := newWorld(t)
	m := &memoryless{}
	s := reservation.New(w.shop, w.shop, m, map[voucher.Mode]reservation.Decider{voucher.Standard: reservation.Standard{Ledger: w.shop}}, w.clock, ttl)
	_, err := s.Reserve(t.Context(), wish("FLASH", "a", 1))
	require.ErrorIs(t, err, port.ErrOverloaded)
	require.Equal(t, 3, m.forgot)
}
