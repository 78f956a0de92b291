package postgres_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"voucherd/adapters/postgres"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// insertRedemption is raw SQL, as from faulty code.
func insertRedemption(code, order, status string) string {
	at := map[string]string{"RESERVED": "NULL, NULL, NULL", "CONFIRMED": "now(), NULL, NULL", "RELEASED": "NULL, now(), 'CANCELLED'"}
	ends, ok := at[status]
	if !ok {
		ends = "NULL, NULL, NULL"
	}
	return fmt.Sprintf(`INSERT INTO voucher_redemption (voucher_code, order_id, status, confirmed_at, released_at, release_reason,
			customer_id, order_amount, discount_amount, epoch, sequence, created_at, expires_at)
		VALUES ('%s', '%s', '%s', %s, 1, 5000, 1000, 1, 1, now(), now())`, code, order, status, ends)
}

// P7: the database alone refuses what faulty code, or somebody's hand, would do.
func TestConstraintsAlone(t *testing.T) {
	url := env.Database(t, migrate)
	db, sql := open(t, url), raw(t, url)
	newVoucher(t, db, "SALE", 2, 2)
	newVoucher(t, db, "OTHER", 2, 2)
	_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"), request(1, "b"))
	require.NoError(t, err)
	before := everything(t, sql)
	for _, c := range []struct{ constraint, query string }{
		{"voucher_used_count_within_limit", `UPDATE voucher SET used_count = used_count + 1 WHERE code = 'SALE'`},
		{"voucher_used_count_within_limit", `UPDATE voucher SET total_limit = 1 WHERE code = 'SALE'`},
		{"voucher_used_count_not_negative", `UPDATE voucher SET used_count = used_count - 3 WHERE code = 'SALE'`},
		{"voucher_code_form", `UPDATE voucher SET code = 'other' WHERE code = 'OTHER'`},
		{"voucher_code_form", `UPDATE voucher SET code = 'A{B}C' WHERE code = 'OTHER'`},
		{"voucher_discount_amount_range", `UPDATE voucher SET discount_amount = 0`},
		{"voucher_discount_amount_range", `UPDATE voucher SET discount_amount = 9007199254740992`},
		{"voucher_min_order_amount_range", `UPDATE voucher SET min_order_amount = -1`},
		{"voucher_total_limit_range", `UPDATE voucher SET total_limit = 0 WHERE code = 'OTHER'`},
		{"voucher_per_user_limit_range", `UPDATE voucher SET per_user_limit = 0`},
		{"voucher_window", `UPDATE voucher SET ends_at = starts_at`},
		{"voucher_mode_known", `UPDATE voucher SET mode = 'fast'`},
		{"voucher_config_mode_known", `UPDATE voucher SET config_mode = ''`},
		{"voucher_drained_epoch_range", `UPDATE voucher SET drained_epoch = epoch + 1`},
		{"voucher_pkey", `UPDATE voucher SET code = 'SALE' WHERE code = 'OTHER'`},

		{"voucher_redemption_live_order", insertRedemption("OTHER", "a", "RESERVED")},
		{"voucher_redemption_live_order", insertRedemption("OTHER", "a", "CONFIRMED")},
		{"voucher_redemption_pkey", insertRedemption("SALE", "a", "RELEASED")},
		{"voucher_redemption_status_known", insertRedemption("SALE", "x", "PAID")},
		{"voucher_redemption_status_known", `UPDATE voucher_redemption SET status = 'reserved'`},
		{"voucher_redemption_voucher", insertRedemption("NONE", "x", "RESERVED")},
		{"voucher_redemption_end_fits_status", `UPDATE voucher_redemption SET status = 'CONFIRMED'`},
		{"voucher_redemption_end_fits_status", `UPDATE voucher_redemption SET status = 'RELEASED', released_at = now()`},
		{"voucher_redemption_end_fits_status", `UPDATE voucher_redemption SET confirmed_at = now()`},
		{"voucher_redemption_release_reason_known", `UPDATE voucher_redemption SET status = 'RELEASED', released_at = now(), release_reason = 'LOST'`},
		{"voucher_redemption_discount_amount_range", `UPDATE voucher_redemption SET discount_amount = order_amount + 1`},
		{"voucher_redemption_discount_amount_range", `UPDATE voucher_redemption SET discount_amount = 0`},
		{"voucher_redemption_order_amount_range", `UPDATE voucher_redemption SET order_amount = 9007199254740992`},
		{"voucher_redemption_customer_id_positive", `UPDATE voucher_redemption SET customer_id = 0`},
		{"voucher_redemption_order_id_length", `UPDATE voucher_redemption SET order_id = '' WHERE order_id = 'a'`},
		{"voucher_redemption_sequence_not_negative", `UPDATE voucher_redemption SET sequence = -1`},

		{"voucher_customer_uses_within_limit", `UPDATE voucher_customer SET uses = uses + 1`},
		{"voucher_customer_uses_within_limit", `UPDATE voucher_customer SET uses = -1`},
		{"voucher_customer_uses_within_limit", `UPDATE voucher_customer SET limit_seen = 1`},
		{"voucher_customer_pkey", `INSERT INTO voucher_customer (voucher_code, customer_id, uses, limit_seen) VALUES ('SALE', 1, 0, 1)`},

		{"voucher_event_is_append_only", `UPDATE voucher_event SET actor = 'nobody'`},
		{"voucher_event_is_append_only", `DELETE FROM voucher_event`},
		{"voucher_event_is_append_only", `TRUNCATE voucher_event`},
		{"voucher_event_kind_known", `INSERT INTO voucher_event (voucher_code, kind, epoch, sequence, actor, at, before, after) VALUES ('SALE', 'LOST', 1, 1, 'x', now(), '{}', '{}')`},
		{"voucher_event_subject", `INSERT INTO voucher_event (voucher_code, kind, epoch, sequence, actor, at, after) VALUES ('SALE', 'RESERVED', 1, 1, 'x', now(), '{}')`},
	} {
		refused(t, sql, c.constraint, c.query)
	}
	require.Equal(t, before, everything(t, sql))
	// A released order is no live one.
	exec(t, sql, insertRedemption("OTHER", "a", "RELEASED"))
}

