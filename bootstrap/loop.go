package bootstrap

import (
	"context"
	"time"
)

// loop runs work at once and then again and again, interval after each run's end, until it is stopped. Start and Stop
// may each be called once, in this order or Stop alone.
type loop struct {
	interval time.Duration
	work     func(context.Context)

	cancel context.CancelFunc
	done   chan struct{}
}

func newLoop(interval time.Duration, work func(context.Context)) *loop {
	return &loop{interval: interval, work: work}
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
			l.work(ctx)
			timer.Reset(l.interval)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		}
	}()
	return nil
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
