package e2e_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"voucherd/test/env"
)

// settings are variables of a process, without the prefix that they share.
type settings map[string]string

func (s settings) with(other settings) settings {
	all := maps.Clone(s)
	if all == nil {
		all = settings{}
	}
	maps.Copy(all, other)
	return all
}

func (s settings) environ() map[string]string {
	vars := make(map[string]string, len(s))
	for name, value := range s {
		vars["VOUCHERD_"+name] = value
	}
	return vars
}

// Settings that several tests use.
var (
	apiOnly  = settings{"ROLES": "api"}
	jobsOnly = settings{"ROLES": "jobs", "JOBS_EXPIRE_INTERVAL": "1s"}
	// brief makes reservations expire within a test, and the job look often.
	brief = settings{"RESERVATION_TTL": "2s", "JOBS_EXPIRE_INTERVAL": "1s"}
)

// stage is some processes on a database of their own, with a client that uses them in turn.
type stage struct {
	*shop
	t     *testing.T
	url   string // of the database
	db    *pgxpool.Pool
	procs []*env.Proc
}

// open starts n processes on a fresh database.
func open(t *testing.T, n int, s settings) *stage {
	t.Helper()
	st := prepare(t, env.Database(t, migrate))
	for range n {
		st.start(s)
	}
	return st
}

// prepare is a stage without processes yet.
func prepare(t *testing.T, url string) *stage {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["application_name"] = "e2e"
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return &stage{shop: newShop(t), t: t, url: url, db: db}
}

// start adds a process. Settings may replace the database's URL.
func (st *stage) start(s settings) *env.Proc {
	st.t.Helper()
	p := env.StartProc(st.t, env.ProcOptions{Env: settings{"DATABASE_URL": st.url}.with(s).environ()})
	st.procs = append(st.procs, p)
	st.urls = append(st.urls, p.URL())
	return p
}

// run runs a command on the stage's database.
func (st *stage) run(args ...string) (stdout, stderr string, exit int) {
	st.t.Helper()
	return env.Run(st.t, env.ProcOptions{Args: args, Env: settings{"DATABASE_URL": st.url}.environ()})
}

// number reads one number from the database.
func (st *stage) number(query string, args ...any) int {
	st.t.Helper()
	var n int
	require.NoError(st.t, st.db.QueryRow(context.Background(), query, args...).Scan(&n))
	return n
}

func (st *stage) exec(statement string, args ...any) {
	st.t.Helper()
	_, err := st.db.Exec(context.Background(), statement, args...)
	require.NoError(st.t, err)
}

// status is the order's stored status, "" without a row.
func (st *stage) status(code, id string) (status string) {
	st.t.Helper()
	require.NoError(st.t, st.db.QueryRow(context.Background(), `SELECT coalesce(max(status), '')
		FROM voucher_redemption WHERE voucher_code = $1 AND order_id = $2`, code, id).Scan(&status))
	return status
}

// await polls until the condition holds, which it must soon.
func (st *stage) await(what string, holds func() bool) {
	st.t.Helper()
	require.Eventually(st.t, holds, soon, 20*time.Millisecond, what)
}

// row is a stored reservation.
type row struct {
	OrderID        string
	CustomerID     int64
	DiscountAmount int64
	Status         string
	ExpiresAt      time.Time
}

// sums checks the books of the vouchers once nothing is under way: used_count is the number of live rows, each
// customer's count theirs, every 201 has its row, what was only refused has no live one, and the audit, which
// recomputes all of it from the history, finds nothing.
func (st *stage) sums(codes ...string) {
	st.t.Helper()
	for _, code := range codes {
		st.count(code)
		st.keepsPromises(code)
		stdout, stderr, exit := st.run("audit", code)
		require.Equal(st.t, 0, exit, "audit %s: %s%s", code, stdout, stderr)
	}
}

