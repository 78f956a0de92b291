package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"voucherd/adapters/memory"
	"voucherd/adapters/observe"
	"voucherd/adapters/postgres"
	"voucherd/adapters/rest"
	"voucherd/application/port"
	"voucherd/bootstrap/config"
)

const (
	// databaseWait is how long a start waits for a database that is not up yet.
	databaseWait = 30 * time.Second
	// maxDatabasePause bounds the pause between two looks: left to grow, the last look would come many seconds before
	// the time is over, and a database that is back would wait for it.
	maxDatabasePause = time.Second
	// jobConnections is the pool of the jobs, beside the one for requests: neither can take the other's.
	jobConnections = 2
	// watchInterval is how often the database is looked at.
	watchInterval = 2 * time.Second
)

// shelf is a store as one kind of work sees it.
type shelf struct {
	ledger port.Ledger
	reader port.Reader
}

// storage is where the truth is kept: in this process, or in Postgres with a pool for requests and one for the jobs.
type storage struct {
	api, jobs shelf
	watch     *observe.Watch // nil where there is no server
}

// readiness says what is known of the servers, without asking them: whoever asks may not be known to us.
func (st *storage) readiness() rest.Readiness {
	if st.watch == nil {
		return rest.Readiness{}
	}
	return rest.Readiness{Dependencies: []rest.Dependency{{Name: "postgres", Up: st.watch.Up()}}}
}

func newStorage(lc fx.Lifecycle, s config.Settings, clock port.Clock, m *observe.Metrics, log *zap.Logger) (*storage, error) {
	if s.Database.InMemory() {
		store := memory.New(clock)
		sh := shelf{observe.Ledger(store, m, log), store}
		lc.Append(fx.StartHook(func() {
			log.Warn("vouchers are kept in this process's memory and are gone when it stops; set database.url to keep them")
		}))
		return &storage{api: sh, jobs: sh}, nil
	}
	api, err := openDatabase(s.Database, "voucherd", s.Database.MaxConnections, clock)
	if err != nil {
		return nil, err
	}
	jobs, err := openDatabase(s.Database, "voucherd jobs", jobConnections, clock)
	if err != nil {
		return nil, err
	}
	m.Pool("requests", api.SQL())
	m.Pool("jobs", jobs.SQL())
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error { return prepare(ctx, jobs, s.Database, log) },
		OnStop:  func(context.Context) error { return errors.Join(api.Close(), jobs.Close()) },
	})
	return &storage{
		api:   shelf{observe.Ledger(api, m, log), api},
		jobs:  shelf{observe.Ledger(jobs, m, log), jobs},
		watch: observe.NewWatch(jobs.Skew, m, log),
	}, nil
}

func openDatabase(s config.Database, name string, connections int, clock port.Clock) (*postgres.DB, error) {
	return postgres.Open(postgres.Config{URL: s.URL.Reveal(), ApplicationName: name, MaxConnections: connections}, clock)
}

// prepare waits for the database, bounded, brings the schema up to date if it may, and refuses a database on which the
// promises can't be kept.
func prepare(ctx context.Context, db *postgres.DB, s config.Database, log *zap.Logger) error {
	ping := func() (struct{}, error) { return struct{}{}, db.Ping(ctx) }
	pauses := backoff.NewExponentialBackOff()
	pauses.MaxInterval = maxDatabasePause
	_, err := backoff.Retry(ctx, ping, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(databaseWait),
		backoff.WithNotify(func(err error, next time.Duration) {
			log.Warn("waiting for the database", zap.Duration("next", next.Round(time.Millisecond)), zap.Error(err))
		}))
	if err != nil {
		return fmt.Errorf("the database is not reached within %s: %w", databaseWait, err)
	}
	// Before anything is written into it.
	if err := db.CheckServer(ctx); err != nil {
		return err
	}
	if s.AutoMigrate {
		done, err := postgres.MigrateUp(ctx, s.URL.Reveal())
		if err != nil {
			return err
		}
		for _, mig := range done {
			log.Info("migration applied", zap.Int64("version", mig.Version), zap.String("name", mig.Name))
		}
	}
	return db.CheckSchema(ctx)
}
