package voucher

import "time"

// ChangeKind says what happened to a voucher or to one of its reservations.
type ChangeKind string

// The kinds of change that the history knows.
const (
	VoucherCreated       ChangeKind = "VOUCHER_CREATED"
	VoucherAmended       ChangeKind = "VOUCHER_AMENDED"
	ReservationMade      ChangeKind = "RESERVED"
	ReservationConfirmed ChangeKind = "CONFIRMED"
	ReservationReleased  ChangeKind = "RELEASED"
)

// ChangeKinds lists every kind.
func ChangeKinds() []ChangeKind {
	return []ChangeKind{VoucherCreated, VoucherAmended, ReservationMade, ReservationConfirmed, ReservationReleased}
}

// Facts are what a change of a reservation rests on. Fields that a kind doesn't need are zero.
type Facts struct {
	Status         Status
	OrderAmount    int64
	DiscountAmount int64
	ExpiresAt      time.Time
	ReleasedAt     time.Time
	ReleaseReason  string
}

// Change is one entry of the append-only history: who did what to which voucher or reservation, and when.
// The history of a voucher, in order of ID, is enough to recompute everything that is stored about it.
type Change struct {
	ID       int64 // position in the history; rises within a voucher; given by storage
	Code     Code
	Kind     ChangeKind
	Actor    string
	At       time.Time
	Order    OrderID    // reservations only
	Customer CustomerID // reservations only
	Version  Version    // reservations: theirs; vouchers: (epoch, change number)

	TermsBefore, TermsAfter *Terms // vouchers only; before is nil at creation
	Before, After           *Facts // reservations only; before is nil when reserved
}
