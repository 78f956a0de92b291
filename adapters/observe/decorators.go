package observe

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/application/upkeep"
	"voucherd/domain/voucher"
)

// ledger counts and logs what a ledger could not do.
type ledger struct {
	next port.Ledger
	m    *Metrics
	log  *zap.Logger
}

// Ledger returns next with its unknown outcomes and its refusals made visible.
func Ledger(next port.Ledger, m *Metrics, log *zap.Logger) port.Ledger { return ledger{next, m, log} }

func (l ledger) Update(ctx context.Context, step port.Step) error {
	return l.see("update", step.Code, l.next.Update(ctx, step))
}

func (l ledger) Create(ctx context.Context, v voucher.Voucher, actor string) error {
	return l.see("create", v.Code(), l.next.Create(ctx, v, actor))
}

func (l ledger) see(stage string, code voucher.Code, err error) error {
	switch {
	case errors.Is(err, port.ErrRefused):
		l.m.refused.Inc()
		l.log.Error("the store refused a decision: its rows differ from each other, or this is a defect",
			zap.String("stage", stage), zap.String("code", string(code)), zap.Error(err))
	case errors.Is(err, port.ErrUnknown):
		l.m.outcomeUnknown.WithLabelValues(stage).Inc()
		l.log.Warn("a write's outcome is unknown", zap.String("stage", stage), zap.String("code", string(code)), zap.Error(err))
	case errors.Is(err, port.ErrUnavailable):
		l.log.Warn("the store is unavailable", zap.String("stage", stage), zap.Error(err))
	}
	return err
}

// decider counts and times the decisions of one mode.
type decider struct {
	mode  string
	next  reservation.Decider
	m     *Metrics
	clock port.Clock
}

// Decider returns next, which decides in the given mode, with its outcomes counted and timed.
func Decider(mode voucher.Mode, next reservation.Decider, m *Metrics, clock port.Clock) reservation.Decider {
	return decider{string(mode), next, m, clock}
}

func (d decider) Reserve(ctx context.Context, code voucher.Code, reqs []voucher.Request) ([]voucher.Outcome, error) {
	began := d.clock.Now()
	out, err := d.next.Reserve(ctx, code, reqs)
	took := d.clock.Now().Sub(began).Seconds()
	duration := d.m.reserveDuration.WithLabelValues(d.mode)
	for range reqs { // each of them took that long, and a quantile is one of requests
		duration.Observe(took)
	}
	d.m.batchSize.WithLabelValues("reserve").Observe(float64(len(reqs)))
	if err != nil {
		d.m.reserves.WithLabelValues(d.mode, failure(err)).Add(float64(len(reqs)))
		return out, err
	}
	for _, o := range out {
		d.m.reserves.WithLabelValues(d.mode, result(o.Verdict)).Inc()
	}
	return out, nil
}

// result is the metric's word for a verdict.
func result(v voucher.Verdict) string {
	switch v {
	case voucher.Granted:
		return "granted"
	case voucher.Repeated:
		return "repeated"
	case voucher.Conflict:
		return "order_conflict"
	case voucher.NotEligible:
		return "not_eligible"
	case voucher.LimitReached:
		return "already_used"
	case voucher.OutOfStock:
		return "out_of_stock"
	case voucher.Blocked:
		return "blocked"
	case voucher.Undecided:
		return "undecided"
	}
	return "none"
}

// failure is the metric's word for an error that struck a whole batch.
func failure(err error) string {
	for _, f := range []struct {
		err  error
		word string
	}{{port.ErrStale, "stale"}, {port.ErrOverloaded, "overloaded"}, {port.ErrUnknown, "unknown"}, {port.ErrUnavailable, "unavailable"}} {
		if errors.Is(err, f.err) {
			return f.word
		}
	}
	return "failed"
}

// Expiry returns run with what it did counted and logged.
func Expiry(run func(context.Context) (upkeep.Expiry, error), m *Metrics, log *zap.Logger) func(context.Context) {
	return func(ctx context.Context) {
		done, err := run(ctx)
		m.expired.Add(float64(done.Expired))
		if err == nil || done.Lag > 0 { // a run that could not even look knows nothing about the lag
			m.expiryLag.Set(done.Lag.Seconds())
		}
		switch {
		case err != nil && ctx.Err() == nil:
			m.expiryFailures.Inc()
			log.Warn("the expiry job left something undone; it goes on at the next run", zap.Int("expired", done.Expired), zap.Error(err))
		case done.Expired > 0:
			log.Info("expired reservations were released", zap.Int("expired", done.Expired), zap.Duration("lag", done.Lag.Round(time.Millisecond)))
		}
	}
}
