package observe_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"voucherd/adapters/observe"
	"voucherd/application/port"
	"voucherd/application/upkeep"
	"voucherd/domain/voucher"
)

// shows holds the scraped metrics of the names to the text, in the format of Prometheus without its comments.
func shows(t *testing.T, m *observe.Metrics, want string, names ...string) {
	t.Helper()
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	require.NoError(t, testutil.ScrapeAndCompare(server.URL, bytes.NewBufferString(want), names...))
}

func scrape(t *testing.T, m *observe.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(body)
}

// fixed is a store that always gives the same answer.
type fixed struct{ err error }

func (f fixed) Update(context.Context, port.Step) error               { return f.err }
func (f fixed) Create(context.Context, voucher.Voucher, string) error { return f.err }
func (f fixed) voucher() voucher.Voucher                              { return voucher.Restore(voucher.Snapshot{Code: "A"}) }

func TestLedgerShowsWhatAStoreCouldNotDo(t *testing.T) {
	for _, c := range []struct {
		err     error
		level   zapcore.Level // of the one line; Invalid: none
		refused int
		unknown bool
	}{
		{nil, zapcore.InvalidLevel, 0, false},
		{voucher.ErrVoucherNotFound, zapcore.InvalidLevel, 0, false},
		{port.ErrOverloaded, zapcore.InvalidLevel, 0, false}, // the queue's metrics tell
		{port.ErrUnavailable, zap.WarnLevel, 0, false},
		{fmt.Errorf("%w: used_count: %w", port.ErrRefused, voucher.ErrOutOfStock), zap.ErrorLevel, 1, false},
		{port.ErrUnknown, zap.WarnLevel, 0, true},
	} {
		m := observe.New("v")
		core, logs := observer.New(zap.DebugLevel)
		err := observe.Ledger(fixed{c.err}, m, zap.New(core)).Update(t.Context(), port.Step{Code: "A"})
		require.Equal(t, c.err, err, "passed on as it is")
		if c.level == zapcore.InvalidLevel {
			require.Zero(t, logs.Len(), c.err)
		} else {
			require.Equal(t, 1, logs.Len(), c.err)
			require.Equal(t, c.level, logs.All()[0].Level)
		}
		text := scrape(t, m)
		require.Contains(t, text, fmt.Sprintf("voucherd_refused_writes_total %d\n", c.refused))
		require.Equal(t, c.unknown, strings.Contains(text, `voucherd_outcome_unknown_total{stage="update"} 1`))
	}
}

func TestLedgerTellsTheStagesApart(t *testing.T) {
	m := observe.New("v")
	f := fixed{port.ErrUnknown}
	l := observe.Ledger(f, m, zap.NewNop())
	require.ErrorIs(t, l.Create(t.Context(), f.voucher(), "admin"), port.ErrUnknown)
	require.ErrorIs(t, l.Update(t.Context(), port.Step{}), port.ErrUnknown)
	require.ErrorIs(t, l.Update(t.Context(), port.Step{}), port.ErrUnknown)
	shows(t, m, `
# HELP voucherd_outcome_unknown_total Writes of which it is not known whether they happened.
# TYPE voucherd_outcome_unknown_total counter
voucherd_outcome_unknown_total{stage="create"} 1
voucherd_outcome_unknown_total{stage="update"} 2
`, "voucherd_outcome_unknown_total")
}

// ticking moves on by a quarter of a second at each look.
type ticking struct{ now time.Time }

func (c *ticking) Now() time.Time {
	c.now = c.now.Add(250 * time.Millisecond)
	return c.now
}

// decides gives the same outcomes or error.
type decides struct {
	out []voucher.Outcome
	err error
}

func (d decides) Reserve(context.Context, voucher.Code, []voucher.Request) ([]voucher.Outcome, error) {
	return d.out, d.err
}

