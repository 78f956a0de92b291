package observe

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	// maxSkew is how far the clocks may differ before somebody is told.
	maxSkew = 500 * time.Millisecond
	// watchTimeout bounds one look at a dependency.
	watchTimeout = 500 * time.Millisecond
)

// Watch is a look-out for the database: whether it answers, and how far its clock is ahead of this process's. Run it
// again and again; Up may be asked at any time, and costs the database nothing. Safe for concurrent use.
type Watch struct {
	measure func(context.Context) (time.Duration, error)
	m       *Metrics
	log     *zap.Logger
	down    atomic.Bool
}

// NewWatch returns a look-out that measures the database's clock with measure. Until its first look it is up.
func NewWatch(measure func(context.Context) (time.Duration, error), m *Metrics, log *zap.Logger) *Watch {
	return &Watch{measure: measure, m: m, log: log}
}

// Up reports whether the database answered at the last look.
func (w *Watch) Up() bool { return !w.down.Load() }

// Run takes one look.
func (w *Watch) Run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	skew, err := w.measure(ctx)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return // the process stops
	}
	was := w.down.Swap(err != nil)
	up := w.m.dependencyUp.WithLabelValues("postgres")
	if err != nil {
		up.Set(0)
		if !was {
			w.log.Warn("the database does not answer", zap.Error(err))
		}
		return
	}
	up.Set(1)
	if was {
		w.log.Info("the database answers again")
	}
	w.m.clockSkew.Set(skew.Seconds())
	if skew.Abs() > maxSkew {
		w.log.Warn("this process's clock differs from the database's: windows and deadlines are judged by it", zap.Duration("database_ahead", skew))
	}
}
