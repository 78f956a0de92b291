// Package memory keeps everything in this process: the default store, for trials and for tests that take no time.
// It keeps the same contract as the Postgres adapter, its constraints included; what it can't do is survive a restart
// or be shared with another process.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"voucherd/application/port"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// Store is a ledger, its reader and its books in memory. It holds values and hands out copies. Safe for concurrent use.
type Store struct {
	clock port.Clock

	mu       sync.RWMutex
	vouchers map[voucher.Code]*shelf
	codes    []voucher.Code // ascending
	live     map[voucher.OrderID]voucher.Code
	lastID   int64
}

// shelf is all that is kept about one voucher.
type shelf struct {
	voucher voucher.Voucher
	orders  map[voucher.OrderID]voucher.Reservation
	uses    map[voucher.CustomerID]voucher.CustomerCount
	history []voucher.Change
	// soonest is a bound: no reservation's deadline lies before it. It spares the hot path a walk over all orders.
	soonest time.Time
}

// New returns an empty store that reads the time from clock.
func New(clock port.Clock) *Store {
	return &Store{clock: clock, vouchers: map[voucher.Code]*shelf{}, live: map[voucher.OrderID]voucher.Code{}}
}

var (
	_ port.Ledger = (*Store)(nil)
	_ port.Reader = (*Store)(nil)
	_ port.Books  = (*Store)(nil)
)

// Create implements port.Ledger.
func (s *Store) Create(ctx context.Context, v voucher.Voucher, actor string) error {
	if ctx.Err() != nil {
		return port.ErrOverloaded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	code := v.Code()
	if _, ok := s.vouchers[code]; ok {
		return voucher.ErrVoucherExists
	}
	sh := &shelf{voucher: v, orders: map[voucher.OrderID]voucher.Reservation{}, uses: map[voucher.CustomerID]voucher.CustomerCount{}}
	s.vouchers[code] = sh
	at, _ := slices.BinarySearch(s.codes, code)
	s.codes = slices.Insert(s.codes, at, code)
	s.record(sh, []voucher.Change{voucher.Created(v, actor)})
	return nil
}

// Update implements port.Ledger. The whole store is one lock: a decision takes microseconds.
func (s *Store) Update(ctx context.Context, step port.Step) error {
	if ctx.Err() != nil {
		return port.ErrOverloaded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sh, ok := s.vouchers[step.Code]
	if !ok {
		return voucher.ErrVoucherNotFound
	}
	now := s.clock.Now()
	l := s.load(sh, step)
	if step.Overdue != nil && step.Overdue(l) {
		sh.addOverdue(&l, now)
	}
	state := voucher.NewState(l)
	step.Decide(state, now)
	c := state.Changes()
	if err := s.check(sh, c); err != nil {
		return err
	}
	s.apply(sh, c)
	return nil
}

func (s *Store) load(sh *shelf, step port.Step) voucher.Loaded {
	l := voucher.Loaded{Voucher: sh.voucher, Uses: map[voucher.CustomerID]int64{}}
	for _, id := range step.Orders {
		if r, ok := sh.orders[id]; ok {
			l.Orders = append(l.Orders, r)
			l.Uses[r.Record().Customer] = sh.uses[r.Record().Customer].Uses
		}
		if code, ok := s.live[id]; ok && code != step.Code {
			l.Elsewhere = append(l.Elsewhere, s.vouchers[code].orders[id])
		}
	}
	for _, id := range step.Customers {
		l.Uses[id] = sh.uses[id].Uses
	}
	return l
}

// apply writes what check has let pass.
func (s *Store) apply(sh *shelf, c voucher.Changes) {
	sh.voucher = c.After
	for _, w := range c.Reservations {
		id := w.After.Record().Order
		sh.orders[id] = w.After
		if at := w.After.Record().ExpiresAt; w.New && (sh.soonest.IsZero() || at.Before(sh.soonest)) {
			sh.soonest = at
		}
		if w.After.Live() {
			s.live[id] = c.After.Code()
		} else if s.live[id] == c.After.Code() {
			delete(s.live, id)
		}
	}
	for _, u := range c.Uses {
		n := sh.uses[u.Customer]
		n.Uses += u.Delta
		if u.Limit > 0 {
			n.LimitSeen = u.Limit
		}
		sh.uses[u.Customer] = n
	}
	s.record(sh, c.History)
}

func (s *Store) record(sh *shelf, cs []voucher.Change) {
	for _, c := range cs {
		s.lastID++
		c.ID = s.lastID
		sh.history = append(sh.history, c)
	}
}

// check is the last line, as the constraints of a database are: it trusts no decision.
func (s *Store) check(sh *shelf, c voucher.Changes) error {
	v := c.After.Snapshot()
	if v.Used > v.TotalLimit {
		return refused("used_count over total_limit", voucher.ErrOutOfStock)
	}
	if v.Used < 0 {
		return refused("used_count below 0", nil)
	}
	for _, w := range c.Reservations {
		id := w.After.Record().Order
		if code, ok := s.live[id]; ok && code != v.Code && w.After.Live() {
			return refused("a second live reservation of an order", voucher.ErrOrderConflict)
		}
		if stored, ok := sh.orders[id]; ok && w.New && stored.Record().Version.Compare(w.After.Record().Version) >= 0 {
			return refused("a version not above the stored one", nil)
		}
	}
	for _, u := range c.Uses {
		n := sh.uses[u.Customer]
		n.Uses += u.Delta
		if u.Limit > 0 {
			n.LimitSeen = u.Limit
		}
		if n.Uses < 0 || n.Uses > n.LimitSeen {
			return refused("a customer's uses out of bounds", voucher.ErrAlreadyUsed)
		}
	}
	return nil
}

func refused(what string, f *fault.Error) error {
	if f == nil {
		return fmt.Errorf("%w: %s", port.ErrRefused, what)
	}
	return fmt.Errorf("%w: %s: %w", port.ErrRefused, what, f)
}
