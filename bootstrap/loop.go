package bootstrap

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// loop runs work at once and then again and again, interval after each run's end, until it is stopped. Start and Stop
// may each be called once, in this order or Stop alone.
type loop struct {
	interval time.Duration
	log      *zap.Logger
	work     func(context.Context)

	cancel context.CancelFunc
	done   chan struct{}
}

func newLoop(interval time.Duration, log *zap.Logger, work func(context.Context)) *loop {
	return &loop{interval: interval, log: log, work: work}
}

// Start begins the first run and returns.
func (l *loop) Start(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	go func() {
		defer close(l.done)
		timer := time.NewTimer(l.interval)
		defer timer.Stop()
		for ctx.Err() == nil {
			l.run(ctx)
			timer.Reset(l.interval)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		}
	}()
	return nil
}

// run works once. A defect that a job's data run into must not end what the process does for others.
func (l *loop) run(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("a job ran into a defect; it is tried again after its interval", zap.Any("panic", p), zap.StackSkip("stack", 1))
		}
	}()
	l.work(ctx)
}

// Stop tells a run in hand to end and waits for it, as long as ctx allows.
func (l *loop) Stop(ctx context.Context) error {
	if l.cancel == nil {
		return nil
	}
	l.cancel()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
