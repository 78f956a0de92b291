package reservation

import (
	"context"
	"errors"
	"time"

	"voucherd/application/batch"
	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// finish asks for a reservation's end: its confirmation, its expiry if it is overdue, or else its release.
type finish struct {
	confirm bool
	expire  bool
	order   voucher.OrderID
	cond    voucher.Condition
	actor   string
}

// Confirm makes the order's reservation final and returns it; again, it returns the same. Faults: VOUCHER_NOT_FOUND,
// RESERVATION_NOT_FOUND, PRECONDITION_FAILED, RESERVATION_RELEASED with the reason.
func (s *Service) Confirm(ctx context.Context, code voucher.Code, order voucher.OrderID, cond voucher.Condition, actor string) (voucher.Reservation, error) {
	return s.finish(ctx, code, finish{confirm: true, order: order, cond: cond, actor: actor})
}

// Release gives the order's use back; again, or after an expiry, it changes nothing. Faults: VOUCHER_NOT_FOUND,
// RESERVATION_NOT_FOUND, PRECONDITION_FAILED, ALREADY_CONFIRMED.
func (s *Service) Release(ctx context.Context, code voucher.Code, order voucher.OrderID, cond voucher.Condition, actor string) error {
	_, err := s.finish(ctx, code, finish{order: order, cond: cond, actor: actor})
	return err
}

func (s *Service) finish(ctx context.Context, code voucher.Code, f finish) (voucher.Reservation, error) {
	if _, err := s.vouchers.Lookup(ctx, code); err != nil {
		return voucher.Reservation{}, err
	}
	return s.finishes.Do(ctx, code, f)
}

// serveFinishes decides a batch in one transaction, and where a constraint refused it, each request by itself.
func (s *Service) serveFinishes(code voucher.Code, fs []finish) []batch.Result[voucher.Reservation] {
	ctx, cancel := context.WithTimeout(context.Background(), updateTimeout)
	defer cancel()
	results, err := s.decideFinishes(ctx, code, fs)
	if err == nil {
		return results
	}
	results = make([]batch.Result[voucher.Reservation], len(fs))
	for i := range fs {
		results[i].Err = err
	}
	if !errors.Is(err, port.ErrRefused) || len(fs) == 1 {
		return results
	}
	for i := range fs {
		if one, err := s.decideFinishes(ctx, code, fs[i:i+1]); err != nil {
			results[i].Err = err
		} else {
			results[i] = one[0]
		}
	}
	return results
}

func (s *Service) decideFinishes(ctx context.Context, code voucher.Code, fs []finish) ([]batch.Result[voucher.Reservation], error) {
	step := port.Step{Code: code, Orders: make([]voucher.OrderID, len(fs))}
	for i, f := range fs {
		step.Orders[i] = f.order
	}
	results := make([]batch.Result[voucher.Reservation], len(fs))
	step.Decide = func(st *voucher.State, now time.Time) {
		_, served := s.deciders[st.Voucher().EffectiveMode()]
		for i, f := range fs {
			r := &results[i]
			switch {
			case f.expire:
				st.Expire([]voucher.OrderID{f.order}, f.actor, now)
			case !served:
				*r = batch.Result[voucher.Reservation]{Err: unserved()}
			case f.confirm:
				r.Answer, r.Err = st.Confirm(f.order, f.cond, f.actor, now)
			default:
				r.Err = st.Release(f.order, f.cond, f.actor, now)
			}
		}
	}
	if err := s.ledger.Update(ctx, step); err != nil {
		return nil, err
	}
	return results, nil
}