func TestDeciderCountsEachOutcome(t *testing.T) {
	m := observe.New("v")
	out := []voucher.Outcome{
		{Verdict: voucher.Granted}, {Verdict: voucher.Granted}, {Verdict: voucher.Repeated}, {Verdict: voucher.Conflict},
		{Verdict: voucher.NotEligible}, {Verdict: voucher.LimitReached}, {Verdict: voucher.OutOfStock}, {Verdict: voucher.Blocked}, {},
	}
	d := observe.Decider(voucher.Standard, decides{out: out}, m, &ticking{})
	got, err := d.Reserve(t.Context(), "A", make([]voucher.Request, len(out)))
	require.NoError(t, err)
	require.Equal(t, out, got)
	for _, e := range []error{port.ErrStale, port.ErrOverloaded, port.ErrUnknown, port.ErrUnavailable, port.ErrRefused, errors.New("x")} {
		_, err := observe.Decider(voucher.Standard, decides{err: fmt.Errorf("w: %w", e)}, m, &ticking{}).Reserve(t.Context(), "A", make([]voucher.Request, 3))
		require.ErrorIs(t, err, e)
	}
	shows(t, m, `
# HELP voucherd_reserve_total Reserve requests decided, by the mode that decided and the result.
# TYPE voucherd_reserve_total counter
voucherd_reserve_total{mode="standard",result="already_used"} 1
voucherd_reserve_total{mode="standard",result="blocked"} 1
voucherd_reserve_total{mode="standard",result="failed"} 6
voucherd_reserve_total{mode="standard",result="granted"} 2
voucherd_reserve_total{mode="standard",result="none"} 1
voucherd_reserve_total{mode="standard",result="not_eligible"} 1
voucherd_reserve_total{mode="standard",result="order_conflict"} 1
voucherd_reserve_total{mode="standard",result="out_of_stock"} 1
voucherd_reserve_total{mode="standard",result="overloaded"} 3
voucherd_reserve_total{mode="standard",result="repeated"} 1
voucherd_reserve_total{mode="standard",result="stale"} 3
voucherd_reserve_total{mode="standard",result="unavailable"} 3
voucherd_reserve_total{mode="standard",result="unknown"} 3
`, "voucherd_reserve_total")
}

