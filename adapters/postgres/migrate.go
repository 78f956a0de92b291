package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"voucherd/migrations"
)

const (
	// versionTable is where the applied migrations are written down.
	versionTable = "voucherd_schema_version"

	// lockID is the advisory lock under which one process migrates and the others wait; the number is arbitrary.
	lockID = 7_823_114_509

	// The others look again every second, for five minutes.
	lockPeriod, lockAttempts = 1, 300

	migrationLockTimeout = 10 * time.Second
)

// Migration is one step of the schema's history.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time // zero while it is pending
}

// MigrateUp applies every pending migration to the database at url and returns those it applied, also when a later one
// failed: each stands by itself. Any number of processes may call it at once.
func MigrateUp(ctx context.Context, url string) ([]Migration, error) {
	return migrate(url, func(p *goose.Provider) ([]*goose.MigrationResult, error) { return p.Up(ctx) })
}

// MigrateDown undoes the latest migration, or all of them, with the data in what they had made. It returns those it
// undid; with none applied it does nothing.
func MigrateDown(ctx context.Context, url string, all bool) ([]Migration, error) {
	return migrate(url, func(p *goose.Provider) ([]*goose.MigrationResult, error) {
		if all {
			return p.DownTo(ctx, 0)
		}
		done, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil, nil
		}
		return []*goose.MigrationResult{done}, err
	})
}

// MigrateStatus returns every migration that this program knows, in order.
func MigrateStatus(ctx context.Context, url string) ([]Migration, error) {
	p, done, err := provider(url)
	if err != nil {
		return nil, err
	}
	defer done()
	found, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("status of the migrations: %w", err)
	}
	all := make([]Migration, len(found))
	for i, s := range found {
		all[i] = Migration{s.Source.Version, path.Base(s.Source.Path), s.AppliedAt}
	}
	return all, nil
}

func migrate(url string, run func(*goose.Provider) ([]*goose.MigrationResult, error)) ([]Migration, error) {
	p, done, err := provider(url)
	if err != nil {
		return nil, err
	}
	defer done()
	results, err := run(p)
	if part := (*goose.PartialError)(nil); errors.As(err, &part) {
		results = part.Applied
	}
	var ms []Migration
	for _, r := range results {
		if r != nil && r.Error == nil {
			ms = append(ms, Migration{Version: r.Source.Version, Name: path.Base(r.Source.Path)})
		}
	}
	if err != nil {
		return ms, fmt.Errorf("migrate: %w", err)
	}
	return ms, nil
}

// provider returns the migrations of the database at url and how to let go of it.
func provider(url string) (*goose.Provider, func(), error) {
	cfg := Config{URL: url, ApplicationName: "voucherd migrate"}.withDefaults()
	conn, err := cfg.connection(map[string]string{
		"application_name": cfg.ApplicationName,
		// A migration takes the time that it takes, but while it waits for a table it holds up everybody behind it.
		"lock_timeout": milliseconds(migrationLockTimeout),
	})
	if err != nil {
		return nil, nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(lockID), lock.WithLockTimeout(lockPeriod, lockAttempts))
	if err != nil {
		return nil, nil, fmt.Errorf("lock for the migrations: %w", err)
	}
	pool := stdlib.OpenDB(*conn)
	p, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.Files,
		goose.WithSessionLocker(locker), goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(slog.New(slog.DiscardHandler))) // what was done is returned; nothing else is worth a line
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("migrations: %w", err), pool.Close())
	}
	return p, func() { _ = pool.Close() }, nil // nothing is in flight
}

// latestMigration is the version that the schema has when all migrations are applied.
func latestMigration() (int64, error) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("migrations: none found: %w", err)
	}
	version, err := goose.NumericComponent(names[len(names)-1]) // fs.Glob sorts
	if err != nil {
		return 0, fmt.Errorf("migrations: %w", err)
	}
	return version, nil
}
