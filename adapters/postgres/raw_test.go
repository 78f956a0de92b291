package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"
)

// raw opens the database beside the adapter: another client, an operator, or somebody who tampers.
func raw(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func exec(t testing.TB, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, query string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query)
	require.NoError(t, err)
}

func scan[V any](t testing.TB, db *sql.DB, query string, args ...any) (v V) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&v))
	return v
}

// refused runs a statement that the schema must refuse, by the constraint of that name.
func refused(t testing.TB, db *sql.DB, constraint, query string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query)
	var pg *pgconn.PgError
	require.ErrorAs(t, err, &pg, query)
	require.Equal(t, constraint, pg.ConstraintName, query)
}

// sabotage makes the server fail the first n inserts of history entries with an error of that SQLSTATE and constraint;
// deferred, it fails the COMMIT. A sequence counts, since it does not roll back.
func sabotage(t testing.TB, db *sql.DB, state, constraint string, n int, deferred bool) {
	t.Helper()
	exec(t, db, `DROP FUNCTION IF EXISTS fault() CASCADE; DROP SEQUENCE IF EXISTS faults; CREATE SEQUENCE faults`)
	exec(t, db, fmt.Sprintf(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF nextval('faults') <= %d THEN
				RAISE EXCEPTION 'forced' USING ERRCODE = '%s', CONSTRAINT = '%s';
			END IF;
			RETURN NEW;
		END $$`, n, state, constraint))
	if deferred {
		exec(t, db, `CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON voucher_event DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION fault()`)
		return
	}
	exec(t, db, `CREATE TRIGGER fault BEFORE INSERT ON voucher_event FOR EACH ROW EXECUTE FUNCTION fault()`)
}

// faults is how often the sabotaged statement ran.
func faults(t testing.TB, db *sql.DB) int64 {
	t.Helper()
	return scan[int64](t, db, `SELECT last_value FROM faults`)
}
