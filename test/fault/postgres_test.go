package fault_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestFaults injects one fault after the other into three processes under load. Each time: nobody oversold, every
// answer true and in time, quick 503s meanwhile, serving again by itself, nothing left behind.
func TestFaults(t *testing.T) {
	s := openShop(t, 3, nil)
	t.Run("none", func(t *testing.T) { s.survive(t, func(*load) { hold(t, time.Second) }, without503) })
	t.Run("Postgres is frozen", func(t *testing.T) {
		s.survive(t, func(l *load) {
			s.pg.Freeze()
			l.orders.Go(l.crowd)
			hold(t, 5*time.Second)
			s.pg.Thaw()
		}, with503)
	})
	t.Run("Postgres crashes", func(t *testing.T) {
		s.survive(t, func(*load) {
			s.pg.Kill()
			hold(t, time.Second)
			s.pg.Start()
		}, func(t *testing.T, b *book) {
			t.Helper()
			with503(t, b)
			require.Less(t, b.slowest, requestTimeout/2, "nobody waits for a server that refuses at once")
		})
	})
	t.Run("Postgres is restarted", func(t *testing.T) {
		s.survive(t, func(*load) { s.pg.Restart() }, nil)
	})
	t.Run("connections are terminated", func(t *testing.T) {
		s.survive(t, func(*load) {
			for range 25 {
				_, err := s.pg.TerminateBackends(t.Context(), s.url)
				require.NoError(t, err)
				hold(t, 100*time.Millisecond)
			}
		}, nil)
	})
	t.Run("connections are used up", func(t *testing.T) {
		s.survive(t, func(*load) { s.occupy(t, 3*time.Second) }, with503)
	})
	t.Run("a voucher is locked", func(t *testing.T) {
		s.survive(t, func(l *load) { s.lock(t, l.voucher, 3*time.Second) }, func(t *testing.T, b *book) {
			t.Helper()
			with503(t, b)
			require.Zero(t, b.outages(aside), "answers about other things that were no answers")
		})
	})
	t.Run("clients hang up", func(t *testing.T) {
		s.survive(t, func(l *load) {
			l.hasty.Store(true)
			hold(t, 3*time.Second)
			l.hasty.Store(false)
		}, func(t *testing.T, b *book) {
			t.Helper()
			without503(t, b)
			require.Positive(t, b.counted("reserve 0"), "reserves without an answer")
		})
	})
	t.Run("processes are killed", func(t *testing.T) {
		s.survive(t, func(l *load) {
			for range 6 {
				hold(t, rand.N(100*time.Millisecond)) // wherever its transactions are then
				n := s.nodes[rand.IntN(len(s.nodes))]
				n.kill()
				l.book.awaitAnswers(t, 50) // by those that go on
				n.start()
			}
		}, nil)
	})
}

func with503(t *testing.T, b *book) {
	t.Helper()
	require.Positive(t, b.outages(reserving), "the fault was felt")
}

func without503(t *testing.T, b *book) {
	t.Helper()
	require.Zero(t, b.outages(reserving)+b.outages(confirming)+b.outages(releasing)+b.outages(aside))
}

// survive holds everything that is promised for any fault against one of them.
func (s *shop) survive(t *testing.T, inject func(*load), also func(*testing.T, *book)) {
	t.Helper()
	const warm = 200
	l := s.startLoad(t)
	stop := l.sample()
	l.book.awaitAnswers(t, warm)
	var before []usage
	for _, n := range s.nodes {
		before = append(before, n.usage(t))
	}
	inject(l)
	took := l.book.awaitRecovery(t)
	l.book.awaitAnswers(t, warm)
	l.finish()
	stop(t)
	l.check(t)
	t.Logf("served again after %v", took.Round(time.Millisecond))
	require.Equal(t, totalLimit, l.book.live, "sold out, to the last one")
	if also != nil {
		also(t, l.book)
	}
	l.client.CloseIdleConnections()
	s.awaitUsage(t, before)
	s.awaitQuiet(t)
	for _, n := range s.nodes {
		require.NotContains(t, n.proc.Logs(), "refused a decision")
		require.NotContains(t, n.proc.Logs(), "panic")
	}
}

// lock holds the voucher's row from a session of somebody else.
func (s *shop) lock(t *testing.T, voucher string, d time.Duration) {
	t.Helper()
	s.lockAnd(t, voucher, func() { hold(t, d) })
}

// lockAnd does something while the voucher's row is locked.
func (s *shop) lockAnd(t *testing.T, voucher string, do func()) {
	t.Helper()
	s.sql(t, func(ctx context.Context, conn *pgx.Conn) {
		tx, err := conn.Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec(ctx, `SELECT 1 FROM voucher WHERE code = $1 FOR UPDATE`, voucher)
		require.NoError(t, err)
		do()
		require.NoError(t, tx.Rollback(ctx))
	})
}

// occupy takes every connection that the server has for ordinary roles, those of the processes too, and keeps them.
func (s *shop) occupy(t *testing.T, d time.Duration) {
	t.Helper()
	var held []*pgx.Conn
	defer func() {
		for _, conn := range held {
			require.NoError(t, conn.Close(context.Background()))
		}
	}()
	fill := func() {
		for {
			conn, err := pgx.Connect(t.Context(), s.url)
			if err != nil {
				require.ErrorContains(t, err, "SQLSTATE 53300") // too many
				return
			}
			held = append(held, conn)
		}
	}
	// One session throughout: whoever is just being refused takes, for that moment, a place of the superuser's.
	s.sql(t, func(ctx context.Context, conn *pgx.Conn) {
		for deadline := time.Now().Add(d); time.Now().Before(deadline); hold(t, 50*time.Millisecond) {
			fill()
			_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'voucherd%'`)
			require.NoError(t, err)
			fill()
		}
	})
}

// crowd sends many changes at once, each to a voucher of its own, so that nothing can take them together: more of them
// than there are connections, while nothing answers. The wait for a connection and the wait for the server are one.
func (l *load) crowd() {
	const (
		many = 10 * connections
		pace = 20 * time.Millisecond // those who come later get a connection before their patience ends, and then wait for the server
	)
	var all sync.WaitGroup
	for i := range many {
		time.Sleep(pace)
		all.Go(func() {
			c := call{verb: aside, method: http.MethodPost, path: "/vouchers", body: voucherBody(fmt.Sprintf("%s-CROWD-%d", l.other, i), 1)}
			if i%2 == 0 {
				c = call{verb: aside, method: http.MethodPatch, path: "/vouchers/" + l.other, body: `{"minOrderAmount":1}`}
			}
			l.book.note(nil, l.send(c))
		})
	}
	all.Wait()
}
