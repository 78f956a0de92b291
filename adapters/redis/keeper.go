package redis

import (
	"context"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Tell implements port.GateKeeper.
func (g *Gate) Tell(ctx context.Context, code voucher.Code, as port.Standing) (port.GateTold, error) {
	return g.told(ctx, code, tellScript, terms([]any{micros(port.SoldOutLease)}, as))
}

// Lower implements port.GateKeeper.
func (g *Gate) Lower(ctx context.Context, code voucher.Code, as port.Standing, total int64) (port.GateTold, error) {
	return g.told(ctx, code, lowerScript, terms([]any{micros(port.SoldOutLease), number(total)}, as))
}

func (g *Gate) told(ctx context.Context, code voucher.Code, s script, args []any) (port.GateTold, error) {
	a, err := g.run(ctx, code, s, args)
	if err != nil {
		return port.GateTold{}, err
	}
	if err := a.status(); err != nil {
		return port.GateTold{}, err
	}
	t := port.GateTold{Footing: a.footing(), Change: a.number(), Total: a.number(), Lease: a.micros()}
	return t, a.err()
}

// Retire implements port.GateKeeper.
func (g *Gate) Retire(ctx context.Context, code voucher.Code, epoch int64, force bool) (bool, error) {
	a, err := g.run(ctx, code, retireScript, []any{number(epoch), flag(force)})
	if err != nil {
		return false, err
	}
	if err := a.status(); err != nil {
		return false, err
	}
	gone := a.yes()
	return gone, a.err()
}

// Close implements port.GateLoader.
func (g *Gate) Close(ctx context.Context, code voucher.Code, epoch int64) (port.Seal, error) {
	a, err := g.run(ctx, code, closeScript, []any{number(epoch)})
	if err != nil {
		return port.Seal{}, err
	}
	if err := a.status(); err != nil {
		return port.Seal{}, err
	}
	s := port.Seal{Code: code, Epoch: epoch, Server: a.next()}
	return s, a.err()
}

// Fill implements port.GateLoader.
func (g *Gate) Fill(ctx context.Context, s port.Seal, holds []port.Hold) error {
	if err := bounded(len(holds)); err != nil {
		return err
	}
	args := []any{number(s.Epoch), s.Server}
	for _, h := range holds {
		args = append(args, string(h.Order), number(int64(h.Customer)), encode(h))
	}
	a, err := g.run(ctx, s.Code, fillScript, args)
	if err != nil {
		return err
	}
	return a.status()
}

// Open implements port.GateLoader.
func (g *Gate) Open(ctx context.Context, s port.Seal, o port.Opening) (time.Duration, error) {
	args := terms([]any{
		number(s.Epoch), s.Server, micros(port.SoldOutLease), string(o.Mode), number(o.Remaining), number(o.Holds),
	}, o.Standing)
	a, err := g.run(ctx, s.Code, openScript, args)
	if err != nil {
		return 0, err
	}
	if err := a.status(); err != nil {
		return 0, err
	}
	wait := a.micros()
	return wait, a.err()
}
