package voucher

import (
	"time"

	"voucherd/domain/fault"
)

// Verdict is what became of one reserve request.
type Verdict int

// The verdicts. The zero value is none, so that a forgotten decision shows.
const (
	// Granted: the order holds a use that it did not hold before.
	Granted Verdict = iota + 1
	// Repeated: the same request was granted before and its use is live; the answer is the first one again.
	Repeated
	// Conflict: the order is live with other content, or on another voucher.
	Conflict
	// NotEligible: pause, window or minimum refuse; Reason says which.
	NotEligible
	// LimitReached: the customer has all the uses that one customer may have.
	LimitReached
	// OutOfStock: all uses of the voucher are taken.
	OutOfStock
	// Blocked: nothing here refuses, but the order's row on another voucher is past its deadline and not ended yet.
	// End that one (Outcome.Blocker) and ask again.
	Blocked
	// Undecided: a limit would refuse, and more uses may be past their deadline than were loaded. Those that were are
	// ended; ask again.
	Undecided
)

// Outcome is the answer to one reserve request.
type Outcome struct {
	Verdict     Verdict
	Reason      string      // with NotEligible
	Reservation Reservation // with Granted and Repeated
	Blocker     Reservation // with Blocked
}

// Err returns the refusal that the outcome stands for, nil for Granted and Repeated.
func (o Outcome) Err() error {
	switch o.Verdict {
	case Granted, Repeated:
		return nil
	case Conflict:
		return ErrOrderConflict
	case NotEligible:
		return ErrNotEligible.With(o.Reason)
	case LimitReached:
		return ErrAlreadyUsed
	case OutOfStock:
		return ErrOutOfStock
	case Blocked, Undecided:
		return ErrUnavailable.With(ReasonOverloaded)
	}
	return &fault.Error{Kind: fault.Unavailable, Code: ErrUnavailable.Code, Message: "no decision was made"}
}

// Reserve decides a batch of reserve requests in order, each on what the ones before it left. One request is a batch
// of one. Order of judgement, the first that fails answers: the order's live reservation, pause, window, minimum, the
// customer's limit, the total limit.
//
// Uses that are past their deadline are no reason to refuse: where a limit would, those that were loaded are ended
// first, so that an abandoned use can be had at its deadline without waiting for the expiry job. Where there may be
// more of them, no limit refuses: the request is Undecided, and each time it is asked again fewer are left.
func (s *State) Reserve(reqs []Request, now time.Time) []Outcome {
	out := make([]Outcome, len(reqs))
	for i, q := range reqs {
		out[i] = s.reserve(q, now)
	}
	return out
}

func (s *State) reserve(q Request, now time.Time) Outcome {
	if r, ok := s.orders[q.Order]; ok && r.Live() {
		switch {
		case r.Overdue(now):
			s.end(r, Expired, q.Actor, now)
		case r.repeatedBy(q):
			return Outcome{Verdict: Repeated, Reservation: r}
		default:
			return Outcome{Verdict: Conflict}
		}
	}
	other, elsewhere := s.elsewhere[q.Order]
	if elsewhere && !other.Overdue(now) {
		return Outcome{Verdict: Conflict}
	}
	if reason := s.voucher.s.Terms.Refuses(q.Amount, now); reason != "" {
		return Outcome{Verdict: NotEligible, Reason: reason}
	}
	if s.short(q.Customer) {
		s.endOverdue(q.Actor, now)
		if s.moreDue && s.short(q.Customer) {
			return Outcome{Verdict: Undecided}
		}
	}
	switch {
	case s.uses[q.Customer] >= s.voucher.s.PerUserLimit:
		return Outcome{Verdict: LimitReached}
	case s.voucher.s.Used >= s.voucher.s.TotalLimit:
		return Outcome{Verdict: OutOfStock}
	case elsewhere:
		return Outcome{Verdict: Blocked, Blocker: other}
	}
	return Outcome{Verdict: Granted, Reservation: s.grant(q, now)}
}

// grant takes one use for the request.
func (s *State) grant(q Request, now time.Time) Reservation {
	s.voucher.s.Sequence++
	created := Instant(now)
	r := Reservation{Record{
		Code: s.voucher.s.Code, Order: q.Order, Customer: q.Customer,
		OrderAmount: q.Amount, DiscountAmount: min(s.voucher.s.DiscountAmount, q.Amount),
		Status: Reserved, Version: Version{s.voucher.s.Epoch, s.voucher.s.Sequence},
		CreatedAt: created, ExpiresAt: Instant(created.Add(q.TTL)),
	}}
	s.put(r, 1)
	s.limits[q.Customer] = s.voucher.s.PerUserLimit
	s.note(ReservationMade, r, q.Actor, now, nil, &Facts{
		Status: Reserved, OrderAmount: r.r.OrderAmount, DiscountAmount: r.r.DiscountAmount, ExpiresAt: r.r.ExpiresAt,
	})
	return r
}

// short reports whether a limit leaves the customer nothing.
func (s *State) short(c CustomerID) bool {
	return s.uses[c] >= s.voucher.s.PerUserLimit || s.voucher.s.Used >= s.voucher.s.TotalLimit
}

// ShortOf reports whether a limit may refuse one of the requests, so that it is worth a look for overdue uses before
// deciding. It errs to the side of looking.
func (l Loaded) ShortOf(reqs []Request) bool {
	v := l.Voucher.s
	if v.Used+int64(len(reqs)) > v.TotalLimit {
		return true
	}
	want := make(map[CustomerID]int64, len(reqs))
	for _, q := range reqs {
		want[q.Customer]++
		if l.Uses[q.Customer]+want[q.Customer] > v.PerUserLimit {
			return true
		}
	}
	return false
}

// endOverdue ends the loaded orders that are past their deadline, once.
func (s *State) endOverdue(actor string, now time.Time) {
	for _, id := range s.overdue {
		if r, ok := s.orders[id]; ok && r.Overdue(now) {
			s.end(r, Expired, actor, now)
		}
	}
	s.overdue = nil
}
