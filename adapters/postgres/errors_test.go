package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/postgres"
	"voucherd/application/port"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// is holds err to be one of the port's errors and none of the others.
func is(t testing.TB, err, want error) {
	t.Helper()
	require.ErrorIs(t, err, want)
	for _, other := range []error{port.ErrUnavailable, port.ErrOverloaded, port.ErrUnknown, port.ErrRefused, port.ErrStale} {
		require.Equal(t, errors.Is(want, other), errors.Is(err, other), "%v is %v", err, other)
	}
}

// The server's own errors, made by a trigger: what they mean, how often the work is tried, and what is left of it.
func TestServerErrors(t *testing.T) {
	const always = 1000
	cases := map[string]struct {
		state, constraint string
		times             int
		atCommit          bool
		want              error
		fault             *fault.Error
		tries             int64
	}{
		"serialization failure once":      {state: "40001", times: 1, tries: 2},
		"serialization failure twice":     {state: "40001", times: 2, tries: 3},
		"serialization failure always":    {state: "40001", times: always, want: port.ErrUnavailable, tries: 3},
		"deadlock once":                   {state: "40P01", times: 1, tries: 2},
		"deadlock always":                 {state: "40P01", times: always, want: port.ErrUnavailable, tries: 3},
		"live elsewhere once":             {state: "23505", constraint: "voucher_redemption_live_order", times: 1, tries: 2},
		"live elsewhere always":           {state: "23505", constraint: "voucher_redemption_live_order", times: always, want: port.ErrRefused, fault: voucher.ErrOrderConflict, tries: 3},
		"over the limit":                  {state: "23514", constraint: "voucher_used_count_within_limit", times: always, want: port.ErrRefused, fault: voucher.ErrOutOfStock, tries: 1},
		"over the customer's limit":       {state: "23514", constraint: "voucher_customer_uses_within_limit", times: always, want: port.ErrRefused, fault: voucher.ErrAlreadyUsed, tries: 1},
		"another constraint":              {state: "23514", constraint: "voucher_used_count_not_negative", times: always, want: port.ErrRefused, tries: 1},
		"a value out of range":            {state: "22003", times: always, want: port.ErrRefused, tries: 1},
		"statement timeout":               {state: "57014", times: always, want: port.ErrUnavailable, tries: 1},
		"lock timeout":                    {state: "55P03", times: always, want: port.ErrUnavailable, tries: 1},
		"too many connections":            {state: "53300", times: always, want: port.ErrUnavailable, tries: 1},
		"disk full":                       {state: "53100", times: always, want: port.ErrUnavailable, tries: 1},
		"a schema that doesn't fit":       {state: "42703", times: always, want: port.ErrUnavailable, tries: 1},
		"a standby once":                  {state: "25006", times: 1, tries: 2},
		"a standby always":                {state: "25006", times: always, want: port.ErrUnavailable, tries: 3},
		"shutdown once":                   {state: "57P01", times: 1, tries: 2},
		"commit: serialization once":      {state: "40001", atCommit: true, times: 1, tries: 2},
		"commit: serialization always":    {state: "40001", atCommit: true, times: always, want: port.ErrUnavailable, tries: 3},
		"commit: constraint":              {state: "23514", constraint: "x", atCommit: true, times: always, want: port.ErrRefused, tries: 1},
		"commit: completion unknown":      {state: "40003", atCommit: true, times: always, want: port.ErrUnknown, tries: 1},
		"commit: shutdown":                {state: "57P01", atCommit: true, times: always, want: port.ErrUnknown, tries: 1},
		"commit: cancelled":               {state: "57014", atCommit: true, times: always, want: port.ErrUnknown, tries: 1},
		"commit: connection failure":      {state: "08006", atCommit: true, times: always, want: port.ErrUnknown, tries: 1},
		"commit: something never thought": {state: "XX000", atCommit: true, times: always, want: port.ErrUnknown, tries: 1},
	}
	url := env.Database(t, migrate)
	db, other := open(t, url), raw(t, url)
	n := 0
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			exec(t, other, `DROP FUNCTION IF EXISTS fault() CASCADE`)
			n++
			code, order := voucher.Code(fmt.Sprintf("SALE-%d", n)), voucher.OrderID(fmt.Sprintf("order-%d", n))
			newVoucher(t, db, code, 10, 1)
			sabotage(t, other, c.state, c.constraint, c.times, c.atCommit)
			out, err := reserve(t.Context(), db, code, nothing, request(1, order))
			require.Equal(t, c.tries, faults(t, other))
			if c.want == nil {
				require.NoError(t, err)
				require.Equal(t, voucher.Granted, out[0].Verdict)
				require.EqualValues(t, 1, used(t, db, code))
				return
			}
			is(t, err, c.want)
			var f *fault.Error
			require.Equal(t, c.fault != nil, errors.As(err, &f))
			if c.fault != nil {
				require.ErrorIs(t, err, c.fault)
			}
			require.EqualValues(t, 0, used(t, db, code))
			require.Zero(t, scan[int](t, other, `SELECT count(*) FROM voucher_redemption WHERE voucher_code = $1`, code))
			require.Zero(t, scan[int](t, other, `SELECT count(*) FROM voucher_customer WHERE voucher_code = $1`, code))
		})
	}
}

