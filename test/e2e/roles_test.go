package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRolesApart: one process takes the requests, another one does the jobs.
func TestRolesApart(t *testing.T) {
	t.Parallel()
	st := open(t, 1, settings{"ROLES": "api", "RESERVATION_TTL": "1s"})
	st.create("APART", fields{"totalLimit": 2})
	o := st.newcomer()
	past(st.must(created, st.reserve("APART", o)).expiry(t))
	require.Equal(t, "RESERVED", st.status("APART", o.id), "nobody has the role")

	job := st.start(jobsOnly)
	st.awaitReleased("APART", o.id)
	for _, page := range []string{"/healthz", "/readyz", "/metrics", "/openapi.yaml"} {
		status, _ := st.get(job, page)
		require.Equal(t, http.StatusOK, status, page)
	}
	for _, page := range []string{"/vouchers", "/vouchers/APART", "/vouchers/APART/redemptions", "/vouchers/APART/reservations/" + o.id} {
		status, body := st.get(job, page)
		require.Equal(t, http.StatusNotFound, status, page)
		require.Contains(t, body, `"NOT_FOUND"`)
	}
	for _, r := range []request{
		reserving("APART", st.newcomer()),
		{method: http.MethodPost, route: vouchersRoute, body: terms("NEW", nil)},
		{method: http.MethodPost, route: confirmRoute, code: "APART", order: o.id},
	} {
		a, err := st.at(1).exchange(r)
		require.NoError(t, err)
		require.Equal(t, "404 NOT_FOUND", a.String())
	}
	require.Zero(t, job.Stop())
	st.urls = st.urls[:1]
	st.sums("APART")
}

// TestUnknownPathsAndMethods are refused in the service's own words.
func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("PATH", nil)
	for path, want := range map[string]string{
		"GET /":                             "404 NOT_FOUND",
		"GET /vouchers/":                    "404 NOT_FOUND",
		"GET /vouchers/PATH/":               "404 NOT_FOUND",
		"GET /vouchers/PATH/reservations/":  "404 NOT_FOUND",
		"PUT /vouchers/PATH":                "405 METHOD_NOT_ALLOWED",
		"DELETE /vouchers/PATH":             "405 METHOD_NOT_ALLOWED",
		"GET /vouchers/A%7BB%7DC":           "400 INVALID_REQUEST code",
		"GET /vouchers/PATH/reservations/_": "400 INVALID_REQUEST orderId",
		"GET /vouchers/%20path%20":          "200",
	} {
		method, target, _ := strings.Cut(path, " ")
		a, err := st.exchange(request{method: method, route: target})
		require.NoError(t, err)
		require.Equal(t, want, a.String(), path)
		require.Equal(t, a.status == http.StatusMethodNotAllowed, a.header.Get("Allow") != "", path)
	}
}
