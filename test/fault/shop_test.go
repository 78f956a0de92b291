package fault_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"voucherd/adapters/postgres"
	"voucherd/test/env"
)

const (
	// connections is database.max_connections of each process: few, so that running out of them is easy.
	connections = 8
	// pools is what one process may have open in all: the jobs have two of their own.
	pools = connections + 2
)

// shop is a Postgres of its own and the voucherd processes on it.
type shop struct {
	t     *testing.T
	pg    *env.Postgres
	url   string // of the database, for voucherd
	nodes []*node
}

// node is one voucherd with a fixed address; its process is killed and started again.
type node struct {
	t    *testing.T
	opts env.ProcOptions
	url  string
	proc *env.Proc // of the test's goroutine
	// outages is odd while the test itself has taken the process down.
	outages atomic.Int64
}

func openShop(t *testing.T, processes int, settings map[string]string) *shop {
	t.Helper()
	s := &shop{t: t, pg: env.StartPostgres(t, env.WithMaxConnections(40))}
	s.url = s.pg.Database(t, migrate)
	for range processes {
		s.nodes = append(s.nodes, startNode(t, s.url, settings))
	}
	return s
}

func migrate(ctx context.Context, url string) error {
	_, err := postgres.MigrateUp(ctx, url)
	return err
}

func startNode(t *testing.T, database string, settings map[string]string) *node {
	t.Helper()
	n := &node{t: t, opts: env.ProcOptions{Env: map[string]string{
		"VOUCHERD_DATABASE_URL":             database,
		"VOUCHERD_DATABASE_MAX_CONNECTIONS": strconv.Itoa(connections),
		"VOUCHERD_JOBS_EXPIRE_INTERVAL":     "1s",
	}}}
	maps.Copy(n.opts.Env, settings)
	n.proc = env.StartProc(t, n.opts)
	n.url = n.proc.URL()
	n.opts.Env["VOUCHERD_HTTP_ADDR"] = n.proc.Addr() // of its successors
	return n
}

// kill is kill -9. Until start, clients may lose their connections.
func (n *node) kill() {
	n.outages.Add(1)
	n.proc.Kill()
}

// start starts the successor of a process that was killed.
func (n *node) start() {
	n.proc = env.StartProc(n.t, n.opts)
	n.outages.Add(1)
}

// terminate asks the process to stop.
func (n *node) terminate() { n.proc.Signal(syscall.SIGTERM) }

// connect opens a connection to the shop's database as the superuser, for whom the server keeps some when all others
// are taken.
func (s *shop) connect(ctx context.Context) (*pgx.Conn, error) {
	admin, err := url.Parse(s.pg.AdminURL())
	if err != nil {
		return nil, err
	}
	own, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	admin.Path = own.Path
	return pgx.Connect(ctx, admin.String())
}

// sql runs do on a connection of its own.
func (s *shop) sql(t *testing.T, do func(ctx context.Context, conn *pgx.Conn)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), quietWithin)
	defer cancel()
	conn, err := s.connect(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	do(ctx, conn)
}

// count runs a query that returns one number.
func (s *shop) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	s.sql(t, func(ctx context.Context, conn *pgx.Conn) {
		require.NoError(t, conn.QueryRow(ctx, query, args...).Scan(&n))
	})
	return n
}

// usage is what a process takes of the machine.
type usage struct{ goroutines, resident float64 }

func (n *node) usage(t *testing.T) usage {
	t.Helper()
	m := n.metrics(t)
	return usage{m["go_goroutines"], m["process_resident_memory_bytes"]}
}

// metrics reads those without labels.
func (n *node) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	client := http.Client{Timeout: requestTimeout + slack, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(n.url + "/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	found := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = number
		}
	}
	return found
}

// awaitQuiet returns once no transaction of a voucherd is under way and their connections are within bounds.
func (s *shop) awaitQuiet(t *testing.T) {
	t.Helper()
	eventually(t, quietWithin, func() string {
		var open, busy int
		s.sql(t, func(ctx context.Context, conn *pgx.Conn) {
			require.NoError(t, conn.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE state LIKE '%transaction%')
				FROM pg_stat_activity WHERE application_name LIKE 'voucherd%'`).Scan(&open, &busy))
		})
		if busy > 0 || open > pools*len(s.nodes) {
			return fmt.Sprintf("%d connections are open, %d in a transaction", open, busy)
		}
		return ""
	})
}

// awaitUsage returns once every process takes about what it took before.
func (s *shop) awaitUsage(t *testing.T, before []usage) {
	t.Helper()
	const (
		moreGoroutines = 10
		moreMemory     = 96 << 20 // the race detector and the collector's leisure
	)
	for i, n := range s.nodes {
		eventually(t, quietWithin, func() string {
			now := n.usage(t)
			if now.goroutines > before[i].goroutines+moreGoroutines || now.resident > 2*before[i].resident+moreMemory {
				return fmt.Sprintf("process %d takes %+v, before it was %+v", i, now, before[i])
			}
			return ""
		})
	}
}

// hold waits for the duration of an injected fault.
func hold(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
