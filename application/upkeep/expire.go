// Package upkeep holds the use cases that run by themselves or at an operator's wish: the expiry of abandoned
// reservations, and the audit.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Bounds of the expiry.
const (
	// dueBatch bounds the overdue reservations that are read at once, and so those that one transaction ends.
	dueBatch = 500
	// expireTimeout bounds one transaction, and one read.
	expireTimeout = 1500 * time.Millisecond
	// maxFailures in a row end a run: then it is the store that fails, and not some vouchers that somebody holds.
	maxFailures = 5
	// expireActor stands in the history for the job.
	expireActor = "expiry"
)

// Expirer gives abandoned uses back. Any number may run at once, in any number of processes: each reservation is
// ended under the lock of its voucher, once.
type Expirer struct {
	ledger port.Ledger
	reader port.Reader
	clock  port.Clock
}

// NewExpirer returns an expirer on the given ports.
func NewExpirer(ledger port.Ledger, reader port.Reader, clock port.Clock) *Expirer {
	return &Expirer{ledger: ledger, reader: reader, clock: clock}
}

// Expiry is what one run did.
type Expiry struct {
	Expired int           // reservations that this run ended
	Lag     time.Duration // how far past its deadline the oldest was when the run began; 0 when none was due
}

// Run ends, in bounded batches, every reservation whose deadline has passed when it begins. A voucher that can't be
// written is passed over and reported in the error, the others are served; when the store is away the run ends early.
// A transaction under way is finished even if ctx ends.
func (e *Expirer) Run(ctx context.Context) (Expiry, error) {
	var done Expiry
	failed := map[voucher.Code]error{}
	inARow := 0
	now := e.clock.Now()
	for after := (port.Due{}); ; {
		due, err := e.due(ctx, now, after)
		if err != nil || len(due) == 0 {
			return done, report(failed, err)
		}
		if after == (port.Due{}) {
			done.Lag = now.Sub(due[0].ExpiresAt)
		}
		after = due[len(due)-1]
		for code, orders := range byCode(due) {
			if failed[code] != nil {
				continue
			}
			n, err := e.expire(ctx, code, orders)
			done.Expired += n
			if err == nil {
				inARow = 0
				continue
			}
			failed[code] = err
			if !errors.Is(err, port.ErrRefused) { // which the store says in good health
				inARow++
			}
			if inARow == maxFailures || ctx.Err() != nil {
				return done, report(failed, nil)
			}
		}
	}
}

// report puts together what went wrong, with one voucher of those that failed as the example.
func report(failed map[voucher.Code]error, err error) error {
	for code, cause := range failed {
		return errors.Join(fmt.Errorf("%d vouchers passed over, %s among them: %w", len(failed), code, cause), err)
	}
	return err
}

func (e *Expirer) due(ctx context.Context, now time.Time, after port.Due) ([]port.Due, error) {
	ctx, cancel := context.WithTimeout(ctx, expireTimeout)
	defer cancel()
	return e.reader.Due(ctx, now, after, dueBatch)
}

func (e *Expirer) expire(ctx context.Context, code voucher.Code, orders []voucher.OrderID) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), expireTimeout)
	defer cancel()
	err = e.ledger.Update(ctx, port.Step{
		Code: code, Orders: orders,
		Decide: func(s *voucher.State, now time.Time) { n = s.Expire(orders, expireActor, now) },
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func byCode(due []port.Due) map[voucher.Code][]voucher.OrderID {
	m := map[voucher.Code][]voucher.OrderID{}
	for _, d := range due {
		m[d.Code] = append(m[d.Code], d.Order)
	}
	return m
}
