package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/rest"
)

func TestPathsAreTakenAsTheyAre(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", "")
	a.voucher("A-B_1", "")
	require.Equal(t, 201, a.reserve("SALE", order("1", "a:b.c_d-E")).status)
	for _, path := range []string{
		"/", "//", "/vouchers/", "/vouchers/SALE/", "/Vouchers", "/VOUCHERS/SALE", "//vouchers/SALE", "/vouchers/SALE/reservations/", "/vouchers/SALE/redemptions/",
		"/vouchers/SALE/reservations/a/", "/vouchers/SALE/reservations/a/b/c", "/healthz/", "/vouchers/../healthz", "/./healthz", "/%76ouchers",
		"/vouchers/SALE%2Freservations/", "/vouchers/SALE/unknown", "/favicon.ico",
	} {
		a.get(path).refused(404, "NOT_FOUND", "", "")
		require.Equal(t, observation{"unmatched", 404, "NOT_FOUND"}, a.last())
	}
	for _, path := range []string{"/vouchers/SALE", "/vouchers/sale", "/vouchers/%20sale%09", "/vouchers/s%41LE", "/vouchers/a-b_1", "/vouchers/SALE?x=%zz"} {
		require.Equal(t, 200, a.get(path).status, path)
	}
	for _, code := range []string{
		"-", "%20", "a%20b", "a+b", "+sale", "SALE%2F", "..%2FSALE", "%2e%2e", "SALE%00", "SALE%0A1", "%C4%B1", "%ff", "%7Bsale%7D", strings.Repeat("A", 33),
		"SALE;x", "SALE'--", "%25", "%2541",
	} {
		for _, rest := range []string{"", "/redemptions", "/reservations/o"} {
			a.get("/vouchers/"+code+rest).refused(400, "INVALID_REQUEST", "code", "")
		}
		a.reserve(code, `nonsense`).refused(400, "INVALID_REQUEST", "code", "")
		a.call(http.MethodPatch, "/vouchers/"+code, `nonsense`).refused(400, "INVALID_REQUEST", "code", "")
	}
	for _, path := range []string{"a:b.c_d-E", "a%3Ab.c_d%2DE"} {
		require.Equal(t, 200, a.get("/vouchers/SALE/reservations/"+path).status, path)
	}
	for _, id := range []string{"-", "%20o", "o%20", "a+b", "a%2Fb", "..", "%C3%A9", "o%00", "a~b", "%25", strings.Repeat("a", 65)} {
		for _, code := range []string{"SALE", "NONE"} { // the shape goes before the look-up
			path := "/vouchers/" + code + "/reservations/" + id
			a.get(path).refused(400, "INVALID_REQUEST", "orderId", "")
			a.call(http.MethodDelete, path, "").refused(400, "INVALID_REQUEST", "orderId", "")
			a.call(http.MethodPost, path+"/confirm", "").refused(400, "INVALID_REQUEST", "orderId", "")
		}
	}
	a.get("/vouchers/-/reservations/-").refused(400, "INVALID_REQUEST", "code", "")
	a.get("/vouchers/SALE/reservations/A:b.c_d-E").refused(404, "RESERVATION_NOT_FOUND", "", "")
}

func TestMethods(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", "")
	allowed := map[string][]string{
		"/vouchers":                              {"GET", "HEAD", "POST"},
		"/vouchers/SALE":                         {"GET", "HEAD", "PATCH"},
		"/vouchers/SALE/reservations":            {"POST"},
		"/vouchers/SALE/reservations/o":          {"DELETE", "GET", "HEAD"},
		"/vouchers/SALE/reservations/o/confirm":  {"POST"},
		"/vouchers/SALE/redemptions":             {"GET", "HEAD"},
		"/healthz":                               {"GET", "HEAD"},
		"/vouchers/-":                            {"GET", "HEAD", "PATCH"},
		"/metrics":                               {"GET", "HEAD"},
		"/openapi.yaml":                          {"GET", "HEAD"},
		"/readyz":                                {"GET", "HEAD"},
		"/vouchers/SALE/reservations/%2F":        {"DELETE", "GET", "HEAD"},
		"/vouchers/SALE/reservations/-/confirm":  {"POST"},
		"/vouchers/a%2Fb/reservations/o/confirm": {"POST"},
	}
	for path, methods := range allowed {
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			if slices.Contains(methods, m) {
				continue
			}
			r := a.call(m, path, "")
			r.refused(405, "METHOD_NOT_ALLOWED", "", "")
			got := strings.Split(r.header.Get("Allow"), ", ")
			slices.Sort(got)
			require.Equal(t, methods, got, "%s %s", m, path)
		}
	}
	require.Equal(t, 200, a.call(http.MethodHead, "/vouchers/SALE", "").status)
	require.Equal(t, 404, a.call(http.MethodHead, "/vouchers/NONE", "").status)
}

