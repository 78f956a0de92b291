package reservation

import (
	"context"
	"errors"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Decider decides the reserves of the vouchers in one mode. There is one for each mode that a process serves.
type Decider interface {
	// Reserve decides a batch in order and returns one outcome for each request. Once it returns, what was granted
	// is as durable as the mode promises. Errors concern the whole batch: port.ErrStale when the voucher is in
	// another mode, voucher.ErrVoucherNotFound, and those of port.Ledger.
	Reserve(ctx context.Context, code voucher.Code, reqs []voucher.Request) ([]voucher.Outcome, error)
}

// Standard has the ledger decide and store in one transaction.
type Standard struct{ Ledger port.Ledger }

// Reserve implements Decider.
func (d Standard) Reserve(ctx context.Context, code voucher.Code, reqs []voucher.Request) ([]voucher.Outcome, error) {
	step := port.Step{
		Code:      code,
		Orders:    make([]voucher.OrderID, len(reqs)),
		Customers: make([]voucher.CustomerID, len(reqs)),
		Overdue:   func(l voucher.Loaded) bool { return l.ShortOf(reqs) },
	}
	for i, q := range reqs {
		step.Orders[i], step.Customers[i] = q.Order, q.Customer
	}
	var out []voucher.Outcome
	step.Decide = func(s *voucher.State, now time.Time) {
		out = nil
		// A switch to another mode that was answered before this transaction binds it.
		if s.Voucher().EffectiveMode() == voucher.Standard {
			out = s.Reserve(reqs, now)
		}
	}
	if err := d.Ledger.Update(ctx, step); err != nil {
		return nil, err
	}
	if out == nil {
		return nil, port.ErrStale
	}
	return out, nil
}

// alone decides a batch, and where a constraint refused it, each request by itself: one bad request fails alone.
func alone(ctx context.Context, d Decider, code voucher.Code, reqs []voucher.Request) ([]voucher.Outcome, []error) {
	errs := make([]error, len(reqs))
	out, err := d.Reserve(ctx, code, reqs)
	if err == nil {
		return out, errs
	}
	out = make([]voucher.Outcome, len(reqs))
	if !errors.Is(err, port.ErrRefused) || len(reqs) == 1 {
		for i := range errs {
			errs[i] = err
		}
		return out, errs
	}
	for i := range reqs {
		one, err := d.Reserve(ctx, code, reqs[i:i+1])
		if errs[i] = err; err == nil {
			out[i] = one[0]
		}
	}
	return out, errs
}
