package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/rest"
	"voucherd/domain/voucher"
)

func withTokens(d *rest.Deps) {
	d.Tokens = rest.Tokens{
		Admin:    []rest.Token{{Name: "ops", Token: "adminadminadmin"}, {Name: "both", Token: "twice"}},
		Checkout: []rest.Token{{Name: "shop", Token: "checkoutcheckout"}, {Name: "lesser", Token: "twice"}},
	}
}

// TestF53NothingIsLearntWithoutAToken: status and body are the same whether the code exists or not.
func TestF53NothingIsLearntWithoutAToken(t *testing.T) {
	a := newAPI(t, withTokens)
	a.token = "adminadminadmin"
	a.voucher("SALE", "")
	require.Equal(t, 201, a.reserve("SALE", order("1", "o")).status)
	a.token = ""
	const sane = "the-same"
	ask := func(token, method, path, body string) reply {
		headers := []string{"X-Request-Id", sane}
		if token != "" {
			headers = append(headers, "Authorization", token)
		}
		return a.call(method, path, body, headers...)
	}
	adminOnly := map[string]bool{
		"POST /vouchers": true, "GET /vouchers": true, "PATCH /vouchers/{code}": true,
		"GET /vouchers/{code}/redemptions": true, "GET /metrics": true,
	}
	open := map[string]bool{"GET /healthz": true, "GET /readyz": true, "GET /openapi.yaml": true}
	for _, name := range append(a.server.RouteNames(), "GET /nothing/{code}", "PUT /vouchers/{code}", "OPTIONS /vouchers/{code}", "POST /healthz") {
		method, pattern, _ := strings.Cut(name, " ")
		for _, token := range []string{
			"", "Bearer", "Bearer ", "Bearer wrong", "Bearer adminadminadmi", "Bearer adminadminadmin ", "Basic adminadminadmin", "adminadminadmin",
			"Bearer ops:adminadminadmin", "Bearer checkoutcheckout",
		} {
			if open[name] {
				require.NotEqual(t, 401, ask(token, method, pattern, "").status)
				continue
			}
			if token == "Bearer checkoutcheckout" && !adminOnly[name] {
				continue
			}
			var bodies []string
			for _, code := range []string{"SALE", "NONE", "%2e", "a+b"} {
				path := strings.NewReplacer("{code}", code, "{orderId}", "o").Replace(pattern)
				r := ask(token, method, path, strings.Repeat("x", 20<<10)) // the body isn't looked at either
				if token == "Bearer checkoutcheckout" {
					r.refused(403, "FORBIDDEN", "", "")
				} else {
					r.refused(401, "UNAUTHENTICATED", "", "")
					require.Equal(t, "Bearer", r.header.Get("WWW-Authenticate"))
				}
				require.Empty(t, r.header.Get("Location"))
				bodies = append(bodies, r.body)
			}
			require.Equal(t, bodies[0], bodies[1], name)
			require.Equal(t, bodies[0], bodies[2], name)
			require.Equal(t, bodies[0], bodies[3], name)
		}
	}
	a.call(http.MethodGet, "/vouchers", "", "Authorization", "Bearer adminadminadmin", "Authorization", "Bearer adminadminadmin").
		refused(401, "UNAUTHENTICATED", "", "")
}

func TestCheckoutMayDoWhatACheckoutNeeds(t *testing.T) {
	a := newAPI(t, withTokens)
	a.token = "adminadminadmin"
	a.voucher("SALE", "")
	a.token = "checkoutcheckout"
	require.Equal(t, 201, a.reserve("SALE", order("1", "o")).status)
	require.Equal(t, 200, a.get("/vouchers/SALE").status)
	require.Equal(t, 200, a.get("/vouchers/SALE/reservations/o").status)
	require.Equal(t, 200, a.call(http.MethodPost, "/vouchers/SALE/reservations/o/confirm", "").status)
	a.call(http.MethodDelete, "/vouchers/SALE/reservations/o", "").refused(409, "ALREADY_CONFIRMED", "", "")
	a.get("/vouchers/NONE").refused(404, "VOUCHER_NOT_FOUND", "", "")
	a.get("/nothing").refused(404, "NOT_FOUND", "", "")
	a.call(http.MethodPut, "/vouchers", "{}").refused(405, "METHOD_NOT_ALLOWED", "", "")
	require.Equal(t, 200, a.get("/vouchers/SALE", "Authorization", "bEARER   checkoutcheckout").status)
	require.Equal(t, 200, a.get("/vouchers", "Authorization", "Bearer twice").status, "a token in both lists is an admin's")
}

// history collects the actors of one voucher.
type history struct{ actors []string }

func (*history) Voucher(voucher.Voucher)                                {}
func (*history) Reservations([]voucher.Reservation)                     {}
func (*history) Customers(map[voucher.CustomerID]voucher.CustomerCount) {}
func (h *history) History(page []voucher.Change) {
	for _, c := range page {
		h.actors = append(h.actors, c.Actor)
	}
}

func TestTheTokensNameIsTheActor(t *testing.T) {
	for want, change := range map[string]func(*rest.Deps){"ops": withTokens, "anonymous": func(*rest.Deps) {}} {
		a := newAPI(t, change)
		a.token = "adminadminadmin"
		a.voucher("SALE", "")
		require.Equal(t, 200, a.call(http.MethodPatch, "/vouchers/SALE", `{"paused":true}`).status)
		require.Equal(t, 200, a.call(http.MethodPatch, "/vouchers/SALE", `{"paused":false}`).status)
		require.Equal(t, 201, a.reserve("SALE", order("1", "a")).status)
		require.Equal(t, 201, a.reserve("SALE", order("2", "b")).status)
		require.Equal(t, 200, a.call(http.MethodPost, "/vouchers/SALE/reservations/a/confirm", "").status)
		require.Equal(t, 204, a.call(http.MethodDelete, "/vouchers/SALE/reservations/b", "").status)
		var h history
		require.NoError(t, a.store.Read(t.Context(), "SALE", &h))
		require.Len(t, h.actors, 7)
		for _, actor := range h.actors {
			require.Equal(t, want, actor)
		}
	}
}

func TestOnlyCheckoutTokensLeaveNobodyToAdminister(t *testing.T) {
	a := newAPI(t, func(d *rest.Deps) { d.Tokens.Checkout = []rest.Token{{Name: "shop", Token: "s"}} })
	a.get("/vouchers").refused(401, "UNAUTHENTICATED", "", "")
	a.get("/vouchers", "Authorization", "Bearer s").refused(403, "FORBIDDEN", "", "")
}
