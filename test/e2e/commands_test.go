package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// report is what audit --json prints.
type report struct {
	Consistent  bool           `json:"consistent"`
	TotalLimit  int            `json:"totalLimit"`
	UsedCount   int            `json:"usedCount"`
	MaxLive     int            `json:"maxLive"`
	Live        int            `json:"live"`
	Granted     int            `json:"granted"`
	Confirmed   int            `json:"confirmed"`
	Released    map[string]int `json:"released"`
	Differences []struct {
		Kind    string `json:"kind"`
		OrderID string `json:"orderId"`
	} `json:"differences"`
}

// TestTheAuditFindsTampering changes the books by hand, one place after the other, and puts them right again.
func TestTheAuditFindsTampering(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("BOOKS", fields{"totalLimit": 10, "perUserLimit": 2})
	orders := st.newcomers(4)
	for _, o := range orders {
		st.must(created, st.reserve("BOOKS", o))
	}
	st.must(ok, st.confirm("BOOKS", orders[0].id))
	st.must(gone, st.release("BOOKS", orders[1].id))

	audit := func(want int) report {
		t.Helper()
		stdout, stderr, exit := st.run("audit", "BOOKS", "--json")
		require.Equal(t, want, exit, "%s%s", stdout, stderr)
		var r report
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		require.Equal(t, want == 0, r.Consistent)
		return r
	}
	r := audit(0)
	require.Equal(t, []int{10, 3, 4, 3, 4, 1, 1}, []int{r.TotalLimit, r.UsedCount, r.MaxLive, r.Live, r.Granted, r.Confirmed, r.Released["CANCELLED"]})
	require.Empty(t, r.Differences)
	verdict, _, _ := st.run("audit", "books")
	require.Contains(t, verdict, "BOOKS: everything fits")

	// Where a difference must be found, by kind and order.
	reserved := orders[2].id
	for _, c := range []struct{ statement, kind, order string }{
		{`UPDATE voucher SET used_count = used_count + 1`, "used_count", ""},
		{`UPDATE voucher SET used_count = used_count - 1`, "used_count", ""},
		{`UPDATE voucher SET total_limit = 1000`, "voucher", ""},
		{`UPDATE voucher_redemption SET status = 'CONFIRMED', confirmed_at = now() WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET discount_amount = 1 WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET order_amount = order_amount + 1 WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET expires_at = expires_at + interval '1 day' WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET customer_id = 99 WHERE order_id = $1`, "redemption", reserved},
		{`DELETE FROM voucher_redemption WHERE order_id = $1`, "redemption", reserved},
		{`INSERT INTO voucher_redemption SELECT customer_id, order_amount, discount_amount, epoch, 99, created_at, expires_at, confirmed_at,
			released_at, voucher_code, $1 || '-forged', status, release_reason FROM voucher_redemption WHERE order_id = $1`, "redemption", reserved + "-forged"},
		{`UPDATE voucher_customer SET uses = 2 WHERE customer_id = ` + fmt.Sprint(orders[2].customer), "customer", ""},
		{`DELETE FROM voucher_customer WHERE customer_id = ` + fmt.Sprint(orders[2].customer), "customer", ""},
	} {
		undo := st.snapshot()
		if strings.Contains(c.statement, "$1") {
			st.exec(c.statement, reserved)
		} else {
			st.exec(c.statement)
		}
		r := audit(1)
		found := false
		for _, d := range r.Differences {
			found = found || d.Kind == c.kind && d.OrderID == c.order
		}
		require.True(t, found, "%s: %+v", c.statement, r.Differences)
		undo()
	}
	st.exec(`UPDATE voucher SET used_count = used_count + 1`)
	verdict, stderr, exit := st.run("audit", "books")
	require.Equal(t, 1, exit, stderr)
	require.Contains(t, verdict, "BOOKS: 1 DIFFERENCE")
	st.exec(`UPDATE voucher SET used_count = used_count - 1`)
	st.sums("BOOKS")
}

// snapshot copies the books but the history, and returns how to bring them back.
func (st *stage) snapshot() (restore func()) {
	tables := []string{"voucher", "voucher_redemption", "voucher_customer"}
	for _, table := range tables {
		st.exec(`CREATE TABLE copy_of_` + table + ` AS TABLE ` + table)
	}
	return func() {
		st.exec(`DELETE FROM voucher_redemption`)
		st.exec(`DELETE FROM voucher_customer`)
		st.exec(`DELETE FROM voucher`)
		for _, table := range tables {
			st.exec(`INSERT INTO ` + table + ` SELECT * FROM copy_of_` + table)
			st.exec(`DROP TABLE copy_of_` + table)
		}
	}
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
