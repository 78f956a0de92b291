package contract_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/postgres"
	"voucherd/test/clock"
	"voucherd/test/contract"
	"voucherd/test/env"
)

func migrate(ctx context.Context, url string) error {
	_, err := postgres.MigrateUp(ctx, url)
	return err
}

func TestPostgres(t *testing.T) {
	contract.Ledger(t, func(t testing.TB, clock *clock.Clock) contract.Stores {
		t.Helper()
		db, err := postgres.Open(postgres.Config{URL: env.Database(t, migrate), MaxConnections: 8}, clock)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return contract.Stores{Ledger: db, Reader: db, Books: db, Clock: clock}
	})
}
