package voucher

import (
	"errors"
	"time"
)

// Confirm makes the order's reservation final: it never expires and is never released again. Repeated, it gives the
// same reservation. Faults: RESERVATION_NOT_FOUND, PRECONDITION_FAILED, RESERVATION_RELEASED with the reason. A
// reservation past its deadline is released by the attempt.
func (s *State) Confirm(id OrderID, cond Condition, actor string, now time.Time) (Reservation, error) {
	r, err := s.find(id, cond)
	if err != nil {
		return Reservation{}, err
	}
	if r.Overdue(now) {
		r = s.end(r, Expired, actor, now)
	}
	switch r.r.Status {
	case Released:
		return Reservation{}, ErrReservationReleased.With(r.r.ReleaseReason)
	case Confirmed:
		return r, nil
	case Reserved: // made final below
	}
	r.r.Status, r.r.ConfirmedAt = Confirmed, Instant(now)
	s.put(r, 0)
	s.note(ReservationConfirmed, r, actor, now, &Facts{Status: Reserved}, &Facts{Status: Confirmed})
	return r, nil
}

// Release gives the order's use back. Repeated, or after an expiry, it changes nothing and succeeds. Faults:
// RESERVATION_NOT_FOUND, PRECONDITION_FAILED, ALREADY_CONFIRMED.
func (s *State) Release(id OrderID, cond Condition, actor string, now time.Time) error {
	r, err := s.find(id, cond)
	if err != nil {
		return err
	}
	switch {
	case r.r.Status == Confirmed:
		return ErrAlreadyConfirmed
	case r.Overdue(now):
		s.end(r, Expired, actor, now)
	case r.r.Status == Reserved:
		s.end(r, Cancelled, actor, now)
	}
	return nil
}

// Expire ends those of the orders that are past their deadline and returns how many it ended. Whatever else the
// orders have become meanwhile (confirmed, released, reserved anew) stays as it is.
func (s *State) Expire(ids []OrderID, actor string, now time.Time) int {
	n := 0
	for _, id := range ids {
		if r, ok := s.orders[id]; ok && r.Overdue(now) {
			s.end(r, Expired, actor, now)
			n++
		}
	}
	return n
}

// Amend changes terms of the voucher, all of the amendment or nothing. Faults: INVALID_REQUEST with the first wrong
// field, LIMIT_BELOW_USED, the amendment's ModeRefusal. Loaded uses past their deadline are ended when the new total limit
// would be too small for them; ErrUndecided says that there may be more of them, and that asking again gets further.
func (s *State) Amend(a Amendment, actor string, now time.Time) error {
	if a.TotalLimit != nil && *a.TotalLimit < s.voucher.s.Used {
		s.endOverdue(actor, now)
	}
	before := s.voucher
	after, err := before.amend(a, now)
	if s.moreDue && errors.Is(err, ErrLimitBelowUsed) {
		return ErrUndecided
	}
	if err != nil || after == before {
		return err
	}
	s.voucher = after
	s.history = append(s.history, amended(before, after, actor))
	return nil
}

// find returns the order's reservation if it exists and meets the condition.
func (s *State) find(id OrderID, cond Condition) (Reservation, error) {
	r, ok := s.orders[id]
	if !ok {
		return Reservation{}, ErrReservationNotFound
	}
	if !cond.fits(r) {
		return Reservation{}, ErrPrecondition
	}
	return r, nil
}

// Created returns the history's first entry of a new voucher.
func Created(v Voucher, actor string) Change {
	t := v.s.Terms
	return Change{
		Code: v.s.Code, Kind: VoucherCreated, Actor: actor, At: v.s.CreatedAt,
		Version: Version{v.s.Epoch, v.s.Change}, TermsAfter: &t,
	}
}

func amended(before, after Voucher, actor string) Change {
	b, a := before.s.Terms, after.s.Terms
	return Change{
		Code: after.s.Code, Kind: VoucherAmended, Actor: actor, At: after.s.UpdatedAt,
		Version: Version{after.s.Epoch, after.s.Change}, TermsBefore: &b, TermsAfter: &a,
	}
}
