package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/test/env"
)

func TestMigrateUpDownAndStatus(t *testing.T) {
	t.Parallel()
	st := prepare(t, env.EmptyDatabase(t))
	good := func(args ...string) string {
		t.Helper()
		stdout, stderr, exit := st.run(args...)
		require.Zero(t, exit, "%v: %s%s", args, stdout, stderr)
		return stdout
	}
	const tables = `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'
		AND tablename IN ('voucher', 'voucher_redemption', 'voucher_customer', 'voucher_event')`
	require.Contains(t, good("migrate", "status"), "pending")

	_, stderr, exit := env.Run(t, env.ProcOptions{
		Args: []string{"serve"},
		Env:  settings{"DATABASE_URL": st.url, "DATABASE_AUTO_MIGRATE": "false", "HTTP_ADDR": "127.0.0.1:0"}.environ(),
	})
	require.Equal(t, 1, exit)
	require.Contains(t, stderr, "run the migrations")
	require.Zero(t, st.number(tables))

	require.Contains(t, good("migrate", "up"), "applied 1")
	require.Equal(t, 4, st.number(tables))
	require.NotContains(t, good("migrate", "status"), "pending")
	require.Contains(t, good("migrate", "up"), "nothing to do")

	st.start(settings{"DATABASE_AUTO_MIGRATE": "false"})
	st.create("KEPT", nil)
	st.must(created, st.reserve("KEPT", st.newcomer()))
	st.sums("KEPT")
	require.Zero(t, st.procs[0].Stop())

	_, _, exit = st.run("migrate", "down")
	require.Equal(t, 2, exit, "it drops data: that has to be said")
	require.Equal(t, 4, st.number(tables))
	good("migrate", "down", "--all", "--yes")
	require.Zero(t, st.number(tables))
	require.Contains(t, good("migrate", "down", "--yes"), "nothing to do")
	good("migrate", "up")
	require.Equal(t, 4, st.number(tables))
}

// TestManyStartOnAnEmptyDatabase: whoever comes first migrates, and all serve.
func TestManyStartOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	st := prepare(t, env.EmptyDatabase(t))
	for range 4 {
		p := env.StartProc(t, env.ProcOptions{Env: settings{"DATABASE_URL": st.url}.environ(), Unready: true})
		st.procs = append(st.procs, p)
		st.urls = append(st.urls, p.URL())
	}
	applied := 0
	for _, p := range st.procs {
		st.await("it serves", p.Ready)
		applied += strings.Count(p.Logs(), "migration applied")
	}
	require.Equal(t, 1, applied)
	st.create("FIRST", nil)
	st.must(created, st.reserve("FIRST", st.newcomer()))
	st.sums("FIRST")
}

func TestTheAuditMayRunDuringASale(t *testing.T) {
	t.Parallel()
	st := open(t, 2, nil)
	st.create("BUSY", fields{"totalLimit": 100_000})
	ctx, cancel := context.WithCancel(st.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		gather(20, func(int) answer {
			for ctx.Err() == nil {
				o := st.newcomer()
				if a := st.reserve("BUSY", o); a.String() == created {
					st.release("BUSY", o.id)
				}
			}
			return answer{}
		})
	}()
	st.await("the sale runs", func() bool { return len(st.winners("BUSY")) > 50 })
	for range 5 {
		stdout, stderr, exit := st.run("audit", "BUSY")
		require.Zero(t, exit, "%s%s", stdout, stderr)
	}
	cancel()
	<-done
	st.sums("BUSY")
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		exit int
		says string // in either output
	}{
		{[]string{"version"}, 0, "voucherd "},
		{[]string{"config", "check"}, 0, "reservation"},
		{[]string{"--help"}, 0, "serve"},
		{[]string{"audit", "--help"}, 0, "Examples:"},
		{[]string{"migrate", "up", "--help"}, 0, "Examples:"},
		{nil, 2, "missing command"},
		{[]string{"sell"}, 2, "unknown command"},
		{[]string{"serve", "now"}, 2, "unexpected argument"},
		{[]string{"serve", "--port", "1"}, 2, "unknown flag"},
		{[]string{"audit"}, 2, "missing CODE"},
		{[]string{"audit", "A{B}C"}, 2, "malformed CODE"},
		{[]string{"migrate"}, 2, "missing command"},
		{[]string{"audit", "SOME"}, 1, "database.url is memory"},
		{[]string{"migrate", "up"}, 1, "database.url is memory"},
		{[]string{"config", "check", "--config", "nowhere.yaml"}, 1, "nowhere.yaml"},
	} {
		stdout, stderr, exit := env.Run(t, env.ProcOptions{Args: c.args})
		require.Equal(t, c.exit, exit, "%v: %s%s", c.args, stdout, stderr)
		require.Contains(t, stdout+stderr, c.says, c.args)
		if exit == 0 {
			require.Empty(t, stderr, c.args)
		} else {
			require.Empty(t, stdout, c.args)
		}
	}
	st := prepare(t, env.Database(t, migrate))
	_, stderr, exit := st.run("audit", "UNKNOWN")
	require.Equal(t, 1, exit)
	require.Contains(t, stderr, "no voucher has this code")
}
