package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Gate keeps the gates of all vouchers in this process, for trials and tests. It holds values and hands out copies.
// Safe for concurrent use.
type Gate struct {
	clock port.Clock

	mu     sync.Mutex
	server int64
	gates  map[voucher.Code]*turnstile
}

// turnstile is the gate of one voucher.
type turnstile struct {
	server     int64 // who wrote it
	epoch      int64
	open       bool
	mode       voucher.Mode
	standing   port.Standing
	sequence   int64
	remaining  int64
	orders     map[voucher.OrderID]port.Hold // Pending is kept in pending alone
	uses       map[voucher.CustomerID]int64
	pending    map[voucher.OrderID]time.Time // since when
	closedAt   time.Time
	leaseUntil time.Time
}

// NewGate returns a place for gates with none in it; clock measures leases and ages.
func NewGate(clock port.Clock) *Gate {
	return &Gate{clock: clock, gates: map[voucher.Code]*turnstile{}}
}

var (
	_ port.Gate       = (*Gate)(nil)
	_ port.GateWatch  = (*Gate)(nil)
	_ port.GateKeeper = (*Gate)(nil)
	_ port.GateLoader = (*Gate)(nil)
)

// Lose forgets all gates, as a server does that restarts empty.
func (g *Gate) Lose() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server++
	clear(g.gates)
}

// Replace keeps all gates and becomes another server, as after a failover or a restart from a snapshot.
func (g *Gate) Replace() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server++
}

// enter begins a call of n elements; the caller unlocks g.mu if there is no error.
func (g *Gate) enter(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return port.ErrOverloaded
	}
	if n > port.GateBatchMax {
		return fmt.Errorf("%w: %d elements in one call", port.ErrOverloaded, n)
	}
	g.mu.Lock()
	return nil
}

// serving returns the voucher's gate if it serves.
func (g *Gate) serving(code voucher.Code) (*turnstile, error) {
	if t, ok := g.gates[code]; ok && t.open && t.server == g.server {
		return t, nil
	}
	return nil, port.ErrNotLoaded
}

func (t *turnstile) footing() port.Footing { return port.Footing{Epoch: t.epoch, Mode: t.mode} }

// lease is how long the gate grants nothing new.
func (t *turnstile) lease(now time.Time) time.Duration { return max(0, t.leaseUntil.Sub(now)) }

