package postgres_test

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/postgres"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// A bounded number of calls waits for a connection; past the bound the answer comes at once, and nothing happened.
func TestWaitingIsBounded(t *testing.T) {
	const waiting = 3
	db := open(t, env.Database(t, migrate), func(c *postgres.Config) { c.MaxConnections, c.MaxWaiting = 1, waiting })
	newVoucher(t, db, "SALE", 10, 10)
	var wg sync.WaitGroup
	inside, leave := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		if _, err := reserve(t.Context(), db, "SALE", func() { close(inside); <-leave }, request(1, "first")); err != nil {
			t.Errorf("first: %v", err)
		}
	})
	<-inside
	ctx, giveUp := context.WithCancel(t.Context())
	var order []int
	for i := range waiting {
		ctx := ctx
		if i > 0 {
			ctx = t.Context()
		}
		wg.Go(func() {
			_, err := reserve(ctx, db, "SALE", func() { order = append(order, i) }, request(1, voucher.OrderID(strconv.Itoa(i))))
			if i == 0 {
				is(t, err, port.ErrOverloaded)
			} else if err != nil {
				t.Errorf("waiting %d: %v", i, err)
			}
		})
		require.Eventually(t, func() bool { return db.Stats().Waiting == int64(i+1) }, 10*time.Second, time.Millisecond)
	}
	_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "refused"))
	is(t, err, port.ErrOverloaded)
	_, err = db.List(t.Context(), "", 1)
	is(t, err, port.ErrOverloaded)
	is(t, db.Ping(t.Context()), port.ErrOverloaded)
	giveUp()
	require.Eventually(t, func() bool { return db.Stats().Waiting == waiting-1 }, 10*time.Second, time.Millisecond)
	close(leave)
	wg.Wait()
	// In either order: a call counts as waiting a moment before it stands in the queue.
	require.ElementsMatch(t, []int{1, 2}, order)
	require.EqualValues(t, 3, used(t, db, "SALE"))
	require.Zero(t, db.Stats().Waiting)
	require.Equal(t, 1, db.Stats().MaxOpenConnections)
}

// A wait has an end of its own where the caller sets none.
func TestWaitEnds(t *testing.T) {
	db := open(t, env.Database(t, migrate), func(c *postgres.Config) {
		c.MaxConnections, c.StatementTimeout = 1, 100*time.Millisecond
	})
	newVoucher(t, db, "SALE", 10, 10)
	_, err := reserve(t.Context(), db, "SALE", func() {
		_, err := db.List(context.Background(), "", 1)
		is(t, err, port.ErrOverloaded)
	}, request(1, "a"))
	require.NoError(t, err)
}