// F49: a conditional write that hits no row, without any error of the server, is never taken for done.
func TestMissedWrites(t *testing.T) {
	hook := func(table, event, when string) string {
		return fmt.Sprintf(`CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
			CREATE TRIGGER skip BEFORE %s ON %s FOR EACH ROW %s EXECUTE FUNCTION skip()`, event, table, when)
	}
	limit, mode := int64(20), voucher.FlashSync
	update := func(decide func(s *voucher.State, now time.Time)) func(*postgres.DB) error {
		return func(db *postgres.DB) error {
			return db.Update(context.Background(), port.Step{Code: "SALE", Orders: []voucher.OrderID{"held", "late"}, Decide: decide})
		}
	}
	grant := func(db *postgres.DB) error {
		_, err := reserve(context.Background(), db, "SALE", nothing, request(1, "new"))
		return err
	}
	confirm := update(func(s *voucher.State, now time.Time) { _, _ = s.Confirm("held", voucher.Condition{}, "test", now) })
	release := update(func(s *voucher.State, now time.Time) { _ = s.Release("held", voucher.Condition{}, "test", now) })
	expire := update(func(s *voucher.State, now time.Time) { s.Expire([]voucher.OrderID{"late"}, "test", now.Add(time.Hour)) })
	amend := func(a voucher.Amendment) func(*postgres.DB) error {
		return update(func(s *voucher.State, now time.Time) { _ = s.Amend(a, "test", now) })
	}
	for name, c := range map[string]struct {
		hook string
		do   func(*postgres.DB) error
	}{
		"reserve, voucher":   {hook("voucher", "UPDATE", ""), grant},
		"reserve, row":       {hook("voucher_redemption", "INSERT", ""), grant},
		"reserve, customer":  {hook("voucher_customer", "UPDATE", ""), grant},
		"reserve, history":   {hook("voucher_event", "INSERT", ""), grant},
		"confirm, row":       {hook("voucher_redemption", "UPDATE", ""), confirm},
		"release, row":       {hook("voucher_redemption", "UPDATE", ""), release},
		"release, customer":  {hook("voucher_customer", "UPDATE", ""), release},
		"release, voucher":   {hook("voucher", "UPDATE", ""), release},
		"expire, row":        {hook("voucher_redemption", "UPDATE", ""), expire},
		"total limit":        {hook("voucher", "UPDATE", ""), amend(voucher.Amendment{TotalLimit: &limit})},
		"mode and epoch":     {hook("voucher", "UPDATE", ""), amend(voucher.Amendment{Mode: &mode})},
		"release, only once": {`UPDATE voucher_customer SET uses = 0`, release},
	} {
		t.Run(name, func(t *testing.T) {
			url := env.Database(t, migrate)
			db, other := open(t, url), raw(t, url)
			newVoucher(t, db, "SALE", 10, 10)
			_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "held"), request(1, "late"))
			require.NoError(t, err)
			exec(t, other, c.hook)
			before := everything(t, other)
			is(t, c.do(db), port.ErrRefused)
			require.Equal(t, before, everything(t, other))
		})
	}
}

// everything is a print of all rows.
func everything(t testing.TB, db *sql.DB) string {
	t.Helper()
	return scan[string](t, db, `SELECT concat_ws(E'\n',
		(SELECT string_agg(v::text, ' ' ORDER BY code) FROM voucher v),
		(SELECT string_agg(r::text, ' ' ORDER BY order_id) FROM voucher_redemption r),
		(SELECT string_agg(c::text, ' ' ORDER BY customer_id) FROM voucher_customer c),
		(SELECT string_agg(e::text, ' ' ORDER BY id) FROM voucher_event e))`)
}