func TestDeciderTimesEachRequestInSeconds(t *testing.T) {
	m := observe.New("v")
	d := observe.Decider(voucher.Standard, decides{out: make([]voucher.Outcome, 3)}, m, &ticking{})
	_, err := d.Reserve(t.Context(), "A", make([]voucher.Request, 3))
	require.NoError(t, err)
	text := scrape(t, m)
	for _, line := range []string{
		`voucherd_reserve_duration_seconds_sum{mode="standard"} 0.75`,
		`voucherd_reserve_duration_seconds_count{mode="standard"} 3`,
		`voucherd_reserve_duration_seconds_bucket{mode="standard",le="0.1"} 0`,
		`voucherd_reserve_duration_seconds_bucket{mode="standard",le="0.25"} 3`,
		`voucherd_batch_size_sum{stage="reserve"} 3`,
		`voucherd_batch_size_count{stage="reserve"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

func TestExpiryShowsWhatTheJobDid(t *testing.T) {
	m := observe.New("v")
	core, logs := observer.New(zap.DebugLevel)
	var done upkeep.Expiry
	var failed error
	run := observe.Expiry(func(context.Context) (upkeep.Expiry, error) { return done, failed }, m, zap.New(core))
	step := func(ctx context.Context, d upkeep.Expiry, err error, lines int, expired, lag, failures string) {
		t.Helper()
		done, failed = d, err
		run(ctx)
		require.Equal(t, lines, logs.Len())
		text := scrape(t, m)
		require.Contains(t, text, "voucherd_expired_total "+expired+"\n")
		require.Contains(t, text, "voucherd_expiry_lag_seconds "+lag+"\n")
		require.Contains(t, text, "voucherd_expiry_failures_total "+failures+"\n")
	}
	step(t.Context(), upkeep.Expiry{}, nil, 0, "0", "0", "0")
	step(t.Context(), upkeep.Expiry{Expired: 5, Lag: 1500 * time.Millisecond}, nil, 1, "5", "1.5", "0")
	require.Equal(t, zap.InfoLevel, logs.All()[0].Level)
	step(t.Context(), upkeep.Expiry{Expired: 2, Lag: 4 * time.Second}, port.ErrRefused, 2, "7", "4", "1")
	require.Equal(t, zap.WarnLevel, logs.All()[1].Level)
	// The store is away: how far the job is behind is what it was, or more.
	step(t.Context(), upkeep.Expiry{}, port.ErrUnavailable, 3, "7", "4", "2")
	step(t.Context(), upkeep.Expiry{}, nil, 3, "7", "0", "2")
	// A stop is no failure.
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	step(stopped, upkeep.Expiry{}, context.Canceled, 3, "7", "0", "2")
}

func TestRequests(t *testing.T) {
	m := observe.New("v")
	m.Request("/vouchers/:code", 200, "", 50*time.Millisecond)
	m.Request("/vouchers/:code", 404, "VOUCHER_NOT_FOUND", 150*time.Millisecond)
	shows(t, m, `
# HELP voucherd_http_requests_total Requests answered, by route, status and error code.
# TYPE voucherd_http_requests_total counter
voucherd_http_requests_total{error="",route="/vouchers/:code",status="200"} 1
voucherd_http_requests_total{error="VOUCHER_NOT_FOUND",route="/vouchers/:code",status="404"} 1
`, "voucherd_http_requests_total")
	require.Contains(t, scrape(t, m), `voucherd_http_request_duration_seconds_sum{route="/vouchers/:code"} 0.2`+"\n")
}

// nowhere is a database that nobody asks.
type nowhere struct{}

func (nowhere) Connect(context.Context) (driver.Conn, error) { return nil, driver.ErrBadConn }
func (nowhere) Driver() driver.Driver                        { return nil }

func TestQueuesPoolsAndBuild(t *testing.T) {
	m := observe.New("v1.2.3")
	waiting, turned := 3, uint64(4)
	m.Queue("reserve", func() (int, uint64) { return waiting, turned })
	m.Queue("finish", func() (int, uint64) { return 0, 0 })
	db := sql.OpenDB(nowhere{})
	defer func() { require.NoError(t, db.Close()) }()
	m.Pool("main", db)
	waiting = 5
	text := scrape(t, m)
	for _, line := range []string{
		`voucherd_queue_depth{queue="reserve"} 5`, `voucherd_queue_rejected_total{queue="reserve"} 4`,
		`voucherd_queue_depth{queue="finish"} 0`, `voucherd_queue_rejected_total{queue="finish"} 0`,
		`go_sql_max_open_connections{db_name="main"} 0`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Regexp(t, `voucherd_build_info\{go_version="go[^"]+",version="v1.2.3"\} 1`, text)
}

// No label may carry what grows with customers: only these are used.
func TestLabelsAreFew(t *testing.T) {
	m := observe.New("v")
	m.Request("r", 200, "", 0)
	m.Queue("q", func() (int, uint64) { return 0, 0 })
	_, _ = observe.Decider(voucher.Standard, decides{out: make([]voucher.Outcome, 1)}, m, &ticking{}).Reserve(t.Context(), "SECRET", make([]voucher.Request, 1))
	_ = observe.Ledger(fixed{port.ErrUnknown}, m, zap.NewNop()).Update(t.Context(), port.Step{Code: "SECRET"})
	require.NotContains(t, scrape(t, m), "SECRET")
}

func TestMetricsAreNamedAsPrometheusWants(t *testing.T) {
	m := observe.New("v")
	m.Request("r", 200, "", 0)
	m.Queue("q", func() (int, uint64) { return 0, 0 })
	problems, err := promlint.New(bytes.NewBufferString(scrape(t, m))).Lint()
	require.NoError(t, err)
	for _, p := range problems {
		require.NotContains(t, p.Metric, "voucherd_", p.Text)
	}
}
