package env

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

var migrations atomic.Int32

func migrateShelf(ctx context.Context, url string) error {
	migrations.Add(1)
	return execute(ctx, url, "CREATE TABLE shelf (item text PRIMARY KEY)")
}

func execute(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

func number(t *testing.T, url, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&n))
	require.NoError(t, conn.Close(t.Context()))
	return n
}

const itemsOnShelf = "SELECT count(*) FROM shelf"

func TestClonesAreIsolatedAndMigratedOnce(t *testing.T) {
	one, two := Database(t, migrateShelf), Database(t, migrateShelf)
	require.NotEqual(t, one, two)
	require.NoError(t, execute(t.Context(), one, "INSERT INTO shelf VALUES ('book')"))
	require.Equal(t, 1, number(t, one, itemsOnShelf))
	require.Equal(t, 0, number(t, two, itemsOnShelf))
	require.EqualValues(t, 1, migrations.Load())
}

func TestClonesInParallel(t *testing.T) {
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			require.Equal(t, 0, number(t, Database(t, migrateShelf), itemsOnShelf))
		})
	}
}

func TestEachMigrationHasItsTemplate(t *testing.T) {
	migrateBox := func(ctx context.Context, url string) error {
		return execute(ctx, url, "CREATE TABLE box (item text)")
	}
	Database(t, migrateShelf)
	require.Equal(t, 0, number(t, Database(t, migrateBox), "SELECT count(*) FROM box"))
}

func TestAFailedMigrationIsReportedEachTime(t *testing.T) {
	failure := errors.New("no")
	cloner := shared.clones(t)
	for range 2 {
		_, err := cloner.clone(t.Context(), func(context.Context, string) error { return failure })
		require.ErrorIs(t, err, failure)
	}
	require.NoError(t, cloner.exec(t.Context(), "DROP DATABASE IF EXISTS "+
		quote(cloner.prefix+"_template_3")))
}

func TestADatabaseGoesWithItsTest(t *testing.T) {
	var url string
	var left *pgx.Conn
	t.Run("", func(t *testing.T) {
		url = EmptyDatabase(t)
		var err error
		left, err = pgx.Connect(t.Context(), url) // a client that forgets to leave
		require.NoError(t, err)
	})
	_, err := pgx.Connect(t.Context(), url)
	require.ErrorContains(t, err, "does not exist")
	_ = left.Close(t.Context())
}

func TestAFreshDatabaseHasNoTables(t *testing.T) {
	url := EmptyDatabase(t)
	require.Equal(t, 0, number(t, url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"))
}

func TestThePrivateServerIsDurableAndItsRoleOrdinary(t *testing.T) {
	url := StartPostgres(t).URL()
	require.Equal(t, 1, number(t, url, `SELECT count(*) FROM pg_roles
		WHERE rolname = current_user AND rolcreatedb AND NOT rolsuper`))
	require.Equal(t, 3, number(t, url, `SELECT count(*) FROM pg_settings WHERE setting = 'on'
		AND name IN ('fsync', 'synchronous_commit', 'full_page_writes')`))
}

// soon bounds what should happen at once, on a busy machine.
const soon = 20 * time.Second