func TestRequestIDs(t *testing.T) {
	a := newAPI(t)
	made := map[string]bool{}
	for _, id := range []string{"", " ", "a b", "é", "a\tb", "<x>", strings.Repeat("a", 65), "a,b", `"`, "a/b"} {
		got := a.get("/nothing", "X-Request-Id", id).header.Get("X-Request-Id")
		require.NotEqual(t, id, got)
		require.False(t, made[got], "given twice")
		made[got] = true
	}
	require.NotEqual(t, "a", a.get("/nothing", "X-Request-Id", "a", "X-Request-Id", "a").header.Get("X-Request-Id"))
	for _, id := range []string{"a", "A1._:-z", strings.Repeat("a", 64)} {
		for _, path := range []string{"/healthz", "/nothing", "/vouchers/-", "/vouchers/NONE"} {
			require.Equal(t, id, a.get(path, "X-Request-Id", id).header.Get("X-Request-Id"))
		}
		require.Equal(t, id, a.call("PUT", "/healthz", "", "X-Request-Id", id).header.Get("X-Request-Id"))
	}
}

func TestOperations(t *testing.T) {
	a := newAPI(t, func(d *rest.Deps) {
		d.Ready = func(context.Context) rest.Readiness {
			return rest.Readiness{Dependencies: []rest.Dependency{{Name: "postgres", Up: true}, {Name: "redis"}}}
		}
		d.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("voucherd_build_info 1\n")) })
	})
	require.JSONEq(t, `{"status":"ok"}`, a.get("/healthz").body)
	a.get("/readyz").refused(503, "UNAVAILABLE", "", "OVERLOADED")
	a.server.SetReady(true)
	r := a.get("/readyz")
	require.Equal(t, 200, r.status)
	require.JSONEq(t, `{"status":"ready","dependencies":{"postgres":"up","redis":"down"}}`, r.body)
	require.NoError(t, a.server.Shutdown(t.Context()))
	a.get("/readyz").refused(503, "UNAVAILABLE", "", "OVERLOADED")
	require.Equal(t, "voucherd_build_info 1\n", a.get("/metrics").body)
	newAPI(t).get("/metrics").refused(404, "NOT_FOUND", "", "")
}

func TestObserve(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", "")
	require.Equal(t, observation{"POST /vouchers", 201, ""}, a.last())
	a.reserve("SALE", "{}")
	require.Equal(t, observation{"POST /vouchers/{code}/reservations", 400, "INVALID_REQUEST"}, a.last())
	a.call("PUT", "/vouchers/SALE", "")
	require.Equal(t, observation{"unmatched", 405, "METHOD_NOT_ALLOWED"}, a.last())
}

func TestOddRequestsAreAnsweredToo(t *testing.T) {
	a := newAPI(t)
	r := httptest.NewRequestWithContext(context.Background(), http.MethodOptions, "/", nil)
	r.URL.Path, r.RequestURI = "*", "*"
	a.send(r).refused(404, "NOT_FOUND", "", "")
	r = httptest.NewRequestWithContext(context.Background(), http.MethodConnect, "/", nil)
	r.URL.Path = ""
	a.send(r).refused(404, "NOT_FOUND", "", "")
}
