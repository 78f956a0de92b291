package postgres_test

import (
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/postgres"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// barrier keeps every reservation from being read until it is lifted; vouchers can be read and written.
func barrier(t *testing.T, other *sql.DB) (lift func()) {
	t.Helper()
	tx, err := other.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	exec(t, tx, `LOCK TABLE voucher_redemption IN ACCESS EXCLUSIVE MODE`)
	return func() { require.NoError(t, tx.Rollback()) }
}

// patient makes nothing end by itself while a barrier stands.
func patient(c *postgres.Config) { c.StatementTimeout, c.LockTimeout = time.Minute, time.Minute }

// crowd starts n reads of one reservation and returns the channel of their ends.
func crowd(t *testing.T, db *postgres.DB, n int) <-chan error {
	t.Helper()
	ends := make(chan error, n)
	for range n {
		go func() {
			_, err := db.Reservation(t.Context(), "SALE", "a")
			ends <- err
		}()
	}
	return ends
}

// pausing is a transaction that touches no reservation.
func pausing(t *testing.T, db *postgres.DB, code voucher.Code) error {
	t.Helper()
	return db.Update(t.Context(), port.Step{Code: code, Decide: func(s *voucher.State, now time.Time) {
		if err := s.Amend(voucher.Amendment{Paused: new(true)}, "test", now); err != nil {
			t.Errorf("amend: %v", err)
		}
	}})
}

// P9: however many look at one voucher, and however slowly they are served, writes have connections and room to wait.
func TestReadsLeaveRoomForTransactions(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	const connections, waiting = 4, 8
	db := open(t, url, patient, func(c *postgres.Config) { c.MaxConnections, c.MaxWaiting = connections, waiting })
	newVoucher(t, db, "SALE", 10, 10)
	_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
	require.NoError(t, err)
	lift := barrier(t, other)
	const readers = 100
	ends := crowd(t, db, readers)
	const served = connections*3/4 + waiting/2
	for range readers - served {
		is(t, <-ends, port.ErrOverloaded)
	}
	require.EqualValues(t, waiting/2, db.Stats().Waiting)

	// With every read stuck, transactions go on, one after the other and as many at once as may wait.
	var wg sync.WaitGroup
	for range waiting {
		wg.Go(func() {
			if err := pausing(t, db, "SALE"); err != nil {
				t.Errorf("beside the reads: %v", err)
			}
		})
	}
	wg.Wait()
	lift()
	for range served {
		require.NoError(t, <-ends)
	}
	require.Zero(t, db.Stats().Waiting)
}

// A single connection serves both, and a transaction doesn't stand behind all the reads that came before it.
func TestOneConnectionServesReadsAndTransactions(t *testing.T) {
	url := env.Database(t, migrate)
	other := raw(t, url)
	db := open(t, url, patient, func(c *postgres.Config) { c.MaxConnections, c.MaxWaiting = 1, 2*30 })
	newVoucher(t, db, "SALE", 10, 10)
	_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"))
	require.NoError(t, err)
	lift := barrier(t, other)
	const readers = 30
	ends := crowd(t, db, readers)
	waits := func(n int64) {
		require.Eventually(t, func() bool { return db.Stats().Waiting == n }, 10*time.Second, time.Millisecond)
	}
	waits(readers - 1)
	paused := make(chan error, 1)
	var behind int // reads that were still waiting when the transaction ran
	go func() {
		paused <- db.Update(t.Context(), port.Step{Code: "SALE", Decide: func(*voucher.State, time.Time) {
			behind = int(db.Stats().Waiting)
		}})
	}()
	waits(readers)
	lift()
	require.NoError(t, <-paused)
	// Not more exactly than that: a call counts as waiting a moment before it stands in the queue.
	require.Positive(t, behind, "it didn't wait for all of them")
	for range readers {
		require.NoError(t, <-ends)
	}
}
