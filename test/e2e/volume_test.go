package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestF39_ExpiryThatHangsOnNothingButTheDatabase(t *testing.T) {
	t.Parallel()
	uses := size(5000, 100_000)
	st := open(t, 2, settings{"ROLES": "api", "RESERVATION_TTL": "2s"})
	st.create("CROWD", fields{"totalLimit": uses})
	orders := st.newcomers(uses)
	require.Equal(t, tally{created: uses}, workers(uses, 256, func(i int) answer { return st.reserve("CROWD", orders[i]) }))
	var last time.Time
	require.NoError(t, st.db.QueryRow(t.Context(), `SELECT max(expires_at) FROM voucher_redemption`).Scan(&last))
	past(last)
	require.Equal(t, uses, st.number(`SELECT used_count FROM voucher WHERE code = 'CROWD'`))
	st.must(releasedExpired, st.confirm("CROWD", orders[0].id))

	// Its second run would come after the test: the first one does all, and its measure stays to be seen.
	job := st.start(settings{"ROLES": "jobs", "JOBS_EXPIRE_INTERVAL": "1h"})
	const limit = 60 * time.Second
	require.Eventually(t, func() bool {
		return st.number(`SELECT count(*) FROM voucher_redemption WHERE status <> 'RELEASED' OR release_reason <> 'EXPIRED'`) == 0
	}, limit, 50*time.Millisecond)
	require.Zero(t, st.number(`SELECT used_count FROM voucher WHERE code = 'CROWD'`))
	st.await("the metrics show it", func() bool { return st.metric(job, "voucherd_expired_total") == float64(uses-1) })
	require.Greater(t, st.metric(job, "voucherd_expiry_lag_seconds"), 0.0)
	st.urls = st.urls[:2] // the one without the role api serves no voucher
	st.sums("CROWD")
	st.must(created, st.reserve("CROWD", st.newcomer()))
}

func TestF50_NumbersWithGaps(t *testing.T) {
	t.Parallel()
	st := open(t, 2, nil)
	repeats, others := size(3000, 100_000), 500
	st.create("GAPS", fields{"totalLimit": others + 1})
	a := st.newcomer()
	first := st.must(created, st.reserve("GAPS", a))
	require.Equal(t, tally{created: repeats}, workers(repeats, 50, func(int) answer { return st.reserve("GAPS", a) }))
	require.Equal(t, []string{string(first.body)}, st.promises["GAPS"][a.id].bodies)
	require.Equal(t, 1, st.number(`SELECT count(*) FROM voucher_redemption`))
	require.Equal(t, 2, st.number(`SELECT count(*) FROM voucher_event`), "a repeat is no event")

	orders := st.newcomers(others)
	require.Equal(t, tally{created: others}, workers(others, 50, func(i int) answer { return st.reserve("GAPS", orders[i]) }))
	const page = 100
	listed := st.redemptions("GAPS", page, "")
	ids := make(map[string]bool)
	for _, r := range listed {
		ids[r.OrderID] = true
	}
	require.Len(t, listed, others+1)
	require.Len(t, ids, others+1)
	require.Equal(t, a.id, listed[others].OrderID, "the oldest is the last")
	require.True(t, slices.IsSortedFunc(listed, func(a, b reservation) int { return -compare(a.CreatedAt, b.CreatedAt) }))
	require.Empty(t, st.redemptions("GAPS", page, "CONFIRMED"))
	require.Zero(t, st.number(`SELECT count(*) FROM information_schema.columns
		WHERE is_identity = 'YES' AND data_type <> 'bigint' AND table_name IN ('voucher', 'voucher_redemption', 'voucher_customer', 'voucher_event')`))
	st.sums("GAPS")
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestF51_OneHotRowStarvesTheRest sends a crowd to one voucher, before and after it sells out, beside some customers of
// twenty other ones. How long the others wait is for a bench to say: here nobody is turned away.
func TestF51_OneHotRowStarvesTheRest(t *testing.T) {
	t.Parallel()
	const connections, others = 16, 20
	crowd, each := size(1000, 10_000), 3
	st := open(t, 1, settings{"DATABASE_MAX_CONNECTIONS": fmt.Sprint(connections), "ROLES": "api"})
	st.create("HOT", fields{"totalLimit": crowd})
	st.watch("HOT")
	codes := make([]string, others)
	for i := range codes {
		codes[i] = fmt.Sprintf("COLD-%d", i)
		st.create(codes[i], fields{"totalLimit": 1_000_000})
	}
	var over atomic.Bool
	var running sync.WaitGroup
	var served atomic.Int64
	for _, code := range codes {
		running.Go(func() {
			ticker := time.NewTicker(20 * time.Millisecond)
			defer ticker.Stop()
			for !over.Load() && st.ctx.Err() == nil {
				st.expect(created, st.reserveOnce(code, st.newcomer()))
				served.Add(1)
				<-ticker.C
			}
		})
	}
	most := 0
	running.Go(func() {
		for !over.Load() && st.ctx.Err() == nil {
			var n int
			if err := st.db.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'voucherd'`).Scan(&n); err != nil {
				st.fail("count connections: %v", err)
			}
			most = max(most, n)
		}
	})
	count := make(tally)
	for _, a := range gather(crowd, func(int) answer {
		var last answer
		for range each {
			last = st.reserveOnce("HOT", st.newcomer())
			if last.status != http.StatusCreated && last.String() != outOfStock && last.status != http.StatusServiceUnavailable {
				st.fail("hot: %s %s", last, last.body)
			}
		}
		return last
	}) {
		count[a.String()]++
	}
	over.Store(true)
	running.Wait()
	t.Logf("%d clients of the hot one, their last answers: %v; %d answers of the others; %d connections", crowd, count, served.Load(), most)
	require.LessOrEqual(t, most, connections)
	require.Positive(t, served.Load())
	require.EqualValues(t, crowd, st.voucher("HOT").UsedCount, "it sold out")
	st.sums(append(codes[:2], "HOT")...)
}
