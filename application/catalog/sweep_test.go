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

// endless is a ledger with more overdue uses in the way each time; a step takes it so long.
type endless struct {
	*shop
	takes time.Duration
	steps int
}

func (e *endless) Update(ctx context.Context, step port.Step) error {
	if ctx.Err() != nil {
		return port.ErrOverloaded
	}
	e.steps++
	timer := time.NewTimer(e.takes)
	defer timer.Stop()
	<-timer.C
	v := voucher.Restore(voucher.Snapshot{Code: step.Code, Terms: terms(), Used: 2})
	step.Decide(voucher.NewState(voucher.Loaded{Voucher: v, MoreDue: true}), t0)
	return nil
}

// While it isn't decided a lower limit is not refused; it ends with the write's time, or with our patience.
func TestAnUndecidedAmendmentIsBounded(t *testing.T) {
	for takes, steps := range map[time.Duration]int{100 * time.Millisecond: 15, 0: 1000} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess()
			p.create(t, "A")
			e := &endless{shop: p.shop, takes: takes}
			p.Catalog = catalog.New(e, e, p.directory, p.clock, settings)
			_, err := p.Amend(t.Context(), "A", voucher.Amendment{TotalLimit: new(int64(1))}, "admin")
			require.ErrorIs(t, err, port.ErrOverloaded)
			require.InDelta(t, steps, e.steps, 1)
		})
	}
}