// An order becomes live on another voucher between the look and the write: the second run sees it and decides.
func TestOrderTakenMeanwhile(t *testing.T) {
	url := env.Database(t, migrate)
	db := open(t, url)
	newVoucher(t, db, "HERE", 10, 1)
	newVoucher(t, db, "THERE", 10, 1)
	runs := 0
	out, err := reserve(t.Context(), db, "HERE", func() {
		if runs++; runs == 1 {
			there, err := reserve(t.Context(), db, "THERE", nothing, request(1, "a"))
			require.NoError(t, err)
			require.Equal(t, voucher.Granted, there[0].Verdict)
		}
	}, request(1, "a"), request(2, "b"))
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	require.Equal(t, voucher.Conflict, out[0].Verdict)
	require.Equal(t, voucher.Granted, out[1].Verdict)
	require.EqualValues(t, 1, used(t, db, "HERE"))
}

// A real deadlock, with a session that takes the same two locks in the opposite order. Ours waits last, so that it is
// the one that the server chooses to fail.
func TestDeadlock(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	db := open(t, url, func(c *postgres.Config) { c.StatementTimeout, c.LockTimeout = 10*time.Second, 8*time.Second })
	newVoucher(t, db, "HERE", 10, 1)
	newVoucher(t, db, "THERE", 10, 1)
	locked := make(chan error, 1)
	runs := 0
	out, err := reserve(t.Context(), db, "HERE", func() {
		if runs++; runs > 1 {
			return
		}
		tx, err := other.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		exec(t, tx, insertRedemption("THERE", "a", "RESERVED"))
		go func() {
			_, err := tx.Exec(`SELECT FROM voucher WHERE code = 'HERE' FOR UPDATE`)
			locked <- errors.Join(err, tx.Rollback())
		}()
		require.Eventually(t, func() bool {
			return scan[int](t, other, `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND clock_timestamp() - query_start
					> current_setting('deadlock_timeout')::interval + interval '200ms'`) == 1
		}, 20*time.Second, 50*time.Millisecond, "the other session has looked for a deadlock and found none")
	}, request(1, "a"))
	require.NoError(t, err)
	require.NoError(t, <-locked)
	require.Equal(t, 2, runs)
	require.Equal(t, voucher.Granted, out[0].Verdict)
}

func TestLockTimeout(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	db := open(t, url, func(c *postgres.Config) { c.LockTimeout = 50 * time.Millisecond })
	newVoucher(t, db, "SALE", 10, 1)
	newVoucher(t, db, "OTHER", 10, 1)
	tx, err := other.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	exec(t, tx, `SELECT FROM voucher WHERE code = 'SALE' FOR UPDATE`)
	_, err = reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
	is(t, err, port.ErrUnavailable)
	_, err = reserve(t.Context(), db, "OTHER", nothing, request(1, "a"))
	require.NoError(t, err)
	require.NoError(t, tx.Rollback())
	_, err = reserve(t.Context(), db, "SALE", nothing, request(1, "b"))
	require.NoError(t, err)
}

func TestStatementTimeout(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	db := open(t, url, func(c *postgres.Config) { c.StatementTimeout = 100 * time.Millisecond })
	newVoucher(t, db, "SALE", 10, 1)
	exec(t, other, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(5); RETURN NEW; END';
		CREATE TRIGGER slow BEFORE INSERT ON voucher_redemption FOR EACH ROW EXECUTE FUNCTION slow()`)
	_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
	is(t, err, port.ErrUnavailable)
	require.EqualValues(t, 0, used(t, db, "SALE"))
}

// A decision that panics gives its connection and its turn back.
func TestPanic(t *testing.T) {
	db := open(t, env.Database(t, migrate), func(c *postgres.Config) { c.MaxConnections = 1 })
	newVoucher(t, db, "SALE", 10, 1)
	for range 3 {
		require.Panics(t, func() { _, _ = reserve(t.Context(), db, "SALE", func() { panic("defect") }, request(1, "a")) })
	}
	out, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
	require.NoError(t, err)
	require.Equal(t, voucher.Granted, out[0].Verdict)
}
