package reservation_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/memory"
	"voucherd/application/catalog"
	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/application/upkeep"
	"voucherd/domain/voucher"
	"voucherd/test/clock"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const ttl = 15 * time.Minute

func in(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

// shop is a store that notes its steps, holds them up, and breaks on command.
type shop struct {
	*memory.Store
	hold chan struct{} // each step waits for one, unless it is nil

	mu     sync.Mutex
	steps  []port.Step
	breaks func(port.Step) error // nil: never
}

func (s *shop) Update(ctx context.Context, step port.Step) error {
	s.mu.Lock()
	s.steps = append(s.steps, step)
	breaks := s.breaks
	s.mu.Unlock()
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return port.ErrUnavailable
		}
	}
	if breaks != nil {
		if err := breaks(step); err != nil {
			return err
		}
	}
	return s.Store.Update(ctx, step)
}

// refuse makes the store refuse every step that touches the order.
func (s *shop) refuse(order voucher.OrderID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaks = func(step port.Step) error {
		if slices.Contains(step.Orders, order) {
			return err
		}
		return nil
	}
}

// sizes returns the number of orders in each step so far.
func (s *shop) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ns []int
	for _, step := range s.steps {
		ns = append(ns, len(step.Orders))
	}
	return ns
}

type world struct {
	*reservation.Service
	shop      *shop
	clock     *clock.Clock
	directory *catalog.Directory
}

// newWorld has a voucher A of 2 uses, one for each customer, and B and FLASH of 100, FLASH in a mode that nobody serves.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{clock: clock.At(t0)}
	w.shop = &shop{Store: memory.New(w.clock)}
	w.directory = catalog.NewDirectory(w.shop, w.clock)
	deciders := map[voucher.Mode]reservation.Decider{voucher.Standard: reservation.Standard{Ledger: w.shop}}
	w.Service = reservation.New(w.shop, w.shop, w.directory, deciders, w.clock, ttl)
	w.create(t, "A", 2, 1, voucher.Standard)
	w.create(t, "B", 100, 100, voucher.Standard)
	w.create(t, "FLASH", 100, 100, voucher.FlashSync)
	return w
}

func (w *world) create(t *testing.T, code voucher.Code, total, perUser int64, mode voucher.Mode) {
	t.Helper()
	v, err := voucher.New(code, voucher.Terms{
		DiscountAmount: 1000, MinOrderAmount: 500, TotalLimit: total, PerUserLimit: perUser,
		StartsAt: t0.Add(-time.Hour), EndsAt: t0.Add(24 * time.Hour), Mode: mode,
	}, t0)
	require.NoError(t, err)
	require.NoError(t, w.shop.Create(t.Context(), v, "admin"))
}

func wish(code voucher.Code, order string, customer int64) reservation.Reserve {
	return reservation.Reserve{Code: code, Customer: customer, Order: order, Amount: 5000, Actor: "shop"}
}

func (w *world) reserved(t *testing.T, code voucher.Code, order string, customer int64) voucher.Record {
	t.Helper()
	r, err := w.Reserve(t.Context(), wish(code, order, customer))
	require.NoError(t, err)
	return r.Record()
}

func (w *world) row(t *testing.T, code voucher.Code, order voucher.OrderID) voucher.Record {
	t.Helper()
	r, err := w.shop.Reservation(t.Context(), code, order)
	require.NoError(t, err)
	return r.Record()
}

// sound holds the books of every voucher to their history.
func (w *world) sound(t *testing.T) {
	t.Helper()
	vs, err := w.shop.List(t.Context(), "", 100)
	require.NoError(t, err)
	for _, v := range vs {
		report, err := upkeep.Audit(t.Context(), w.shop, v.Code())
		require.NoError(t, err)
		require.True(t, report.OK(), "%s: %v", v.Code(), report.Differences)
	}
}