// A client that hangs up while it reads costs no connection.
func TestReadKeepsConnection(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	db := open(t, url, func(c *postgres.Config) { c.MaxConnections = 1 })
	newVoucher(t, db, "SALE", 10, 10)
	const session = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'voucherd'`
	before := scan[int](t, other, session)
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, _ = db.List(ctx, "", 1)
	}
	require.NoError(t, db.Ping(t.Context()))
	require.Equal(t, before, scan[int](t, other, session))
}

func TestSettingsAreChecked(t *testing.T) {
	for name, cfg := range map[string]postgres.Config{
		"connections": {URL: "postgres://localhost/x", MaxConnections: -1},
		"waiting":     {URL: "postgres://localhost/x", MaxWaiting: -1},
		"timeout":     {URL: "postgres://localhost/x", StatementTimeout: time.Microsecond},
		"url":         {URL: "postgres://user:secret@localhost:port/x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := postgres.Open(cfg, nil)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

// clockAt is a clock that is wrong by a fixed time.
type clockAt time.Duration

func (c clockAt) Now() time.Time { return time.Now().Add(time.Duration(c)) }

func TestSkew(t *testing.T) {
	url := env.EmptyDatabase(t)
	for _, wrong := range []time.Duration{0, time.Hour, -time.Hour} {
		db, err := postgres.Open(postgres.Config{URL: url}, clockAt(wrong))
		require.NoError(t, err)
		require.NoError(t, db.Ping(t.Context()))
		skew, err := db.Skew(t.Context())
		require.NoError(t, err)
		require.InDelta(t, -wrong.Seconds(), skew.Seconds(), 5) // test servers share the machine's clock, or nearly
		require.NoError(t, db.Close())
	}
}

// The work of an update must not grow with its voucher, also while the server believes the voucher to be small: it
// learns only from time to time how many rows there are.
func TestRowsReadDontGrow(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	db := open(t, url)
	for i := range 50 {
		code := voucher.Code("SMALL-" + string(rune('A'+i%26)) + string(rune('A'+i/26)))
		newVoucher(t, db, code, 10, 1)
		_, err := reserve(t.Context(), db, code, nothing, request(1, voucher.OrderID("small-"+code)))
		require.NoError(t, err)
	}
	exec(t, other, `ALTER TABLE voucher_redemption SET (autovacuum_enabled = off)`)
	exec(t, other, `ALTER TABLE voucher_customer SET (autovacuum_enabled = off)`)
	exec(t, other, `ANALYZE`)
	newVoucher(t, db, "HOT", voucher.MaxLimit, 1)
	n := 0
	more := func(k int) []voucher.Request {
		reqs := make([]voucher.Request, k)
		for i := range reqs {
			n++
			reqs[i] = request(voucher.CustomerID(n), voucher.OrderID("hot-"+time.Duration(n).String()))
		}
		return reqs
	}
	for range 40 {
		_, err := reserve(t.Context(), db, "HOT", nothing, more(250)...)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	alone(t, other)
	busy := open(t, url, func(c *postgres.Config) { c.MaxConnections = 1 })
	require.NoError(t, busy.Ping(t.Context()))
	before := rowsRead(t, other)
	const rounds, batch = 10, 10
	for range rounds {
		reqs := more(batch)
		orders := make([]voucher.OrderID, batch)
		for i, q := range reqs {
			orders[i] = q.Order
		}
		_, err := reserve(t.Context(), busy, "HOT", nothing, reqs...)
		require.NoError(t, err)
		require.NoError(t, busy.Update(t.Context(), port.Step{
			Code: "HOT", Orders: orders, Overdue: func(voucher.Loaded) bool { return true },
			Decide: func(s *voucher.State, now time.Time) {
				for i, id := range orders {
					if i%2 == 0 {
						require.NoError(t, s.Release(id, voucher.Condition{}, "test", now))
					} else {
						_, err := s.Confirm(id, voucher.Condition{}, "test", now)
						require.NoError(t, err)
					}
				}
			},
		}))
		for _, status := range append(voucher.Statuses(), "") {
			_, err = busy.Redemptions(t.Context(), port.RedemptionQuery{Code: "HOT", Status: status, Now: time.Now(), Limit: 50})
			require.NoError(t, err)
		}
		// What is overdue on one voucher costs the lists of another nothing.
		_, err = busy.Redemptions(t.Context(), port.RedemptionQuery{
			Code: "SMALL-AA", Status: voucher.Released, Now: time.Now().Add(time.Hour), Limit: 50,
		})
		require.NoError(t, err)
		_, err = busy.Due(t.Context(), time.Now().Add(time.Hour), port.Due{}, 50)
		require.NoError(t, err)
	}
	require.NoError(t, busy.Close())
	alone(t, other)
	read := rowsRead(t, other) - before
	require.Greater(t, read, int64(rounds*batch))
	// Each list reads a run of 64 more than it shows; the look for overdue ones finds none.
	require.Less(t, read, int64(rounds*1100), "of %d rows", n)
}

// alone returns when no other session is left: a server has counted what a session did when it ends, at the latest.
func alone(t *testing.T, db *sql.DB) {
	t.Helper()
	db.SetMaxOpenConns(1)
	require.Eventually(t, func() bool {
		return scan[int](t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND backend_type = 'client backend' AND pid <> pg_backend_pid()`) == 0
	}, 10*time.Second, 20*time.Millisecond)
}

// rowsRead is how many index entries and rows were read so far.
func rowsRead(t *testing.T, db *sql.DB) int64 {
	t.Helper()
	return scan[int64](t, db, `SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
		+ (SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables)`)
}