// count compares the counters with the rows.
func (st *stage) count(code string) {
	st.t.Helper()
	used := st.number(`SELECT used_count FROM voucher WHERE code = $1`, code)
	live := st.number(`SELECT count(*) FROM voucher_redemption WHERE voucher_code = $1 AND status <> 'RELEASED'`, code)
	require.Equal(st.t, live, used, "used_count of %s", code)
	require.LessOrEqual(st.t, used, st.number(`SELECT total_limit FROM voucher WHERE code = $1`, code))
	wrong := st.number(`SELECT count(*) FROM
			(SELECT customer_id, count(*) AS live FROM voucher_redemption
				WHERE voucher_code = $1 AND status <> 'RELEASED' GROUP BY customer_id) r
			FULL JOIN (SELECT customer_id, uses FROM voucher_customer WHERE voucher_code = $1) c USING (customer_id)
		WHERE coalesce(live, 0) <> coalesce(uses, 0)`, code)
	require.Zero(st.t, wrong, "customers of %s with a wrong count", code)
}

// keepsPromises compares the rows with what the shop was told.
func (st *stage) keepsPromises(code string) {
	st.t.Helper()
	rows, err := st.db.Query(context.Background(), `SELECT order_id, customer_id, discount_amount, status, expires_at
		FROM voucher_redemption WHERE voucher_code = $1`, code)
	require.NoError(st.t, err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	require.NoError(st.t, err)
	stored := make(map[string]row, len(found))
	for _, r := range found {
		stored[r.OrderID] = r
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for id, p := range st.promises[code] {
		r, exists := stored[id]
		switch {
		case len(p.bodies) > 0:
			require.True(st.t, exists, "order %s of %s was told %s and has no row", id, code, p.bodies)
			require.True(st.t, slices.ContainsFunc(p.bodies, r.was), "order %s of %s was told %s and is %+v", id, code, p.bodies, r)
		case p.refused && exists:
			require.Equal(st.t, "RELEASED", r.Status, "order %s of %s was refused", id, code)
		}
	}
}

// was says whether this row is what the body of a 201 told.
func (r row) was(body string) bool {
	var told struct {
		OrderID        string    `json:"orderId"`
		DiscountAmount int64     `json:"discountAmount"`
		ExpiresAt      time.Time `json:"expiresAt"`
	}
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		return false
	}
	return told.OrderID == r.OrderID && told.DiscountAmount == r.DiscountAmount && told.ExpiresAt.Equal(r.ExpiresAt)
}

// sampled is what a watch saw.
type sampled struct{ samples, maxUsed int }

// watch samples the voucher's counters until it is stopped: at no instant are more uses live than the limit, and the
// counter is always the number of live rows. One statement sees one instant.
func (st *stage) watch(code string) (stop func() sampled) {
	st.t.Helper()
	const every = 5 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	seen := make(chan sampled, 1)
	go func() {
		var s sampled
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for ctx.Err() == nil {
			var used, live, limit int
			err := st.db.QueryRow(context.Background(), `SELECT used_count, total_limit, (SELECT count(*)
					FROM voucher_redemption WHERE voucher_code = code AND status <> 'RELEASED')
				FROM voucher WHERE code = $1`, code).Scan(&used, &limit, &live)
			if err != nil || used > limit || used != live {
				st.fail("sample of %s: used_count %d, %d live rows, limit %d, %v", code, used, live, limit, err)
				break
			}
			s.samples++
			s.maxUsed = max(s.maxUsed, used)
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
		seen <- s
	}()
	var once sampled
	stopped := false
	stop = func() sampled {
		if !stopped {
			stopped = true
			cancel()
			once = <-seen
		}
		return once
	}
	st.t.Cleanup(func() { stop() })
	return stop
}

// startAbroad adds a process in another time zone.
func (st *stage) startAbroad(zone string) {
	st.t.Helper()
	vars := settings{"DATABASE_URL": st.url}.environ()
	vars["TZ"] = zone
	p := env.StartProc(st.t, env.ProcOptions{Env: vars})
	st.procs = append(st.procs, p)
	st.urls = append(st.urls, p.URL())
}