// Reserve implements port.Gate.
func (g *Gate) Reserve(ctx context.Context, b port.GateBatch) (port.GateDecision, error) {
	if err := g.enter(ctx, max(len(b.Requests), len(b.Settled))); err != nil {
		return port.GateDecision{}, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(b.Code)
	if err != nil {
		return port.GateDecision{}, err
	}
	for _, ref := range b.Settled {
		t.settle(ref)
	}
	t.tell(b.As)
	replies := make([]port.GateReply, len(b.Requests))
	for i, q := range b.Requests {
		replies[i] = t.reserve(q, b, g.clock.Now())
	}
	return port.GateDecision{
		Footing: t.footing(), Replies: replies, Change: t.standing.Change, Sequence: t.sequence, Lease: t.lease(g.clock.Now()),
	}, nil
}

func (t *turnstile) reserve(q voucher.Request, b port.GateBatch, now time.Time) port.GateReply {
	if h, ok := t.orders[q.Order]; ok {
		h = t.shown(h)
		switch {
		case h.Conflicted:
			return port.GateReply{Code: port.GateConflicted, Hold: h}
		case h.Customer == q.Customer && h.OrderAmount == q.Amount:
			return port.GateReply{Code: port.GateDuplicate, Hold: h}
		}
		return port.GateReply{Code: port.GateConflict, Hold: h}
	}
	if code := t.refuses(q, b); code != 0 {
		return port.GateReply{Code: code}
	}
	if t.remaining <= 0 || now.Before(t.leaseUntil) {
		if !now.Before(t.leaseUntil) {
			t.leaseUntil = now.Add(port.SoldOutLease)
		}
		return port.GateReply{Code: port.GateOutOfStock}
	}
	t.sequence++
	created := voucher.Instant(b.Now)
	h := port.Hold{
		Order: q.Order, Customer: q.Customer, OrderAmount: q.Amount,
		DiscountAmount: min(t.standing.Terms.DiscountAmount, q.Amount), PerUserLimit: t.standing.Terms.PerUserLimit,
		Version:   voucher.Version{Epoch: t.epoch, Sequence: t.sequence},
		CreatedAt: created, ExpiresAt: voucher.Instant(created.Add(q.TTL)), Actor: q.Actor,
	}
	t.remaining--
	t.uses[q.Customer]++
	t.orders[q.Order], t.pending[q.Order] = h, now
	return port.GateReply{Code: port.GateReserved, Hold: t.shown(h)}
}

// refuses judges what comes after the order's own hold and before the stock.
func (t *turnstile) refuses(q voucher.Request, b port.GateBatch) port.GateCode {
	terms := t.standing.Terms
	switch {
	case b.As.Change < t.standing.Change:
		return port.GateStale
	case terms.Paused:
		return port.GatePaused
	case voucher.Instant(b.Now).Before(terms.StartsAt):
		return port.GateNotStarted
	case !voucher.Instant(b.Now).Before(terms.EndsAt):
		return port.GateEnded
	case q.Amount < terms.MinOrderAmount:
		return port.GateBelowMinimum
	case t.uses[q.Customer] >= terms.PerUserLimit:
		return port.GateCustomerLimit
	}
	return 0
}

// shown is the hold with its pending mark.
func (t *turnstile) shown(h port.Hold) port.Hold {
	_, h.Pending = t.pending[h.Order]
	return h
}

// settle takes a reservation out of pending and reports whether it is held.
func (t *turnstile) settle(ref port.GateRef) bool {
	h, ok := t.orders[ref.Order]
	if !ok || h.Conflicted || h.Version != ref.Version {
		return false
	}
	delete(t.pending, ref.Order)
	return true
}

// tell takes over a later state of the voucher. The limit is set, never moved by a difference.
func (t *turnstile) tell(as port.Standing) {
	if as.Change <= t.standing.Change {
		return
	}
	t.remaining += as.Terms.TotalLimit - t.standing.Terms.TotalLimit
	t.standing = as
}

// Acknowledge implements port.Gate.
func (g *Gate) Acknowledge(ctx context.Context, code voucher.Code, refs []port.GateRef) ([]bool, error) {
	if err := g.enter(ctx, len(refs)); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(code)
	if err != nil {
		return nil, err
	}
	held := make([]bool, len(refs))
	for i, ref := range refs {
		held[i] = t.settle(ref)
	}
	return held, nil
}

// GiveBack implements port.Gate.
func (g *Gate) GiveBack(ctx context.Context, code voucher.Code, epoch int64, refs []port.GateRef, conflicted bool) ([]bool, error) {
	if err := g.enter(ctx, len(refs)); err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(code)
	if err != nil {
		return nil, err
	}
	if t.epoch != epoch {
		return nil, port.ErrNotLoaded
	}
	held := make([]bool, len(refs))
	for i, ref := range refs {
		held[i] = t.giveBack(ref, conflicted)
	}
	return held, nil
}

func (t *turnstile) giveBack(ref port.GateRef, conflicted bool) bool {
	h, ok := t.orders[ref.Order]
	if !ok || h.Version != ref.Version {
		return false
	}
	if !h.Conflicted {
		t.remaining++
		if t.uses[h.Customer]--; t.uses[h.Customer] <= 0 {
			delete(t.uses, h.Customer)
		}
		delete(t.pending, ref.Order)
	}
	if conflicted {
		h.Conflicted = true
		t.orders[ref.Order] = h
	} else {
		delete(t.orders, ref.Order)
	}
	return true
}

// Find implements port.Gate.
func (g *Gate) Find(ctx context.Context, code voucher.Code, orders []voucher.OrderID) (map[voucher.OrderID]port.Hold, port.Footing, error) {
	if err := g.enter(ctx, len(orders)); err != nil {
		return nil, port.Footing{}, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(code)
	if err != nil {
		return nil, port.Footing{}, err
	}
	found := map[voucher.OrderID]port.Hold{}
	for _, id := range orders {
		if h, ok := t.orders[id]; ok {
			found[id] = t.shown(h)
		}
	}
	return found, t.footing(), nil
}

// identity is the server's name in a seal.
func (g *Gate) identity() string { return strconv.FormatInt(g.server, 10) }

// sortedOrders lists the orders in a fixed order.
func sortedOrders[V any](m map[voucher.OrderID]V) []voucher.OrderID {
	return slices.Sorted(maps.Keys(m))
}
