package e2e_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/test/env"
)

// TestF54_StoppedUnderLoad stops one of two processes while both serve: it turns unready first, and every answer that
// was given is true.
func TestF54_StoppedUnderLoad(t *testing.T) {
	t.Parallel()
	st := open(t, 2, settings{"HTTP_DRAIN_DELAY": "1s"})
	st.create("STOP", fields{"totalLimit": 1_000_000})
	st.watch("STOP")
	loose := st.forgiving()
	leaving := st.procs[0]
	var sold atomic.Int64
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		gather(30, func(int) answer {
			for !over.Load() && st.ctx.Err() == nil {
				o := st.newcomer()
				st.expect(created, loose.reserve("STOP", o)) // the repeat goes to the other process
				if sold.Add(1)%3 == 0 {
					st.expect(ok, loose.confirm("STOP", o.id))
				}
			}
			return answer{}
		})
	}()
	st.await("the sale runs", func() bool { return sold.Load() > 200 })
	leaving.Signal(syscall.SIGTERM)
	st.await("it is unready", func() bool { return !leaving.Ready() })
	// Unready, and still there for whoever comes.
	st.must(created, st.at(0).reserve("STOP", st.newcomer()))
	status, _ := st.get(leaving, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, _ = st.get(leaving, "/healthz")
	require.Equal(t, http.StatusOK, status)

	exit, ended := leaving.Wait(30 * time.Second)
	require.True(t, ended)
	require.Zero(t, exit)
	require.True(t, st.procs[1].Ready())
	now := sold.Load()
	st.await("the other one serves on", func() bool { return sold.Load() > now+100 })
	over.Store(true)
	<-done
	require.Zero(t, st.procs[1].Stop())
	st.urls = nil
	st.start(nil)
	st.sums("STOP")
}

// TestF54_StoppedWithRequestsInHand: those that were taken in are answered, those that wait for the database too.
func TestF54_StoppedWithRequestsInHand(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("HAND", fields{"totalLimit": 100})
	st.must(created, st.reserve("HAND", st.newcomer()))
	unlock := st.lock("HAND")
	orders := st.newcomers(20)
	answers := make(chan []answer, 1)
	go func() {
		answers <- gather(len(orders), func(i int) answer { return st.reserveOnce("HAND", orders[i]) })
	}()
	st.await("they wait", func() bool { return st.lockers() == 1 })
	st.procs[0].Signal(syscall.SIGTERM)
	st.await("it listens no more", func() bool {
		conn, err := net.DialTimeout("tcp", st.procs[0].Addr(), time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	unlock()
	for _, a := range <-answers {
		require.Contains(t, []int{http.StatusCreated, http.StatusServiceUnavailable}, a.status, "%s", a.body)
	}
	exit, ended := st.procs[0].Wait(30 * time.Second)
	require.True(t, ended)
	require.Zero(t, exit)
	st.urls = nil
	st.start(nil)
	require.Equal(t, tally{created: len(orders)}, together(len(orders), func(i int) answer { return st.reserve("HAND", orders[i]) }))
	st.sums("HAND")
}

// TestF54_StartedWithPostgresAway waits, bounded, for a database that never comes, for one that comes, and is told to
// stop meanwhile.
func TestF54_StartedWithPostgresAway(t *testing.T) {
	t.Parallel()
	nobody, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := nobody.Addr().String()
	require.NoError(t, nobody.Close())
	away := settings{"DATABASE_URL": "postgres://user:pass@" + address + "/x"}
	start := func() *env.Proc { return env.StartProc(t, env.ProcOptions{Env: away.environ(), Unready: true}) }

	began := time.Now()
	patient, stopped := start(), start()
	st := prepare(t, env.Database(t, migrate))
	p, far := startProxy(t, st.url)
	p.hold()
	late := env.StartProc(t, env.ProcOptions{Env: settings{"DATABASE_URL": far}.environ(), Unready: true})

	waiting := func(p *env.Proc) bool { return strings.Contains(p.Logs(), "waiting for the database") }
	for _, p := range []*env.Proc{patient, stopped, late} {
		st.await("it waits", func() bool { return waiting(p) })
		require.False(t, p.Ready())
	}
	stopped.Signal(syscall.SIGTERM)
	exit, ended := stopped.Wait(soon)
	require.True(t, ended)
	require.Zero(t, exit, "it was told to stop, and did")

	p.flow()
	st.await("the database came, and it serves", late.Ready)
	require.Zero(t, late.Stop())

	exit, ended = patient.Wait(time.Minute)
	require.True(t, ended)
	require.Equal(t, 1, exit)
	require.Greater(t, time.Since(began), 27*time.Second, "it gave the database time")
	require.Contains(t, patient.Logs(), "the database is not reached within 30s")
}

// TestMemoryAlone is the service with nothing installed.
func TestMemoryAlone(t *testing.T) {
	t.Parallel()
	p := env.StartProc(t, env.ProcOptions{Env: brief.environ()})
	require.Contains(t, p.Logs(), "memory")
	s := newShop(t, p.URL())
	s.create("MEMORY", fields{"totalLimit": 10})
	orders := s.newcomers(200)
	require.Equal(t, tally{created: 10, outOfStock: 190}, together(200, func(i int) answer { return s.reserve("MEMORY", orders[i]) }))
	winners, _ := s.won("MEMORY", orders)
	s.must(ok, s.confirm("MEMORY", winners[0].id))
	s.must(gone, s.release("MEMORY", winners[1].id))
	s.must(created, s.reserve("MEMORY", s.newcomer()))
	require.Eventually(t, func() bool { return s.voucher("MEMORY").UsedCount == 1 }, soon, 20*time.Millisecond, "the others expire")
	require.Equal(t, "CONFIRMED", s.reservation("MEMORY", winners[0].id).Status)
	require.Len(t, s.redemptions("MEMORY", 3, "RELEASED"), 10)
	require.Zero(t, p.Stop())
	require.ErrorContains(t, dial(t.Context(), p), "refused")
}

func dial(ctx context.Context, p *env.Proc) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Addr())
	if err == nil {
		err = conn.Close()
	}
	return err
}
