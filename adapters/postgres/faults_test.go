package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/postgres"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// P8: what a broken network means depends on whether COMMIT was under way; a retry finds out.
func TestBrokenCommit(t *testing.T) {
	for fault, stored := range map[at]bool{loseCommit: false, loseAnswer: true, swallowCommit: false, swallowAnswer: true} {
		t.Run(string(fault), func(t *testing.T) {
			server := env.Database(t, migrate)
			p := newProxy(t, server)
			other := raw(t, server)
			db := open(t, p.url, func(c *postgres.Config) { c.MaxConnections, c.StatementTimeout = 1, 300*time.Millisecond })
			newVoucher(t, db, "SALE", 10, 1)
			runs := 0
			_, err := reserve(t.Context(), db, "SALE", func() {
				runs++
				p.set(fault)
			}, request(1, "a"))
			is(t, err, port.ErrUnknown)
			require.Equal(t, 1, runs, "an unknown outcome is never tried again")
			p.set(passAll)
			require.Eventually(t, func() bool { // until the server has seen the end of the session
				return scan[int](t, other, `SELECT count(*) FROM pg_locks WHERE relation = 'voucher'::regclass`) == 0
			}, 10*time.Second, 10*time.Millisecond)
			require.Equal(t, map[bool]int{true: 1}[stored], scan[int](t, other, `SELECT count(*) FROM voucher_redemption`))
			out, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
			require.NoError(t, err)
			want := voucher.Granted
			if stored {
				want = voucher.Repeated
			}
			require.Equal(t, want, out[0].Verdict)
			require.EqualValues(t, 1, used(t, db, "SALE"))
		})
	}
}

// A network that swallows everything hangs nobody, whatever the caller's context says, and nothing happened.
func TestSilentNetwork(t *testing.T) {
	p := newProxy(t, env.Database(t, migrate))
	db := open(t, p.url, func(c *postgres.Config) {
		c.MaxConnections, c.StatementTimeout, c.ConnectTimeout = 2, 300*time.Millisecond, 300*time.Millisecond
	})
	newVoucher(t, db, "SALE", 10, 1)
	p.set(swallowRequest)
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"update": func() error {
			_, err := reserve(ctx, db, "SALE", nothing, request(1, "a"))
			return err
		},
		"read":  func() error { _, err := db.List(ctx, "", 1); return err },
		"ping":  func() error { return db.Ping(ctx) },
		"skew":  func() error { _, err := db.Skew(ctx); return err },
		"check": func() error { return db.CheckSchema(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 { // on connections that were open, and on new ones
				begin := time.Now()
				is(t, call(), port.ErrUnavailable)
				require.Less(t, time.Since(begin), 3*time.Second)
			}
		})
	}
	p.set(passAll)
	_, err := reserve(ctx, db, "SALE", nothing, request(1, "a"))
	require.NoError(t, err)
}

// Sessions that an administrator ends: before COMMIT the work is done again, and nobody notices unless it goes on.
func TestTerminatedBeforeCommit(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	db := open(t, url)
	newVoucher(t, db, "SALE", 10, 1)
	terminate := func() {
		require.Positive(t, scan[int](t, other, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'voucherd'`))
	}
	runs := 0
	out, err := reserve(t.Context(), db, "SALE", func() {
		if runs++; runs == 1 {
			terminate()
		}
	}, request(1, "a"))
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	require.Equal(t, voucher.Granted, out[0].Verdict)

	runs = 0
	_, err = reserve(t.Context(), db, "SALE", func() { runs++; terminate() }, request(2, "b"))
	is(t, err, port.ErrUnavailable)
	require.Equal(t, 3, runs)
	require.EqualValues(t, 1, used(t, db, "SALE"))

	// Sessions that ended while they were idle are no trouble at all.
	for range 3 {
		terminate()
		_, err = db.List(t.Context(), "", 1)
		require.NoError(t, err)
	}
}

// A server without a free connection, or none at all.
func TestNoConnection(t *testing.T) {
	url := env.Database(t, migrate)
	db, other := open(t, url), raw(t, url)
	newVoucher(t, db, "SALE", 10, 1)
	name := scan[string](t, other, `SELECT current_database()`)
	exec(t, other, `ALTER DATABASE `+name+` CONNECTION LIMIT 0`)
	full := open(t, url)
	_, err := reserve(t.Context(), full, "SALE", nothing, request(1, "a"))
	is(t, err, port.ErrUnavailable)
	_, err = full.List(t.Context(), "", 1)
	is(t, err, port.ErrUnavailable)
	exec(t, other, `ALTER DATABASE `+name+` CONNECTION LIMIT -1`)
	_, err = reserve(t.Context(), full, "SALE", nothing, request(1, "a"))
	require.NoError(t, err)

	nobody := open(t, "postgres://nobody:wrong@127.0.0.1:1/none?sslmode=disable")
	is(t, nobody.Ping(t.Context()), port.ErrUnavailable)
	_, err = reserve(t.Context(), nobody, "SALE", nothing, request(1, "a"))
	is(t, err, port.ErrUnavailable)
	require.NotContains(t, err.Error(), "wrong")
}

// A frozen server, a killed one, and the time after.
func TestServerAway(t *testing.T) {
	server := env.StartPostgres(t)
	url := server.Database(t, migrate)
	db := open(t, url, func(c *postgres.Config) { c.StatementTimeout = 300 * time.Millisecond })
	newVoucher(t, db, "SALE", 10, 1)
	serves := func(customer voucher.CustomerID, order voucher.OrderID) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, err := reserve(context.Background(), db, "SALE", nothing, request(customer, order))
			return err == nil
		}, 5*time.Second, 10*time.Millisecond)
	}
	serves(1, "a")

	server.Freeze()
	begin := time.Now()
	_, err := reserve(t.Context(), db, "SALE", nothing, request(2, "b"))
	is(t, err, port.ErrUnavailable)
	require.Less(t, time.Since(begin), 2*time.Second)
	server.Thaw()
	serves(2, "b")

	_, err = reserve(t.Context(), db, "SALE", server.Freeze, request(3, "c"))
	is(t, err, port.ErrUnavailable)
	server.Thaw()
	serves(3, "c")

	server.Kill()
	_, err = reserve(t.Context(), db, "SALE", nothing, request(4, "d"))
	is(t, err, port.ErrUnavailable)
	server.Start()
	serves(4, "d")
	require.EqualValues(t, 4, used(t, db, "SALE"))
}

// With a synchronous standby that does not answer, the server commits in the end and only warns: no standby has it, so
// it is not known to survive.
func TestCommitWithoutStandby(t *testing.T) {
	server := env.StartPostgres(t)
	url := server.Database(t, migrate)
	admin := raw(t, server.AdminURL())
	// Two of them: the call must outlast the server's statement timeout, whose end of the wait is the warning.
	db := open(t, url, func(c *postgres.Config) { c.StatementTimeout = 500 * time.Millisecond })
	newVoucher(t, db, "SALE", 10, 1)
	exec(t, admin, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`)
	exec(t, admin, `SELECT pg_reload_conf()`)
	require.Eventually(t, func() bool {
		return scan[string](t, admin, `SELECT current_setting('synchronous_standby_names')`) == "nobody"
	}, 10*time.Second, 10*time.Millisecond)
	_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
	is(t, err, port.ErrUnknown)
	out, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
	require.NoError(t, err)
	require.Equal(t, voucher.Repeated, out[0].Verdict)
	exec(t, admin, `ALTER SYSTEM RESET synchronous_standby_names`)
	exec(t, admin, `SELECT pg_reload_conf()`)
}
