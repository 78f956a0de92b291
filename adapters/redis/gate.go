package redis

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Gate is the gates of all vouchers. Safe for concurrent use, by any number of processes.
type Gate struct {
	client   redis.UniversalClient
	timeout  time.Duration
	replicas int
	wait     time.Duration
}

var (
	_ port.Gate       = (*Gate)(nil)
	_ port.GateWatch  = (*Gate)(nil)
	_ port.GateKeeper = (*Gate)(nil)
	_ port.GateLoader = (*Gate)(nil)
)

// Disconnect closes all connections; calls that are under way fail.
func (g *Gate) Disconnect() error { return g.client.Close() }

// leaseMargin is taken off a lease that is passed on: this machine's clock may run slower than the server's for as long
// as a lease lasts.
const leaseMargin = time.Millisecond

// bounded refuses a call of too many elements.
func bounded(n int) error {
	if n > port.GateBatchMax {
		return fmt.Errorf("%w: %d elements in one call", port.ErrOverloaded, n)
	}
	return nil
}

// Reserve implements port.Gate.
func (g *Gate) Reserve(ctx context.Context, b port.GateBatch) (port.GateDecision, error) {
	if err := bounded(max(len(b.Requests), len(b.Settled))); err != nil {
		return port.GateDecision{}, err
	}
	const head, perRef, perRequest = 11, 2, 5
	created := voucher.Instant(b.Now)
	args := make([]any, 0, head+perRef*len(b.Settled)+perRequest*len(b.Requests))
	args = append(args, micros(port.SoldOutLease), millis(created))
	args = terms(args, b.As)
	args = append(args, len(b.Settled))
	args = refs(args, b.Settled)
	for _, q := range b.Requests {
		args = append(args, string(q.Order), number(int64(q.Customer)), number(q.Amount),
			millis(voucher.Instant(created.Add(q.TTL))), q.Actor)
	}
	a, err := g.run(ctx, b.Code, reserveScript, args)
	if err != nil {
		return port.GateDecision{}, err
	}
	if err := a.status(); err != nil {
		return port.GateDecision{}, err
	}
	d := port.GateDecision{Footing: a.footing(), Sequence: a.number(), Change: a.number()}
	d.Lease = max(0, min(a.micros(), port.SoldOutLease)-leaseMargin)
	d.Replies = make([]port.GateReply, len(b.Requests))
	for i, q := range b.Requests {
		d.Replies[i] = a.reply(q.Order)
	}
	return d, a.err()
}

// reply takes what was said to one request.
func (a *answer) reply(order voucher.OrderID) port.GateReply {
	word := a.next()
	r := port.GateReply{Code: wireCodes[word]}
	if r.Code == 0 {
		_ = a.fail("code " + word)
		return r
	}
	if a.more() && a.values[a.at] != "" {
		r.Hold = a.hold(order)
		return r
	}
	a.next() // no record
	a.next() // hence not pending
	return r
}

// Acknowledge implements port.Gate.
func (g *Gate) Acknowledge(ctx context.Context, code voucher.Code, rs []port.GateRef) ([]bool, error) {
	return g.marks(ctx, code, acknowledgeScript, rs)
}

// GiveBack implements port.Gate.
func (g *Gate) GiveBack(ctx context.Context, code voucher.Code, epoch int64, rs []port.GateRef, conflicted bool) ([]bool, error) {
	return g.marks(ctx, code, giveBackScript, rs, number(epoch), flag(conflicted))
}

// marks runs a script that says yes or no to each reservation.
func (g *Gate) marks(ctx context.Context, code voucher.Code, s script, rs []port.GateRef, head ...any) ([]bool, error) {
	if err := bounded(len(rs)); err != nil {
		return nil, err
	}
	a, err := g.run(ctx, code, s, refs(head, rs))
	if err != nil {
		return nil, err
	}
	if err := a.status(); err != nil {
		return nil, err
	}
	marks := a.bools(len(rs))
	return marks, a.err()
}

// Find implements port.Gate.
func (g *Gate) Find(ctx context.Context, code voucher.Code, orders []voucher.OrderID) (map[voucher.OrderID]port.Hold, port.Footing, error) {
	if err := bounded(len(orders)); err != nil {
		return nil, port.Footing{}, err
	}
	args := make([]any, len(orders))
	for i, id := range orders {
		args[i] = string(id)
	}
	a, err := g.run(ctx, code, findScript, args)
	if err != nil {
		return nil, port.Footing{}, err
	}
	if err := a.status(); err != nil {
		return nil, port.Footing{}, err
	}
	footing, found := a.footing(), map[voucher.OrderID]port.Hold{}
	for _, id := range orders {
		if a.more() && a.values[a.at] == "" {
			a.next()
			a.next()
			continue
		}
		found[id] = a.hold(id)
	}
	return found, footing, a.err()
}
