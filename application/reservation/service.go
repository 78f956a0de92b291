// Package reservation holds the use cases of a voucher's use: reserve, confirm, release, read and list.
package reservation

import (
	"context"
	"errors"
	"time"

	"voucherd/application/batch"
	"voucherd/application/port"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// Bounds of the use cases.
const (
	// updateTimeout bounds one batch at its store. It is shorter than the shortest sensible request.
	updateTimeout = 1500 * time.Millisecond
	// maxAttempts bounds how often one reserve is decided again because the ground moved: its voucher changed mode,
	// or its order had to be ended on another voucher first.
	maxAttempts = 3
	// maxSweeps bounds how often one reserve is decided again because a batch of overdue uses was ended and there may
	// be more. It is beyond what a request has time for: the caller's deadline comes first.
	maxSweeps = 1000
)

// Limits of the requests that wait, of all kinds together for each kind of batch; section "Performance shape" of the
// published design.
var (
	reserveLimits = batch.Limits{Batch: 256, PerKey: 4096, Total: 16_384}
	finishLimits  = batch.Limits{Batch: 256, PerKey: 4096, Total: 16_384}
)

// Vouchers tells what is known about a voucher, perhaps of a moment ago.
type Vouchers interface {
	Lookup(ctx context.Context, code voucher.Code) (voucher.Voucher, error)
	Forget(code voucher.Code)
}

// Service is the use cases. Safe for concurrent use. Beside the faults that a method names it returns the errors of
// the ports, and port.ErrOverloaded or port.ErrUnknown when the caller's context ends first: before the request was
// taken in hand, or after.
type Service struct {
	ledger   port.Ledger
	reader   port.Reader
	vouchers Vouchers
	deciders map[voucher.Mode]Decider
	clock    port.Clock
	ttl      time.Duration

	reserves *batch.Combiner[voucher.Code, voucher.Request, voucher.Outcome]
	finishes *batch.Combiner[voucher.Code, finish, voucher.Reservation]
}

// New returns the use cases on the given ports. deciders holds one for each mode that this process serves; ttl is how
// long a use is held, positive.
func New(ledger port.Ledger, reader port.Reader, vouchers Vouchers, deciders map[voucher.Mode]Decider, clock port.Clock, ttl time.Duration) *Service {
	s := &Service{ledger: ledger, reader: reader, vouchers: vouchers, deciders: deciders, clock: clock, ttl: ttl}
	s.reserves = batch.NewCombiner(reserveLimits, s.serveReserves)
	s.finishes = batch.NewCombiner(finishLimits, s.serveFinishes)
	return s
}

// Reserve is a wish for one use, not checked yet.
type Reserve struct {
	Code     voucher.Code
	Customer int64
	Order    string
	Amount   int64
	Actor    string
}

// Reserve takes one use of the voucher for the order and returns its reservation; the same wish again returns the
// same one. Faults: INVALID_REQUEST, VOUCHER_NOT_FOUND, ORDER_CONFLICT, NOT_ELIGIBLE, ALREADY_USED, OUT_OF_STOCK.
func (s *Service) Reserve(ctx context.Context, w Reserve) (voucher.Reservation, error) {
	req, err := voucher.NewRequest(w.Customer, w.Order, w.Amount, s.ttl, w.Actor)
	if err != nil {
		return voucher.Reservation{}, err
	}
	for attempts, sweeps := 0, 0; attempts < maxAttempts && sweeps < maxSweeps; {
		if _, err := s.vouchers.Lookup(ctx, w.Code); err != nil {
			return voucher.Reservation{}, err
		}
		out, err := s.reserves.Do(ctx, w.Code, req)
		switch {
		case errors.Is(err, port.ErrStale):
			attempts++
			s.vouchers.Forget(w.Code)
		case err != nil:
			return voucher.Reservation{}, err
		case out.Verdict == voucher.Undecided:
			sweeps++
		case out.Verdict == voucher.Blocked:
			attempts++
			if err := s.expire(ctx, out.Blocker, w.Actor); err != nil {
				return voucher.Reservation{}, err
			}
		default:
			return out.Reservation, out.Err()
		}
	}
	return voucher.Reservation{}, port.ErrOverloaded
}

// expire ends an overdue reservation, on whatever voucher it is.
func (s *Service) expire(ctx context.Context, r voucher.Reservation, actor string) error {
	rec := r.Record()
	_, err := s.finishes.Do(ctx, rec.Code, finish{expire: true, order: rec.Order, actor: actor})
	return err
}

// serveReserves hands a batch to the decider of the voucher's mode.
func (s *Service) serveReserves(code voucher.Code, reqs []voucher.Request) []batch.Result[voucher.Outcome] {
	ctx, cancel := context.WithTimeout(context.Background(), updateTimeout)
	defer cancel()
	results := make([]batch.Result[voucher.Outcome], len(reqs))
	d, err := s.decider(ctx, code)
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	out, errs := alone(ctx, d, code, reqs)
	for i := range results {
		results[i] = batch.Result[voucher.Outcome]{Answer: out[i], Err: errs[i]}
	}
	return results
}

// decider returns who decides for the voucher now. A mode that nobody here serves is looked up again before it counts:
// the voucher may have left it long ago, on another process.
func (s *Service) decider(ctx context.Context, code voucher.Code) (Decider, error) {
	for range 2 {
		v, err := s.vouchers.Lookup(ctx, code)
		if err != nil {
			return nil, err
		}
		if d, ok := s.deciders[v.EffectiveMode()]; ok {
			return d, nil
		}
		s.vouchers.Forget(code)
	}
	return nil, unserved()
}

// unserved refuses a stored voucher whose mode this process is not wired for.
func unserved() *fault.Error { return voucher.ErrUnavailable.With(voucher.ReasonDependency) }

// Find returns the order's reservation as it is seen now: an overdue one is released. Faults: VOUCHER_NOT_FOUND,
// RESERVATION_NOT_FOUND.
func (s *Service) Find(ctx context.Context, code voucher.Code, order voucher.OrderID) (voucher.Reservation, error) {
	r, err := s.reader.Reservation(ctx, code, order)
	if err != nil {
		return voucher.Reservation{}, err
	}
	return r.AsOf(s.clock.Now()), nil
}

// List returns up to limit redemptions of a voucher as they are seen now, the newest first, those of one status unless
// it is empty, and those below a version unless it is nil; more says whether others follow. Fault: VOUCHER_NOT_FOUND.
func (s *Service) List(ctx context.Context, code voucher.Code, status voucher.Status, before *voucher.Version, limit int) (rs []voucher.Reservation, more bool, err error) {
	now := s.clock.Now()
	rs, err = s.reader.Redemptions(ctx, port.RedemptionQuery{Code: code, Status: status, Now: now, Before: before, Limit: limit + 1})
	if err != nil {
		return nil, false, err
	}
	more = len(rs) > limit
	rs = rs[:min(limit, len(rs))]
	for i := range rs {
		rs[i] = rs[i].AsOf(now)
	}
	return rs, more, nil
}

// Queues returns the state of the queues by name: what waits, and what was turned away.
func (s *Service) Queues() map[string]func() (waiting int, turnedAway uint64) {
	return map[string]func() (int, uint64){"reserve": s.reserves.Stats, "finish": s.finishes.Stats}
}

// Wait returns when nothing waits and no batch is under way.
func (s *Service) Wait() {
	s.reserves.Wait()
	s.finishes.Wait()
}
