package voucher

import (
	"cmp"
	"fmt"
	"time"

	"voucherd/domain/fault"
)

// Status is where a reservation stands in its life. It begins RESERVED and ends once, in one of the other two.
type Status string

// The statuses, spelled as they are stored and answered.
const (
	Reserved  Status = "RESERVED"
	Confirmed Status = "CONFIRMED"
	Released  Status = "RELEASED"
)

// Statuses lists the statuses in the order of a life.
func Statuses() []Status { return []Status{Reserved, Confirmed, Released} }

// Version is a fencing token: of two reservations of one order the later has the higher version, and whatever carries
// a lower version than the row's is late and changes nothing.
type Version struct{ Epoch, Sequence int64 }

// Compare orders versions: -1, 0 or 1.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Epoch, w.Epoch), cmp.Compare(v.Sequence, w.Sequence))
}

// String is the version as it stands in an entity tag.
func (v Version) String() string { return fmt.Sprintf("%d-%d", v.Epoch, v.Sequence) }

// Record is a reservation with all fields open: what storage keeps and restores.
type Record struct {
	Code           Code
	Order          OrderID
	Customer       CustomerID
	OrderAmount    int64 // minor units, 1…MaxAmount
	DiscountAmount int64 // minor units, 1…OrderAmount, fixed when reserved
	Status         Status
	Version        Version
	CreatedAt      time.Time
	ExpiresAt      time.Time
	ConfirmedAt    time.Time // zero unless Confirmed
	ReleasedAt     time.Time // zero unless Released
	ReleaseReason  string    // empty unless Released
}

// Reservation holds one use of a voucher for one order; stored, it is called a redemption. It is a value.
type Reservation struct{ r Record }

// RestoreReservation returns the reservation that storage kept. Only storage calls it: nothing is checked.
func RestoreReservation(r Record) Reservation { return Reservation{r} }

// Record returns all fields.
func (r Reservation) Record() Record { return r.r }

// Live reports whether the reservation holds a use in the books.
func (r Reservation) Live() bool { return r.r.Status != Released }

// Overdue reports whether the reservation waits for its confirmation past its deadline: from ExpiresAt on it counts
// as released, whether or not somebody has written that down.
func (r Reservation) Overdue(now time.Time) bool {
	return r.r.Status == Reserved && !now.Before(r.r.ExpiresAt)
}

// AsOf returns the reservation as a reader at now must see it: an overdue one is released.
func (r Reservation) AsOf(now time.Time) Reservation {
	if r.Overdue(now) {
		return r.release(Expired, now)
	}
	return r
}

// release ends r. An expiry ends at the deadline, however late it is noticed.
func (r Reservation) release(reason string, now time.Time) Reservation {
	r.r.Status, r.r.ReleaseReason, r.r.ReleasedAt = Released, reason, Instant(now)
	if reason == Expired {
		r.r.ReleasedAt = r.r.ExpiresAt
	}
	return r
}

// Request asks for one use. Build it with NewRequest.
type Request struct {
	Order    OrderID
	Customer CustomerID
	Amount   int64 // the order's amount in minor units, 1…MaxAmount
	TTL      time.Duration
	Actor    string
}

// NewRequest checks the parts of a reserve request in the published order; the first wrong one is an Invalid fault.
// ttl is how long the use is held, positive; actor goes into the history.
func NewRequest(customer int64, order string, amount int64, ttl time.Duration, actor string) (Request, error) {
	c, err := ParseCustomerID(customer)
	if err != nil {
		return Request{}, err
	}
	o, err := ParseOrderID(order)
	if err != nil {
		return Request{}, err
	}
	if amount < 1 || amount > MaxAmount {
		return Request{}, fault.In("orderAmount", "must be a whole number from 1 to %d", int64(MaxAmount))
	}
	return Request{Order: o, Customer: c, Amount: amount, TTL: ttl, Actor: actor}, nil
}

// repeatedBy reports whether q is the request that made r, sent again.
func (r Reservation) repeatedBy(q Request) bool {
	return r.r.Customer == q.Customer && r.r.OrderAmount == q.Amount
}

// Condition is what a caller demands of a reservation's version before ending it; the zero value demands nothing.
type Condition struct {
	Given    bool      // a condition was made
	Versions []Version // any of these fits; none: nothing fits
}

// fits reports whether the reservation meets the condition.
func (c Condition) fits(r Reservation) bool {
	if !c.Given {
		return true
	}
	for _, v := range c.Versions {
		if v == r.r.Version {
			return true
		}
	}
	return false
}
