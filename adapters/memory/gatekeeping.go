package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Pending implements port.GateWatch.
func (g *Gate) Pending(ctx context.Context, code voucher.Code, age time.Duration, limit int) ([]port.Hold, port.Footing, error) {
	if err := g.enter(ctx, limit); err != nil {
		return nil, port.Footing{}, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(code)
	if err != nil {
		return nil, port.Footing{}, err
	}
	latest := g.clock.Now().Add(-age)
	ids := slices.DeleteFunc(sortedOrders(t.pending), func(id voucher.OrderID) bool { return t.pending[id].After(latest) })
	slices.SortStableFunc(ids, func(a, b voucher.OrderID) int {
		return cmp.Or(t.pending[a].Compare(t.pending[b]), cmp.Compare(a, b))
	})
	holds := make([]port.Hold, 0, min(limit, len(ids)))
	for _, id := range ids[:min(limit, len(ids))] {
		holds = append(holds, t.shown(t.orders[id]))
	}
	return holds, t.footing(), nil
}

// Live implements port.GateWatch.
func (g *Gate) Live(ctx context.Context, code voucher.Code) (port.GateLive, error) {
	if err := g.enter(ctx, 0); err != nil {
		return port.GateLive{}, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(code)
	if err != nil {
		return port.GateLive{}, err
	}
	live := port.GateLive{Footing: t.footing(), Sequence: t.sequence, Complete: len(t.orders) <= port.GateLiveMax}
	if live.Complete {
		live.Orders = sortedOrders(t.orders)
	}
	return live, nil
}

// Summary implements port.GateWatch.
func (g *Gate) Summary(ctx context.Context, code voucher.Code) (port.GateSummary, error) {
	if err := g.enter(ctx, 0); err != nil {
		return port.GateSummary{}, err
	}
	defer g.mu.Unlock()
	return g.summary(code), nil
}

func (g *Gate) summary(code voucher.Code) port.GateSummary {
	t, err := g.serving(code)
	if err != nil {
		return port.GateSummary{}
	}
	s := port.GateSummary{
		Footing: t.footing(), Open: true, Change: t.standing.Change, Total: t.standing.Terms.TotalLimit, Remaining: t.remaining,
		Orders: int64(len(t.orders)), Customers: int64(len(t.uses)), Pending: int64(len(t.pending)),
	}
	for _, h := range t.orders {
		if h.Conflicted {
			s.Conflicted++
		}
	}
	return s
}

// Inspect implements port.GateWatch. What it shows is of one instant.
func (g *Gate) Inspect(ctx context.Context, code voucher.Code, visit port.GateVisitor) error {
	if err := g.enter(ctx, 0); err != nil {
		return err
	}
	summary := g.summary(code)
	var holds []port.Hold
	var uses map[voucher.CustomerID]int64
	if t, err := g.serving(code); err == nil {
		uses = maps.Clone(t.uses)
		for _, id := range sortedOrders(t.orders) {
			holds = append(holds, t.shown(t.orders[id]))
		}
	}
	g.mu.Unlock() // the visitor may take its time, or call back
	visit.Summary(summary)
	for page := range slices.Chunk(holds, port.GateBatchMax) {
		visit.Holds(page)
	}
	customers := slices.Sorted(maps.Keys(uses))
	for ids := range slices.Chunk(customers, port.GateBatchMax) {
		page := make(map[voucher.CustomerID]int64, len(ids))
		for _, id := range ids {
			page[id] = uses[id]
		}
		visit.Customers(page)
	}
	return nil
}

// Tell implements port.GateKeeper.
func (g *Gate) Tell(ctx context.Context, code voucher.Code, as port.Standing) (port.GateTold, error) {
	if err := g.enter(ctx, 0); err != nil {
		return port.GateTold{}, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(code)
	if err != nil {
		return port.GateTold{}, err
	}
	t.tell(as)
	return g.told(t), nil
}

func (g *Gate) told(t *turnstile) port.GateTold {
	return port.GateTold{
		Footing: t.footing(), Change: t.standing.Change, Total: t.standing.Terms.TotalLimit, Lease: t.lease(g.clock.Now()),
	}
}

// Lower implements port.GateKeeper.
func (g *Gate) Lower(ctx context.Context, code voucher.Code, as port.Standing, total int64) (port.GateTold, error) {
	if err := g.enter(ctx, 0); err != nil {
		return port.GateTold{}, err
	}
	defer g.mu.Unlock()
	t, err := g.serving(code)
	if err != nil {
		return port.GateTold{}, err
	}
	if as.Change < t.standing.Change {
		return port.GateTold{}, port.ErrStale
	}
	t.tell(as)
	if less := t.standing.Terms.TotalLimit - total; less > 0 {
		if t.remaining < less {
			return port.GateTold{}, voucher.ErrLimitBelowUsed
		}
		t.remaining -= less
		t.standing.Terms.TotalLimit = total
	}
	return g.told(t), nil
}

// Retire implements port.GateKeeper.
func (g *Gate) Retire(ctx context.Context, code voucher.Code, epoch int64, force bool) (bool, error) {
	if err := g.enter(ctx, 0); err != nil {
		return false, err
	}
	defer g.mu.Unlock()
	t, ok := g.gates[code]
	if !ok {
		return true, nil
	}
	if t.server == g.server && (t.epoch > epoch || !force && t.open && len(t.orders) > 0) {
		return false, nil
	}
	delete(g.gates, code)
	return true, nil
}

// Close implements port.GateLoader.
func (g *Gate) Close(ctx context.Context, code voucher.Code, epoch int64) (port.Seal, error) {
	if err := g.enter(ctx, 0); err != nil {
		return port.Seal{}, err
	}
	defer g.mu.Unlock()
	seal := port.Seal{Code: code, Epoch: epoch, Server: g.identity()}
	if t, ok := g.gates[code]; ok && t.server == g.server {
		switch {
		case t.epoch > epoch || t.epoch == epoch && t.open:
			return port.Seal{}, port.ErrSuperseded
		case t.epoch == epoch:
			return seal, nil
		}
	}
	g.gates[code] = &turnstile{
		server: g.server, epoch: epoch, closedAt: g.clock.Now(), orders: map[voucher.OrderID]port.Hold{},
		uses: map[voucher.CustomerID]int64{}, pending: map[voucher.OrderID]time.Time{},
	}
	return seal, nil
}

// sealed returns the gate that the seal was given for.
func (g *Gate) sealed(s port.Seal) (*turnstile, error) {
	t, ok := g.gates[s.Code]
	if !ok || t.server != g.server || s.Server != g.identity() || t.epoch != s.Epoch {
		return nil, port.ErrSuperseded
	}
	return t, nil
}

// Fill implements port.GateLoader.
func (g *Gate) Fill(ctx context.Context, s port.Seal, holds []port.Hold) error {
	if err := g.enter(ctx, len(holds)); err != nil {
		return err
	}
	defer g.mu.Unlock()
	t, err := g.sealed(s)
	if err != nil {
		return err
	}
	if t.open {
		return port.ErrSuperseded
	}
	for _, h := range holds {
		if _, ok := t.orders[h.Order]; !ok {
			h.Pending = false // it is stored, or it could not have been read
			t.orders[h.Order] = h
			t.uses[h.Customer]++
		}
	}
	return nil
}

// Open implements port.GateLoader.
func (g *Gate) Open(ctx context.Context, s port.Seal, o port.Opening) (time.Duration, error) {
	if err := g.enter(ctx, 0); err != nil {
		return 0, err
	}
	defer g.mu.Unlock()
	t, err := g.sealed(s)
	if err != nil || t.open {
		return 0, err
	}
	if int64(len(t.orders)) != o.Holds {
		return 0, port.ErrSuperseded
	}
	if wait := t.closedAt.Add(port.SoldOutLease).Sub(g.clock.Now()); wait > 0 {
		return wait, nil
	}
	t.open, t.mode, t.standing, t.remaining = true, o.Mode, o.Standing, o.Remaining
	return 0, nil
}
