package e2e_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// lock holds the voucher's row in a session of ours until the returned function is called.
func (st *stage) lock(code string) (unlock func()) {
	st.t.Helper()
	ctx := context.Background()
	tx, err := st.db.BeginTx(ctx, pgx.TxOptions{})
	require.NoError(st.t, err)
	_, err = tx.Exec(ctx, `SELECT FROM voucher WHERE code = $1 FOR UPDATE`, code)
	require.NoError(st.t, err)
	return func() { require.NoError(st.t, tx.Rollback(ctx)) }
}

// lockers is how many connections of processes wait for a lock.
func (st *stage) lockers() int {
	st.t.Helper()
	return st.number(`SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'voucherd' AND wait_event_type = 'Lock'`)
}

// TestF03_HaltedBetweenTheLookAndTheWrite stops a process that has looked at the voucher, in the middle of its
// transaction and with the row's lock in its hand, while another one sells the last use.
func TestF03_HaltedBetweenTheLookAndTheWrite(t *testing.T) {
	t.Parallel()
	const attempts = 5
	st := open(t, 2, apiOnly)
	for i := range attempts {
		if st.haltAndSell(fmt.Sprintf("LAST-%d", i)) {
			return
		}
	}
	t.Fatal("the machine is too slow to halt a process in time")
}

// haltAndSell says false if the process had given up its wait for the row before it was stopped.
func (st *stage) haltAndSell(code string) bool {
	st.t.Helper()
	st.create(code, nil)
	st.watch(code)
	halted, second := st.newcomer(), st.newcomer()
	// The process knows the voucher, and has a connection.
	st.must(noReservation, st.at(0).confirm(code, "unknown"))

	unlock := st.lock(code)
	answers := make(chan answer, 1)
	go func() { answers <- st.at(0).reserve(code, halted) }()
	st.await("the first process wants the row", func() bool { return st.lockers() == 1 })
	st.procs[0].Signal(syscall.SIGSTOP)
	wants := st.lockers() == 1
	unlock() // the halted one gets the row, has its look, and doesn't go on
	if wants {
		st.await("the first process has looked", func() bool {
			return st.number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
				AND application_name = 'voucherd' AND state = 'idle in transaction'`) == 1
		})
	}
	// The server ends a transaction that sits there for seconds; until then the second process says 503.
	st.must(created, st.at(1).reserve(code, second))
	st.procs[0].Signal(syscall.SIGCONT)
	st.must(outOfStock, <-answers)
	require.Equal(st.t, "RESERVED", st.status(code, second.id))
	require.Empty(st.t, st.status(code, halted.id))
	st.sums(code)
	return wants
}

// TestF03_TheRowChangesWhileARequestWaitsForIt has another session sell the last use while a request waits: what the
// request had heard of the voucher before counts for nothing.
func TestF03_TheRowChangesWhileARequestWaitsForIt(t *testing.T) {
	t.Parallel()
	st := open(t, 2, apiOnly)
	st.create("LAST", nil)
	st.must(noReservation, st.at(0).confirm("LAST", "unknown"))
	st.must(noReservation, st.at(1).confirm("LAST", "unknown"))
	unlock := st.lock("LAST")
	orders := st.newcomers(2)
	answers := make(chan []answer, 1)
	go func() {
		answers <- gather(2, func(i int) answer { return st.at(i).reserve("LAST", orders[i]) })
	}()
	st.await("both processes want the row", func() bool { return st.lockers() == 2 })
	unlock()
	count := make(tally)
	for _, a := range <-answers {
		count[a.String()]++
	}
	require.Equal(t, tally{created: 1, outOfStock: 1}, count)
	st.sums("LAST")
}
