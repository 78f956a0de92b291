package fault_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/test/env"
)

// stopWithin is how long a process may take to stop.
const stopWithin = 30 * time.Second

// stop asks the process to stop, which it must do in good order and in time.
func (n *node) stop(t *testing.T) {
	t.Helper()
	n.terminate()
	code, ended := n.proc.Wait(stopWithin)
	require.True(t, ended, "it stops within %v", stopWithin)
	require.Zero(t, code, "exit code")
}

// TestStoppedWhileItStarts: a stop at any moment of a start, migrations included, is no failure, and the next start
// finds nothing half done.
func TestStoppedWhileItStarts(t *testing.T) {
	const (
		rounds  = 10
		longest = 300 * time.Millisecond // more than a start takes
	)
	pg := env.StartPostgres(t)
	var databases []map[string]string // each meets several such starts
	for range 3 {
		databases = append(databases, map[string]string{
			"VOUCHERD_DATABASE_URL": pg.Database(t, withoutSchema), "VOUCHERD_LOG_LEVEL": "debug",
		})
	}
	for i := range rounds {
		p := env.StartProc(t, env.ProcOptions{Env: databases[i%len(databases)], Unready: true})
		eventually(t, quietWithin, func() string { // before its first line it may not listen to signals yet
			if p.Logs() == "" {
				return "it says nothing"
			}
			return ""
		})
		hold(t, rand.N(longest))
		require.Zero(t, p.Stop())
	}
	for _, settings := range databases {
		require.Zero(t, env.StartProc(t, env.ProcOptions{Env: settings}).Stop())
	}
}

func withoutSchema(context.Context, string) error { return nil }

// TestStoppedUnderLoad stops the only process again and again while clients go on.
func TestStoppedUnderLoad(t *testing.T) {
	const (
		rounds  = 10
		longest = 100 * time.Millisecond
		some    = 30
	)
	s := openShop(t, 1, nil)
	n := s.nodes[0]
	l := s.startLoad(t)
	stopSampling := l.sample()
	for range rounds {
		l.book.awaitAnswers(t, some)
		hold(t, rand.N(longest))
		n.outages.Add(1)
		n.stop(t)
		require.Contains(t, n.proc.Logs(), `"stopped"`)
		n.start()
	}
	l.book.awaitRecovery(t)
	l.finish()
	stopSampling(t)
	l.check(t)
}

// TestStoppedTwice: the second signal ends a process that still drains, at once, and what was promised stays.
func TestStoppedTwice(t *testing.T) {
	const (
		some   = 100
		atOnce = 2 * time.Second
	)
	s := openShop(t, 1, map[string]string{"VOUCHERD_HTTP_DRAIN_DELAY": "20s"})
	n := s.nodes[0]
	l := s.startLoad(t)
	l.book.awaitAnswers(t, some)
	n.terminate()
	eventually(t, quietWithin, func() string {
		if n.proc.Ready() {
			return "it is still ready"
		}
		return ""
	})
	l.book.awaitAnswers(t, some) // unready, and serving
	n.outages.Add(1)
	n.terminate()
	_, ended := n.proc.Wait(atOnce)
	require.True(t, ended)
	n.start()
	l.book.awaitRecovery(t)
	l.finish()
	l.check(t)
}

// TestRollingRestart restarts two processes one after the other. A client who avoids an unready process sees nothing
// of it.
func TestRollingRestart(t *testing.T) {
	const some = 100
	s := openShop(t, 2, map[string]string{"VOUCHERD_HTTP_DRAIN_DELAY": "1s"})
	l := s.startLoad(t)
	b := balance(t, l)
	l.book.awaitAnswers(t, some)
	l.book.allowNoOutage()
	for i, n := range s.nodes {
		n.stop(t)
		n.proc = env.StartProc(t, n.opts) // no outage is marked: nothing is excused
		eventually(t, quietWithin, func() string {
			if !b.ready[i].Load() {
				return "it gets no requests yet"
			}
			return ""
		})
		l.book.awaitAnswers(t, some)
	}
	l.finish()
	l.check(t)
	without503(t, l.book)
}

// balancer sends requests to processes that say that they are ready.
type balancer struct{ ready []atomic.Bool }

// balance puts a balancer in front of the load, which looks at each process many times within a drain delay.
func balance(t *testing.T, l *load) *balancer {
	t.Helper()
	const interval = 50 * time.Millisecond
	b := &balancer{ready: make([]atomic.Bool, len(l.shop.nodes))}
	ctx, cancel := context.WithCancel(context.Background())
	client := newClient()
	done := make(chan struct{})
	look := func() {
		for i := range l.shop.nodes {
			a := call{verb: aside, method: "GET", path: "/readyz"}.send(client, l.shop.nodes, i)
			b.ready[i].Store(a.status == 200)
		}
	}
	look()
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				look()
			}
		}
	}()
	l.balancer.Store(b)
	t.Cleanup(func() {
		cancel()
		<-done
		client.CloseIdleConnections()
	})
	return b
}

// one returns a ready process, any one if there is none.
func (b *balancer) one() int {
	first := rand.IntN(len(b.ready))
	for i := range b.ready {
		if at := (first + i) % len(b.ready); b.ready[at].Load() {
			return at
		}
	}
	return first
}
