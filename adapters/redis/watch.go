package redis

import (
	"context"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// inspectPage is about how many entries one step of an inspection looks at.
const inspectPage = 256

// Pending implements port.GateWatch.
func (g *Gate) Pending(ctx context.Context, code voucher.Code, age time.Duration, limit int) ([]port.Hold, port.Footing, error) {
	if err := bounded(limit); err != nil {
		return nil, port.Footing{}, err
	}
	a, err := g.run(ctx, code, pendingScript, []any{micros(age), limit})
	if err != nil {
		return nil, port.Footing{}, err
	}
	if err := a.status(); err != nil {
		return nil, port.Footing{}, err
	}
	footing := a.footing()
	var holds []port.Hold
	for a.more() {
		order := voucher.OrderID(a.next())
		h, err := decode(order, a.next())
		if err != nil {
			return nil, port.Footing{}, a.fail(err.Error())
		}
		h.Pending = true
		holds = append(holds, h)
	}
	return holds, footing, a.err()
}

// Live implements port.GateWatch.
func (g *Gate) Live(ctx context.Context, code voucher.Code) (port.GateLive, error) {
	a, err := g.run(ctx, code, liveScript, []any{port.GateLiveMax})
	if err != nil {
		return port.GateLive{}, err
	}
	if err := a.status(); err != nil {
		return port.GateLive{}, err
	}
	live := port.GateLive{Footing: a.footing(), Sequence: a.number(), Complete: a.yes()}
	for a.more() {
		live.Orders = append(live.Orders, voucher.OrderID(a.next()))
	}
	return live, a.err()
}

// Summary implements port.GateWatch.
func (g *Gate) Summary(ctx context.Context, code voucher.Code) (port.GateSummary, error) {
	s, _, err := g.page(ctx, code, "", "0")
	return s, err
}

// Inspect implements port.GateWatch.
func (g *Gate) Inspect(ctx context.Context, code voucher.Code, visit port.GateVisitor) error {
	first, err := g.Summary(ctx, code)
	if err != nil {
		return err
	}
	visit.Summary(first)
	if !first.Open {
		return nil
	}
	err = g.scan(ctx, code, "orders", first.Footing, func(a *answer) {
		var holds []port.Hold
		for a.more() {
			holds = append(holds, a.hold(voucher.OrderID(a.next())))
		}
		visit.Holds(holds)
	})
	if err != nil {
		return err
	}
	return g.scan(ctx, code, "users", first.Footing, func(a *answer) {
		uses := map[voucher.CustomerID]int64{}
		for a.more() {
			customer := voucher.CustomerID(a.number())
			uses[customer] = a.number()
		}
		visit.Customers(uses)
	})
}

// scan walks over one of the gate's hashes while others go on, for as long as the gate is the one it began with. Redis
// promises that what is there all the time is met, and that the walk ends.
func (g *Gate) scan(ctx context.Context, code voucher.Code, what string, footing port.Footing, visit func(*answer)) error {
	for cursor := "0"; ; {
		s, a, err := g.page(ctx, code, what, cursor)
		if err != nil {
			return err
		}
		if !s.Open || s.Footing != footing {
			return port.ErrStale
		}
		if cursor = a.next(); a.more() {
			visit(a)
		}
		if err := a.err(); err != nil {
			return err
		}
		if cursor == "0" {
			return nil
		}
	}
}

// page returns the numbers, and an answer that goes on with the cursor and the page.
func (g *Gate) page(ctx context.Context, code voucher.Code, what, cursor string) (port.GateSummary, *answer, error) {
	a, err := g.run(ctx, code, inspectScript, []any{what, cursor, inspectPage})
	if err != nil {
		return port.GateSummary{}, nil, err
	}
	if a.refused() {
		return port.GateSummary{}, a, nil
	}
	if err := a.status(); err != nil {
		return port.GateSummary{}, nil, err
	}
	s := port.GateSummary{
		Open: true, Footing: a.footing(), Change: a.number(), Total: a.number(), Remaining: a.number(),
		Orders: a.number(), Conflicted: a.number(), Customers: a.number(), Pending: a.number(),
	}
	return s, a, a.err()
}
