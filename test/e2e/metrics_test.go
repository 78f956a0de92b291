package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/test/env"
)

// get reads a page that is not part of the vouchers' interface.
func (st *stage) get(p *env.Proc, path string) (status int, body string) {
	st.t.Helper()
	req, err := http.NewRequestWithContext(st.ctx, http.MethodGet, p.URL()+path, http.NoBody)
	require.NoError(st.t, err)
	if st.token != "" {
		req.Header.Set("Authorization", "Bearer "+st.token)
	}
	resp, err := st.http.Do(req)
	require.NoError(st.t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(st.t, resp.Body.Close())
	require.NoError(st.t, err)
	return resp.StatusCode, string(text)
}

func (st *stage) metrics(p *env.Proc) string {
	st.t.Helper()
	status, body := st.get(p, "/metrics")
	require.Equal(st.t, http.StatusOK, status)
	return body
}

// metric is the sum of a metric's series whose labels contain all of the given ones; -1 without any.
func (st *stage) metric(p *env.Proc, name string, labels ...string) float64 {
	st.t.Helper()
	sum, found := 0.0, false
	for line := range strings.Lines(st.metrics(p)) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ') // labels may have some of their own
		if space < 0 {
			continue
		}
		series, value := line[:space], line[space+1:]
		if series != name && !strings.HasPrefix(series, name+"{") || !containsAll(series, labels) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		require.NoError(st.t, err, line)
		sum, found = sum+n, true
	}
	if !found {
		return -1
	}
	return sum
}

func containsAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

func TestMetricsTellWhatHappenedAndNotToWhom(t *testing.T) {
	t.Parallel()
	st := open(t, 1, settings{"RESERVATION_TTL": "1s", "JOBS_EXPIRE_INTERVAL": "1s"})
	const secretCode, customer, secretOrder = "SECRETCODE", 987654321, "secret-order"
	st.create(secretCode, fields{"totalLimit": 2})
	o := order{id: secretOrder, customer: customer, amount: amount}
	st.must(created, st.reserve(secretCode, o))
	st.must(ok, st.confirm(secretCode, o.id))
	st.must(created, st.reserve(secretCode, o))
	st.must(alreadyUsed, st.reserve(secretCode, st.by(customer)))
	abandoned := st.newcomer()
	st.must(created, st.reserve(secretCode, abandoned))
	st.must(outOfStock, st.reserve(secretCode, st.newcomer()))
	st.must(noVoucher, st.reserve("UNKNOWNCODE", st.newcomer()))
	st.awaitReleased(secretCode, abandoned.id)

	p := st.procs[0]
	st.await("the expired one is counted", func() bool { return st.metric(p, "voucherd_expired_total") == 1 })
	const route = `route="POST /vouchers/{code}/reservations"`
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"voucherd_http_requests_total", []string{route, `status="201"`, `error=""`}, 3},
		{"voucherd_http_requests_total", []string{route, `status="409"`, `error="OUT_OF_STOCK"`}, 1},
		{"voucherd_http_requests_total", []string{route, `status="404"`, `error="VOUCHER_NOT_FOUND"`}, 1},
		{"voucherd_http_request_duration_seconds_count", []string{route}, 6},
		{"voucherd_reserve_total", []string{`mode="standard"`, `result="granted"`}, 2},
		{"voucherd_reserve_total", []string{`mode="standard"`, `result="repeated"`}, 1},
		{"voucherd_reserve_total", []string{`mode="standard"`, `result="already_used"`}, 1},
		{"voucherd_reserve_total", []string{`mode="standard"`, `result="out_of_stock"`}, 1},
		{"voucherd_reserve_duration_seconds_count", []string{`mode="standard"`}, 5},
		{"voucherd_batch_size_sum", []string{`stage="reserve"`}, 5},
		{"voucherd_queue_depth", []string{`queue="reserve"`}, 0},
		{"voucherd_queue_rejected_total", []string{`queue="reserve"`}, 0},
		{"voucherd_build_info", []string{`version=`}, 1},
	} {
		require.InDelta(t, want.value, st.metric(p, want.name, want.labels...), 0, "%s%v", want.name, want.labels)
	}
	for _, name := range []string{"voucherd_expiry_lag_seconds", "voucherd_clock_skew_seconds"} {
		require.Contains(t, st.metrics(p), "\n"+name+" ")
	}
	require.Positive(t, st.metric(p, "go_sql_open_connections", `db_name="requests"`))
	for line := range strings.Lines(st.metrics(p)) {
		for _, private := range []string{secretCode, "UNKNOWNCODE", "987654321", secretOrder, abandoned.id} {
			require.NotContains(t, line, private)
		}
	}
}

func TestLogsTellOfFailuresAndNotOfSuccesses(t *testing.T) {
	t.Parallel()
	st := open(t, 0, nil)
	proxy, far := startProxy(t, st.url)
	p := st.start(settings{"DATABASE_URL": far, "LOG_FORMAT": "json"})
	st.create("QUIET", fields{"totalLimit": 1000})
	before := len(p.Logs())
	orders := st.newcomers(200)
	require.Equal(t, tally{created: 200}, workers(200, 20, func(i int) answer { return st.reserve("QUIET", orders[i]) }))
	st.must(ok, st.confirm("QUIET", orders[0].id))
	require.Empty(t, p.Logs()[before:], "successes are silent")

	proxy.hold()
	r := reserving("QUIET", st.newcomer())
	r.header = map[string]string{"X-Request-Id": "request-of-this-test"}
	failed := st.send(r)
	proxy.flow()
	require.Equal(t, http.StatusServiceUnavailable, failed.status, "%s", failed.body)
	require.Equal(t, "request-of-this-test", failed.header.Get("X-Request-Id"))
	st.await("the log knows the request", func() bool { return strings.Contains(p.Logs(), "request-of-this-test") })
	for line := range strings.Lines(p.Logs()) {
		require.True(t, json.Valid([]byte(line)), line)
	}

	// An id that could forge a line is not taken.
	r = request{method: http.MethodGet, route: voucherRoute, code: "QUIET", header: map[string]string{"X-Request-Id": `a" level="error`}}
	id := st.must(ok, st.insist(r)).header.Get("X-Request-Id")
	require.Regexp(t, `^[A-Za-z0-9._:-]{1,64}$`, id)
	require.NotContains(t, p.Logs(), "level=")
}
