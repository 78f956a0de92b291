package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tokens of the tests, long enough for the settings.
const (
	adminToken    = "the-token-of-an-admin-in-these-tests"
	checkoutToken = "the-token-of-a-checkout-in-these-tests"
)

var guarded = settings{
	"HTTP_ADMIN_TOKENS":    "boss:" + adminToken,
	"HTTP_CHECKOUT_TOKENS": "till:" + checkoutToken,
}

// TestF53_FindingOutWhichCodesExist asks without being allowed to, and then floods.
func TestF53_FindingOutWhichCodesExist(t *testing.T) {
	t.Parallel()
	st := open(t, 2, guarded)
	boss, till := st.as(adminToken), st.as(checkoutToken)
	boss.create("KNOWN", fields{"totalLimit": 1_000_000})
	o := st.newcomer()
	till.must(created, till.reserve("KNOWN", o))

	for _, route := range voucherRoutes() {
		for _, token := range []string{"", "wrong", adminToken + "x", checkoutToken} {
			want := "401 UNAUTHENTICATED"
			if token == checkoutToken {
				if route.checkout {
					continue
				}
				want = "403 FORBIDDEN"
			}
			var bodies []string
			for _, code := range []string{"KNOWN", "UNKNOWN"} {
				r := route.request
				r.code, r.order = code, o.id
				r.header = map[string]string{"X-Request-Id": "same"}
				a := st.as(token).send(r)
				require.Equal(t, want, a.String(), "%s %s", r.method, r.path())
				require.Equal(t, a.status == http.StatusUnauthorized, a.header.Get("WWW-Authenticate") != "")
				bodies = append(bodies, string(a.body))
			}
			require.Equal(t, bodies[0], bodies[1])
		}
	}
	require.Equal(t, "RESERVED", st.status("KNOWN", o.id))
	for _, page := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
		status, _ := st.get(st.procs[0], page)
		require.Equal(t, http.StatusOK, status, page)
	}
	for token, want := range map[string]int{"": http.StatusUnauthorized, checkoutToken: http.StatusForbidden, adminToken: http.StatusOK} {
		asked := *st
		asked.shop = st.as(token)
		status, _ := asked.get(st.procs[0], "/metrics")
		require.Equal(t, want, status)
	}
	flood(st, till, boss)
	// The history knows who it was, by name.
	require.Equal(t, 1, st.number(`SELECT count(*) FROM voucher_event WHERE order_id = $1 AND actor = 'till'`, o.id))
	require.Equal(t, 2, st.number(`SELECT count(*) FROM voucher_event WHERE kind = 'VOUCHER_CREATED' AND actor = 'boss'`))
	require.NotContains(t, st.procs[0].Logs()+st.procs[1].Logs(), "the-token-of")
	st.sums("KNOWN", "PROBE-1")
}

// flood tries codes that nobody has made, beside a sale; then one of them is made.
func flood(st *stage, till, boss *shop) {
	st.t.Helper()
	probes := size(6000, 200_000)
	sale := st.newcomers(200)
	done := make(chan tally, 1)
	go func() {
		done <- workers(len(sale), 5, func(i int) answer { return till.reserve("KNOWN", sale[i]) })
	}()
	admin := *st
	admin.shop = boss
	before := admin.metric(st.procs[0], "process_resident_memory_bytes")
	count := workers(probes, 100, func(i int) answer { return till.reserve(fmt.Sprintf("PROBE-%d", i), st.newcomer()) })
	require.Equal(st.t, tally{noVoucher: probes}, count)
	require.Equal(st.t, tally{created: len(sale)}, <-done)
	const bound = 200 << 20
	require.Less(st.t, admin.metric(st.procs[0], "process_resident_memory_bytes")-before, float64(bound))

	for i := range st.procs {
		till.must(noVoucher, till.at(i).reserve("PROBE-1", st.newcomer()))
	}
	boss.at(0).create("PROBE-1", fields{"totalLimit": 10})
	till.must(created, till.at(0).reserve("PROBE-1", st.newcomer())) // at once where it was made
	st.await("the other process knows it", func() bool {
		return till.at(1).reserve("PROBE-1", st.by(1)).String() != noVoucher
	})
}

type guardedRoute struct {
	request
	checkout bool // a checkout's token is enough
}

// voucherRoutes is every call about vouchers, well-formed.
func voucherRoutes() []guardedRoute {
	return []guardedRoute{
		{request{method: http.MethodPost, route: vouchersRoute, body: terms("ANOTHER", nil)}, false},
		{request{method: http.MethodGet, route: vouchersRoute}, false},
		{request{method: http.MethodGet, route: voucherRoute}, true},
		{request{method: http.MethodPatch, route: voucherRoute, body: fields{"paused": true}}, false},
		{request{method: http.MethodPost, route: reservationsRoute, body: reserving("", order{"o", 1, 1}).body}, true},
		{request{method: http.MethodPost, route: confirmRoute}, true},
		{request{method: http.MethodDelete, route: reservationRoute}, true},
		{request{method: http.MethodGet, route: reservationRoute}, true},
		{request{method: http.MethodGet, route: redemptionsRoute}, false},
	}
}

// TestVouchersAreListedInPages also takes a cursor where it doesn't belong.
func TestVouchersAreListedInPages(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	const vouchers = 25
	for i := range vouchers {
		st.create(fmt.Sprintf("LIST-%02d", i), nil)
	}
	var codes []string
	for query := "limit=10"; query != ""; {
		var page struct {
			Items      []voucher
			NextCursor string
		}
		st.must(ok, st.insist(request{method: http.MethodGet, route: vouchersRoute, query: query})).as(t, &page)
		for _, v := range page.Items {
			codes = append(codes, v.Code)
		}
		if query = ""; page.NextCursor != "" {
			query = "limit=10&cursor=" + page.NextCursor
			wrong := st.send(request{method: http.MethodGet, route: redemptionsRoute, code: "LIST-01", query: "cursor=" + page.NextCursor})
			require.Equal(t, "400 INVALID_REQUEST cursor", wrong.String())
		}
	}
	require.Len(t, codes, vouchers)
	require.True(t, strings.HasSuffix(codes[vouchers-1], "24"))
	st.must("400 INVALID_REQUEST limit", st.send(request{method: http.MethodGet, route: vouchersRoute, query: "limit=201"}))
	st.must("409 VOUCHER_EXISTS", st.send(request{method: http.MethodPost, route: vouchersRoute, body: terms("LIST-01", nil)}))
	st.must("409 MODE_UNAVAILABLE", st.patch("LIST-01", fields{"mode": "flash-sync"}))
}