func TestMigrateWithData(t *testing.T) {
	url := env.EmptyDatabase(t)
	status, err := postgres.MigrateStatus(t.Context(), url)
	require.NoError(t, err)
	require.NotEmpty(t, status)
	for _, m := range status {
		require.Zero(t, m.AppliedAt)
	}
	for range 2 {
		applied, err := postgres.MigrateUp(t.Context(), url)
		require.NoError(t, err)
		require.Len(t, applied, len(status))
		require.Equal(t, status[0].Name, applied[0].Name)
		applied, err = postgres.MigrateUp(t.Context(), url)
		require.NoError(t, err)
		require.Empty(t, applied)
		fillAndEmpty(t, url)
	}
	// One at a time as well, to the ground and not below.
	require.NoError(t, migrate(t.Context(), url))
	for i := range len(status) + 1 {
		undone, err := postgres.MigrateDown(t.Context(), url, false)
		require.NoError(t, err)
		require.Len(t, undone, min(1, len(status)-i))
	}
}

// fillAndEmpty uses a fresh schema, and undoes it with the data in it.
func fillAndEmpty(t *testing.T, url string) {
	t.Helper()
	status, err := postgres.MigrateStatus(t.Context(), url)
	require.NoError(t, err)
	for _, m := range status {
		require.WithinDuration(t, time.Now(), m.AppliedAt, time.Hour)
	}
	db, sql := open(t, url), raw(t, url)
	newVoucher(t, db, "SALE", 2, 2)
	out, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"), request(1, "b"))
	require.NoError(t, err)
	require.Equal(t, voucher.Granted, out[1].Verdict)
	undone, err := postgres.MigrateDown(t.Context(), url, true)
	require.NoError(t, err)
	require.Len(t, undone, len(status))
	require.Zero(t, scan[int](t, sql, `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relname LIKE 'voucher%' AND c.relname NOT LIKE 'voucherd_schema_version%'`))
	require.Zero(t, scan[int](t, sql, `SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'`))
	undone, err = postgres.MigrateDown(t.Context(), url, true)
	require.NoError(t, err)
	require.Empty(t, undone)
}

