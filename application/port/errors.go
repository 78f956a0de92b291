package port

import "errors"

// An adapter's error is exactly one of these, by errors.Is, since the caller's duty differs. A refusal of the core
// (a fault) is none of them, but for ErrRefused, which may carry one.
var (
	// ErrUnavailable: certainly nothing happened, because a server is away or too slow. Safe to send again.
	ErrUnavailable = errors.New("unavailable: nothing happened")
	// ErrOverloaded: certainly nothing happened, because a bound of ours was reached. Safe to send again.
	ErrOverloaded = errors.New("overloaded: nothing happened")
	// ErrUnknown: it may have happened. Only the same request sent again, or a read, finds out.
	ErrUnknown = errors.New("outcome unknown")
	// ErrRefused: a constraint of the store said no, or a conditional write found no row, to a decision of the core.
	// The two differ, which is drift or a defect. It wraps the fault that the constraint stands for, if one does.
	ErrRefused = errors.New("refused by a constraint")
	// ErrStale: what the caller believed about the voucher (its mode, its terms) no longer holds. Read it again, once.
	ErrStale = errors.New("the voucher has changed")
	// ErrNotLoaded: there is no gate that serves. Nothing happened; it has to be loaded from the ledger first.
	ErrNotLoaded = errors.New("the gate is not loaded")
	// ErrSuperseded: the gate is not the one that this load closed. Nothing happened; a load begins anew.
	ErrSuperseded = errors.New("the load was overtaken")
	// ErrUnfit: the server is set up so that a promise would break. Nothing happened; an operator has to change it.
	ErrUnfit = errors.New("the server's settings are unfit")
)
