package voucher

import (
	"maps"
	"slices"
	"time"
)

// Loaded is what a transaction read under the lock of a voucher: the ground that a decision stands on.
type Loaded struct {
	Voucher   Voucher
	Orders    []Reservation        // the asked orders' rows on this voucher, and those that Overdue holds
	Elsewhere []Reservation        // the asked orders' live rows on other vouchers
	Uses      map[CustomerID]int64 // live uses of the asked customers and of the customers of Orders; absent is 0
	Overdue   []OrderID            // some orders of this voucher past their deadline; may be given or left out
	MoreDue   bool                 // there may be further ones past their deadline than Overdue holds
}

// State is one voucher inside one transaction. Decisions are made on it one after the other, each seeing what the ones
// before it did, and what must be written in the end is kept beside. It does no I/O and reads no clock.
// A State is used by one goroutine and thrown away.
type State struct {
	before, voucher Voucher
	stored, orders  map[OrderID]Reservation
	elsewhere       map[OrderID]Reservation
	uses            map[CustomerID]int64
	overdue         []OrderID
	moreDue         bool

	touched []OrderID // in the order of their first change
	changed map[OrderID]bool
	deltas  map[CustomerID]int64
	limits  map[CustomerID]int64
	history []Change
}

// NewState returns the state that l describes, with nothing decided yet.
func NewState(l Loaded) *State {
	s := &State{
		before: l.Voucher, voucher: l.Voucher,
		stored:    make(map[OrderID]Reservation, len(l.Orders)),
		elsewhere: make(map[OrderID]Reservation, len(l.Elsewhere)),
		uses:      maps.Clone(l.Uses),
		overdue:   l.Overdue,
		moreDue:   l.MoreDue,
		changed:   map[OrderID]bool{},
		deltas:    map[CustomerID]int64{},
		limits:    map[CustomerID]int64{},
	}
	if s.uses == nil {
		s.uses = map[CustomerID]int64{}
	}
	for _, r := range l.Orders {
		s.stored[r.r.Order] = r
	}
	s.orders = maps.Clone(s.stored)
	for _, r := range l.Elsewhere {
		s.elsewhere[r.r.Order] = r
	}
	return s
}

// Voucher returns the voucher as decided so far.
func (s *State) Voucher() Voucher { return s.voucher }

// Order returns the order's reservation as decided so far.
func (s *State) Order(id OrderID) (Reservation, bool) {
	r, ok := s.orders[id]
	return r, ok
}

// Stored is what a decision changed about one order: After is to be written over Before, which is zero where the
// order had no row on this voucher.
type Stored struct {
	Before, After Reservation
	New           bool // After is another reservation than Before: written only over a lower version
}

// CustomerCount is what is stored about a customer of a voucher, for whoever was granted a use of it, once or more.
type CustomerCount struct {
	Uses      int64 // live ones
	LimitSeen int64 // the per-user limit that the customer's last grant was decided under
}

// UseChange moves the count of one customer.
type UseChange struct {
	Customer CustomerID
	Delta    int64 // 0 where as many uses ended as were granted
	Limit    int64 // the per-user limit that the last grant was decided under; 0 when nothing was granted
}

// Changes is what must be written, in one transaction, for the decisions made.
type Changes struct {
	Before, After Voucher // equal when the voucher's row stays as it is
	Reservations  []Stored
	Uses          []UseChange // ascending by customer
	History       []Change
}

// Empty reports whether nothing is to be written.
func (c Changes) Empty() bool {
	return c.Before == c.After && len(c.Reservations) == 0 && len(c.History) == 0
}

// Changes returns what the decisions so far must write.
func (s *State) Changes() Changes {
	c := Changes{Before: s.before, After: s.voucher, History: s.history}
	for _, id := range s.touched {
		before, after := s.stored[id], s.orders[id]
		c.Reservations = append(c.Reservations, Stored{Before: before, After: after, New: before.r.Version != after.r.Version})
	}
	for _, id := range slices.Sorted(maps.Keys(s.deltas)) {
		// Each grant writes its limit, also where a use that ended made room for it: what is stored follows from the
		// history, however its entries were cut into batches.
		if d, limit := s.deltas[id], s.limits[id]; d != 0 || limit != 0 {
			c.Uses = append(c.Uses, UseChange{Customer: id, Delta: d, Limit: limit})
		}
	}
	return c
}

// put records that the order's reservation is now r and moves the counts by d live uses.
func (s *State) put(r Reservation, d int64) {
	id := r.r.Order
	if !s.changed[id] {
		s.changed[id] = true
		s.touched = append(s.touched, id)
	}
	s.orders[id] = r
	s.voucher.s.Used += d
	s.uses[r.r.Customer] += d
	s.deltas[r.r.Customer] += d
}

// end releases a live reservation and writes that into the history.
func (s *State) end(r Reservation, reason, actor string, now time.Time) Reservation {
	after := r.release(reason, now)
	s.put(after, -1)
	s.note(ReservationReleased, after, actor, now,
		&Facts{Status: r.r.Status},
		&Facts{Status: Released, ReleasedAt: after.r.ReleasedAt, ReleaseReason: reason})
	return after
}

func (s *State) note(kind ChangeKind, r Reservation, actor string, now time.Time, before, after *Facts) {
	s.history = append(s.history, Change{
		Code: s.voucher.s.Code, Kind: kind, Actor: actor, At: Instant(now),
		Order: r.r.Order, Customer: r.r.Customer, Version: r.r.Version, Before: before, After: after,
	})
}
