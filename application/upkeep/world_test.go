package upkeep_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/memory"
	"voucherd/application/port"
	"voucherd/application/upkeep"
	"voucherd/domain/voucher"
	"voucherd/test/clock"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func in(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

// shop is a store that notes how much is done at once, and breaks on command.
type shop struct {
	*memory.Store
	mu     sync.Mutex
	steps  []int // orders in each step
	pages  []int // due ones on each page
	breaks func(voucher.Code) error
	reads  error
	hangs  bool // steps and reads last until their time is over
}

func (s *shop) Update(ctx context.Context, step port.Step) error {
	s.mu.Lock()
	s.steps = append(s.steps, len(step.Orders))
	s.mu.Unlock()
	if s.hangs {
		<-ctx.Done()
		return port.ErrUnavailable
	}
	if s.breaks != nil {
		if err := s.breaks(step.Code); err != nil {
			return err
		}
	}
	return s.Store.Update(ctx, step)
}

func (s *shop) Due(ctx context.Context, now time.Time, after port.Due, limit int) ([]port.Due, error) {
	if s.reads != nil {
		return nil, s.reads
	}
	due, err := s.Store.Due(ctx, now, after, limit)
	s.mu.Lock()
	s.pages = append(s.pages, len(due))
	s.mu.Unlock()
	return due, err
}

type world struct {
	*upkeep.Expirer
	shop  *shop
	clock *clock.Clock
}

func newWorld(t *testing.T, codes ...voucher.Code) world {
	t.Helper()
	c := clock.At(t0)
	s := &shop{Store: memory.New(c)}
	for _, code := range codes {
		v, err := voucher.New(code, voucher.Terms{
			DiscountAmount: 1, TotalLimit: 10_000, PerUserLimit: 10_000, StartsAt: t0, EndsAt: in(1000), Mode: voucher.Standard,
		}, t0)
		require.NoError(t, err)
		require.NoError(t, s.Create(t.Context(), v, "admin"))
	}
	return world{upkeep.NewExpirer(s, s, c), s, c}
}

// reserve holds n uses for as long as the ttl says, and returns their orders.
func (w world) reserve(t *testing.T, code voucher.Code, n int, ttl time.Duration) []voucher.OrderID {
	t.Helper()
	var ids []voucher.OrderID
	reqs := make([]voucher.Request, n)
	for i := range reqs {
		ids = append(ids, voucher.OrderID(fmt.Sprintf("%s-%s-%d", code, ttl, i)))
		reqs[i] = voucher.Request{Order: ids[i], Customer: voucher.CustomerID(i%7 + 1), Amount: 10, TTL: ttl}
	}
	require.NoError(t, w.shop.Store.Update(t.Context(), port.Step{Code: code, Orders: ids, Decide: func(s *voucher.State, now time.Time) {
		for _, o := range s.Reserve(reqs, now) {
			require.Equal(t, voucher.Granted, o.Verdict)
		}
	}}))
	return ids
}

func (w world) used(t *testing.T, code voucher.Code) int64 {
	t.Helper()
	vs, err := w.shop.Vouchers(t.Context(), []voucher.Code{code})
	require.NoError(t, err)
	return vs[0].Used()
}

func (w world) sound(t *testing.T, codes ...voucher.Code) {
	t.Helper()
	for _, code := range codes {
		report, err := upkeep.Audit(t.Context(), w.shop, code)
		require.NoError(t, err)
		require.True(t, report.OK(), report.Differences)
	}
}