// Several processes start at once on an empty database.
func TestMigrateAtOnce(t *testing.T) {
	url := env.EmptyDatabase(t)
	var wg sync.WaitGroup
	var applied [5]int
	var errs [5]error
	for i := range applied {
		wg.Go(func() {
			var ms []postgres.Migration
			ms, errs[i] = postgres.MigrateUp(t.Context(), url)
			applied[i] = len(ms)
		})
	}
	wg.Wait()
	sum := 0
	for i, err := range errs {
		require.NoError(t, err)
		sum += applied[i]
	}
	status, err := postgres.MigrateStatus(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, len(status), sum)
}

// Standard output belongs to the commands.
func TestMigrateIsSilent(t *testing.T) {
	url := env.EmptyDatabase(t)
	stdout, stderr := os.Stdout, os.Stderr
	read, write, err := os.Pipe()
	require.NoError(t, err)
	os.Stdout, os.Stderr = write, write
	err = migrate(t.Context(), url)
	os.Stdout, os.Stderr = stdout, stderr
	require.NoError(t, err)
	require.NoError(t, write.Close())
	var said bytes.Buffer
	_, err = io.Copy(&said, read)
	require.NoError(t, err)
	require.Empty(t, said.String())
}

func TestCheckSchema(t *testing.T) {
	url := env.EmptyDatabase(t)
	db, sql := open(t, url), raw(t, url)
	require.ErrorIs(t, db.CheckSchema(t.Context()), postgres.ErrUnfit)
	require.NoError(t, migrate(t.Context(), url))
	require.NoError(t, db.CheckSchema(t.Context()))
	exec(t, sql, `INSERT INTO voucherd_schema_version (version_id, is_applied) VALUES (99999, true)`)
	require.ErrorIs(t, db.CheckSchema(t.Context()), postgres.ErrUnfit)
	_, err := postgres.MigrateDown(t.Context(), url, true)
	require.Error(t, err, "a migration that this program doesn't know")
}

func TestCheckServer(t *testing.T) {
	url := env.EmptyDatabase(t)
	sql := raw(t, url)
	require.NoError(t, open(t, url).CheckServer(t.Context()))
	name := scan[string](t, sql, `SELECT current_database()`)
	exec(t, sql, `ALTER DATABASE `+name+` SET synchronous_commit = off`)
	require.ErrorIs(t, open(t, url).CheckServer(t.Context()), postgres.ErrUnfit)
	exec(t, sql, `ALTER DATABASE `+name+` SET synchronous_commit = local`)
	require.NoError(t, open(t, url).CheckServer(t.Context()))
}

// What a session asks of the server goes before what the database or the URL says.
func TestSessionSettings(t *testing.T) {
	url := env.Database(t, migrate)
	sql := raw(t, url)
	name := scan[string](t, sql, `SELECT current_database()`)
	exec(t, sql, `ALTER DATABASE `+name+` SET default_transaction_isolation = 'serializable'`)
	exec(t, sql, `ALTER DATABASE `+name+` SET statement_timeout = 0`)
	exec(t, sql, `ALTER DATABASE `+name+` SET timezone = 'America/Los_Angeles'`)
	exec(t, sql, `ALTER DATABASE `+name+` SET default_transaction_read_only = on`)
	exec(t, sql, `BEGIN READ WRITE; CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION USING ERRCODE = '23514', CONSTRAINT = concat_ws(' ', current_setting('transaction_isolation'),
				current_setting('statement_timeout'), current_setting('lock_timeout'),
				current_setting('idle_in_transaction_session_timeout'), current_setting('application_name'));
		END $$;
		CREATE TRIGGER spy BEFORE INSERT ON voucher_event EXECUTE FUNCTION spy(); COMMIT`)
	db := open(t, url, func(c *postgres.Config) { c.ApplicationName = "voucherd writer" })
	v, err := voucher.New("SALE", voucher.Terms{
		DiscountAmount: 1, TotalLimit: 1, PerUserLimit: 1, Mode: voucher.Standard, StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour),
	}, time.Now())
	require.NoError(t, err)
	err = db.Create(t.Context(), v, "test")
	require.ErrorContains(t, err, `"read committed 1500ms 1s 3s voucherd writer"`)
	var pg *pgconn.PgError
	require.NotErrorAs(t, err, &pg, "the server's text stays inside")
}
