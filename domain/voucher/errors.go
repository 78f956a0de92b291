package voucher

import "voucherd/domain/fault"

// Why a reservation ended without being confirmed, as told in releaseReason.
const (
	// Cancelled: the shop released it.
	Cancelled = "CANCELLED"
	// Expired: its deadline came first.
	Expired = "EXPIRED"
	// Conflicted: its order turned out to be live on another voucher.
	Conflicted = "ORDER_CONFLICT"
)

// Why a voucher takes no reservation now.
const (
	ReasonPaused       = "PAUSED"
	ReasonNotStarted   = "NOT_STARTED"
	ReasonEnded        = "ENDED"
	ReasonBelowMinimum = "BELOW_MINIMUM"
)

// Why nothing can be said now.
const (
	// ReasonOverloaded: a bound was reached; certainly nothing happened.
	ReasonOverloaded = "OVERLOADED"
	// ReasonDependency: a server that the answer needs is away.
	ReasonDependency = "DEPENDENCY"
	// ReasonOutcomeUnknown: the write may have happened; the same request again finds out.
	ReasonOutcomeUnknown = "OUTCOME_UNKNOWN"
)

// The refusals of the core. Codes are part of the published interface.
var (
	ErrVoucherExists   = &fault.Error{Kind: fault.Conflict, Code: "VOUCHER_EXISTS", Message: "a voucher with this code exists already"}
	ErrVoucherNotFound = &fault.Error{Kind: fault.NotFound, Code: "VOUCHER_NOT_FOUND", Message: "no voucher has this code"}
	ErrLimitBelowUsed  = &fault.Error{Kind: fault.Conflict, Code: "LIMIT_BELOW_USED", Message: "more uses are taken than the new totalLimit allows"}
	ErrModeSetByConfig = &fault.Error{Kind: fault.Conflict, Code: "MODE_SET_BY_CONFIG", Message: "the mode of this voucher is set in the configuration"}
	ErrModeUnavailable = &fault.Error{Kind: fault.Conflict, Code: "MODE_UNAVAILABLE", Message: "this mode can't be served here"}

	ErrOutOfStock    = &fault.Error{Kind: fault.Conflict, Code: "OUT_OF_STOCK", Message: "every use of this voucher is taken"}
	ErrAlreadyUsed   = &fault.Error{Kind: fault.Conflict, Code: "ALREADY_USED", Message: "the customer has taken as many uses as one customer may"}
	ErrOrderConflict = &fault.Error{Kind: fault.Conflict, Code: "ORDER_CONFLICT", Message: "this order has a live reservation with other content or on another voucher"}
	ErrNotEligible   = &fault.Error{Kind: fault.NotEligible, Code: "NOT_ELIGIBLE", Message: "the voucher doesn't take this order now"}

	ErrReservationNotFound = &fault.Error{Kind: fault.NotFound, Code: "RESERVATION_NOT_FOUND", Message: "the voucher has no reservation for this order"}
	ErrReservationReleased = &fault.Error{Kind: fault.Conflict, Code: "RESERVATION_RELEASED", Message: "the reservation was released"}
	ErrAlreadyConfirmed    = &fault.Error{Kind: fault.Conflict, Code: "ALREADY_CONFIRMED", Message: "the reservation is confirmed and can't be released"}
	ErrPrecondition        = &fault.Error{Kind: fault.Precondition, Code: "PRECONDITION_FAILED", Message: "the reservation is not the version named by If-Match"}

	ErrUnavailable = &fault.Error{Kind: fault.Unavailable, Code: "UNAVAILABLE", Message: "the service can't answer now; send the same request again"}
)

// ErrUndecided is the refusal of an amendment that can't be judged yet; see State.Amend.
var ErrUndecided = ErrUnavailable.With(ReasonOverloaded)

// Faults lists every refusal of the core once: what a transport must know how to answer.
func Faults() []*fault.Error {
	return []*fault.Error{
		ErrVoucherExists, ErrVoucherNotFound, ErrLimitBelowUsed, ErrModeSetByConfig, ErrModeUnavailable,
		ErrOutOfStock, ErrAlreadyUsed, ErrOrderConflict, ErrNotEligible,
		ErrReservationNotFound, ErrReservationReleased, ErrAlreadyConfirmed, ErrPrecondition, ErrUnavailable,
		fault.In("body", "is malformed"),
	}
}
