package bootstrap

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"

	"voucherd/adapters/memory"
	"voucherd/adapters/observe"
	"voucherd/adapters/rest"
	"voucherd/application/catalog"
	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/application/upkeep"
	"voucherd/bootstrap/config"
	"voucherd/domain/voucher"
)

// failure takes the one error that ends a process which was not told to stop; it has room for it.
type failure chan error

// graph is the whole map: which adapter stands behind which port, and what a process with these settings runs. fx
// starts what it lists in the order of dependence (storage, jobs, HTTP) and stops it in the opposite one.
func graph(s config.Settings, log *zap.Logger, failure failure) fx.Option {
	return fx.Options(
		fx.WithLogger(func() fxevent.Logger {
			l := &fxevent.ZapLogger{Logger: log.Named("fx")}
			l.UseLogLevel(zap.DebugLevel)
			l.UseErrorLevel(zap.DebugLevel) // errors are returned, and told by whoever gets them
			return l
		}),
		fx.Supply(s, log, failure),
		fx.Provide(
			func() port.Clock { return memory.SystemClock{} },
			func() *observe.Metrics { return observe.New(Version()) },
			newStorage,
			func(st *storage) port.Ledger { return st.api.ledger },
			func(st *storage) port.Reader { return st.api.reader },
			catalog.NewDirectory,
			newCatalog,
			newDeciders,
			newReservations,
			newServer,
		),
		fx.Invoke(startJobs, startServer),
	)
}

func newCatalog(lc fx.Lifecycle, ledger port.Ledger, reader port.Reader, d *catalog.Directory, clock port.Clock, s config.Settings,
	m *observe.Metrics,
) *catalog.Catalog {
	c := catalog.New(ledger, reader, d, clock, catalog.Settings{
		DefaultMode: s.Vouchers.DefaultMode, Configured: s.Vouchers.Modes, Served: served,
	})
	for name, stats := range c.Queues() {
		m.Queue(name, stats)
	}
	lc.Append(fx.StopHook(c.Wait)) // as below
	return c
}

// newDeciders says who decides a reserve in which mode.
func newDeciders(ledger port.Ledger, m *observe.Metrics, clock port.Clock) map[voucher.Mode]reservation.Decider {
	return map[voucher.Mode]reservation.Decider{
		voucher.Standard: observe.Decider(voucher.Standard, reservation.Standard{Ledger: ledger}, m, clock),
	}
}

func newReservations(lc fx.Lifecycle, ledger port.Ledger, reader port.Reader, d *catalog.Directory, deciders map[voucher.Mode]reservation.Decider,
	clock port.Clock, s config.Settings, m *observe.Metrics,
) *reservation.Service {
	svc := reservation.New(ledger, reader, d, deciders, clock, s.Reservation.TTL)
	for name, stats := range svc.Queues() {
		m.Queue(name, stats)
	}
	// Stopped after the server and before the storage: a batch whose callers have gone is finished all the same.
	lc.Append(fx.StopHook(func() {
		svc.Wait()
		d.Wait()
	}))
	return svc
}

func newServer(s config.Settings, c *catalog.Catalog, svc *reservation.Service, st *storage, clock port.Clock, m *observe.Metrics, log *zap.Logger) *rest.Server {
	d := rest.Deps{
		Clock: clock, Log: log, RequestTimeout: s.HTTP.RequestTimeout,
		Tokens: rest.Tokens{Admin: tokens(s.HTTP.AdminTokens), Checkout: tokens(s.HTTP.CheckoutTokens)},
		Ready:  func(context.Context) rest.Readiness { return st.readiness() }, Metrics: m.Handler(), Observe: m.Request,
	}
	// Without the role, only what operators ask for is served.
	if s.Roles.Has(config.RoleAPI) {
		d.Vouchers, d.Reservations = c, svc
	}
	return rest.New(d)
}

func tokens(ts []config.Token) []rest.Token {
	out := make([]rest.Token, len(ts))
	for i, t := range ts {
		out[i] = rest.Token{Name: t.Name, Token: t.Value.Reveal()}
	}
	return out
}

// startJobs runs what this process does by itself.
func startJobs(lc fx.Lifecycle, s config.Settings, st *storage, clock port.Clock, m *observe.Metrics, log *zap.Logger) {
	if s.Roles.Has(config.RoleJobs) {
		e := upkeep.NewExpirer(st.jobs.ledger, st.jobs.reader, clock)
		lc.Append(hook(newLoop(s.Jobs.ExpireInterval, log, observe.Expiry(e.Run, m, log))))
	}
	if st.watch != nil {
		lc.Append(hook(newLoop(watchInterval, log, st.watch.Run)))
	}
}

func hook(l *loop) fx.Hook { return fx.StartStopHook(l.Start, l.Stop) }

// startServer serves HTTP: all of it in the role api, else only what operators ask for.
func startServer(lc fx.Lifecycle, srv *rest.Server, s config.Settings, log *zap.Logger, failure failure) {
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			addr, err := srv.Listen(ctx, s.HTTP.Addr)
			if err != nil {
				return err
			}
			go func() {
				if err := srv.Serve(); err != nil {
					failure <- fmt.Errorf("the HTTP server failed: %w", err)
				}
			}()
			srv.SetReady(true)
			log.Info("serving", zap.String("addr", addr.String()), zap.Strings("roles", roleNames(s.Roles)))
			return nil
		},
		OnStop: func(ctx context.Context) error {
			srv.SetReady(false)
			wait(ctx, s.HTTP.DrainDelay)
			return srv.Shutdown(ctx)
		},
	})
}

func roleNames(rs config.Roles) []string {
	out := make([]string, len(rs))
	for i, r := range rs {
		out[i] = string(r)
	}
	return out
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
