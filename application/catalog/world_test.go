package catalog_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/memory"
	"voucherd/application/catalog"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/clock"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shop is a store that counts what is read, holds reads up, and breaks on command.
type shop struct {
	*memory.Store
	mu     sync.Mutex
	reads  [][]voucher.Code
	hold   chan struct{} // each look-up waits for one, unless it is nil
	broken error
}

func (s *shop) fail() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

func (s *shop) breaks(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *shop) Vouchers(ctx context.Context, codes []voucher.Code) ([]voucher.Voucher, error) {
	s.mu.Lock()
	s.reads = append(s.reads, codes)
	s.mu.Unlock()
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, port.ErrUnavailable
		}
	}
	if err := s.fail(); err != nil {
		return nil, err
	}
	return s.Store.Vouchers(ctx, codes)
}

func (s *shop) List(ctx context.Context, after voucher.Code, limit int) ([]voucher.Voucher, error) {
	if err := s.fail(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, after, limit)
}

func (s *shop) Update(ctx context.Context, step port.Step) error {
	if err := s.fail(); err != nil {
		return err
	}
	return s.Store.Update(ctx, step)
}

func (s *shop) Create(ctx context.Context, v voucher.Voucher, actor string) error {
	if err := s.fail(); err != nil {
		return err
	}
	return s.Store.Create(ctx, v, actor)
}

// process is the use cases as one process has them.
type process struct {
	*catalog.Catalog
	directory *catalog.Directory
	clock     *clock.Clock
	shop      *shop
}

var settings = catalog.Settings{
	DefaultMode: voucher.Standard,
	Configured:  map[voucher.Code]voucher.Mode{"CONFIGURED": voucher.Standard},
	Served:      []voucher.Mode{voucher.Standard},
}

func newShop() (*shop, *clock.Clock) {
	c := clock.At(t0)
	return &shop{Store: memory.New(c)}, c
}

func newProcess() process {
	s, c := newShop()
	return start(s, c)
}

func start(s *shop, c *clock.Clock) process {
	d := catalog.NewDirectory(s, c)
	return process{Catalog: catalog.New(s, s, d, c, settings), directory: d, clock: c, shop: s}
}

func terms() voucher.Terms {
	return voucher.Terms{
		DiscountAmount: 1000, TotalLimit: 2, PerUserLimit: 1, StartsAt: t0.Add(-time.Hour), EndsAt: t0.Add(time.Hour),
		Mode: voucher.Standard,
	}
}

func (p process) create(t *testing.T, code voucher.Code) voucher.Voucher {
	t.Helper()
	v, err := p.Create(t.Context(), code, terms(), "admin")
	require.NoError(t, err)
	return v
}
