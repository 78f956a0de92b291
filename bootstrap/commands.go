package bootstrap

import (
	"context"
	"errors"

	"voucherd/adapters/cli"
	"voucherd/adapters/memory"
	"voucherd/adapters/postgres"
	"voucherd/application/upkeep"
	"voucherd/bootstrap/config"
	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

var errNoDatabase = errors.New("database.url is memory: there is nothing outside of a running process to work on; set it to a postgres:// URL")

// durable returns the settings if they name a database that outlives the process.
func (p process) durable(path string) (config.Settings, error) {
	s, err := p.settings(path)
	if err == nil && s.Database.InMemory() {
		err = errNoDatabase
	}
	return s, err
}

// audit reads one voucher's books straight from the database.
func (p process) audit(ctx context.Context, path string, code voucher.Code) (report audit.Report, err error) {
	s, err := p.durable(path)
	if err != nil {
		return audit.Report{}, err
	}
	db, err := openDatabase(s.Database, "voucherd audit", 1, memory.SystemClock{})
	if err != nil {
		return audit.Report{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.CheckSchema(ctx); err != nil {
		return audit.Report{}, err
	}
	return upkeep.Audit(ctx, db, code)
}

func (p process) migrateUp(ctx context.Context, path string) ([]cli.Migration, error) {
	return p.migrate(path, func(url string) ([]postgres.Migration, error) { return postgres.MigrateUp(ctx, url) })
}

func (p process) migrateDown(ctx context.Context, path string, all bool) ([]cli.Migration, error) {
	return p.migrate(path, func(url string) ([]postgres.Migration, error) { return postgres.MigrateDown(ctx, url, all) })
}

func (p process) migrateStatus(ctx context.Context, path string) ([]cli.Migration, error) {
	return p.migrate(path, func(url string) ([]postgres.Migration, error) { return postgres.MigrateStatus(ctx, url) })
}

func (p process) migrate(path string, do func(url string) ([]postgres.Migration, error)) ([]cli.Migration, error) {
	s, err := p.durable(path)
	if err != nil {
		return nil, err
	}
	done, err := do(s.Database.URL.Reveal())
	out := make([]cli.Migration, len(done))
	for i, m := range done {
		out[i] = cli.Migration(m)
	}
	return out, err
}
