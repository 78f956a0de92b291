package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// audience says who may call a route, when there are tokens at all.
type audience int

const (
	everyone audience = iota + 1 // no token is asked for
	checkout                     // whoever has any known token
	admin                        // whoever has an admin's token
)

// route is one operation of the interface.
type route struct {
	method, path string // path as the OpenAPI document writes it
	audience     audience
	// queued: the use case has a queue in which it tells callers who have gone from those who wait.
	queued bool
	handle func(context.Context, *call) error
}

// name is the route in metrics and logs.
func (r route) name() string {
	if r.path == "" {
		return "unmatched"
	}
	return r.method + " " + r.path
}

// routes is the whole interface; without the use cases, the part for operators alone.
func (s *Server) routes() []route {
	const (
		vouchers     = "/vouchers"
		one          = vouchers + "/{code}"
		reservations = one + "/reservations"
		order        = reservations + "/{orderId}"
	)
	operations := []route{
		{method: http.MethodGet, path: "/healthz", audience: everyone, handle: s.healthz},
		{method: http.MethodGet, path: "/readyz", audience: everyone, handle: s.readyz},
		{method: http.MethodGet, path: "/metrics", audience: admin, handle: s.metrics},
		{method: http.MethodGet, path: "/openapi.yaml", audience: everyone, handle: s.openapi},
	}
	if s.deps.Vouchers == nil || s.deps.Reservations == nil {
		return operations
	}
	return append(operations, []route{
		{method: http.MethodPost, path: vouchers, audience: admin, handle: s.createVoucher},
		{method: http.MethodGet, path: vouchers, audience: admin, handle: s.listVouchers},
		{method: http.MethodGet, path: one, audience: checkout, handle: s.findVoucher},
		{method: http.MethodPatch, path: one, audience: admin, handle: s.amendVoucher},
		{method: http.MethodPost, path: reservations, audience: checkout, queued: true, handle: s.reserve},
		{method: http.MethodPost, path: order + "/confirm", audience: checkout, queued: true, handle: s.confirm},
		{method: http.MethodDelete, path: order, audience: checkout, queued: true, handle: s.release},
		{method: http.MethodGet, path: order, audience: checkout, handle: s.findReservation},
		{method: http.MethodGet, path: one + "/redemptions", audience: admin, handle: s.listRedemptions},
	}...)
}

// engine returns gin as a bare router: each route is one handler, which does what middleware would do.
func (s *Server) engine() *gin.Engine {
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.HandleMethodNotAllowed = true
	// The path is matched as it was sent, so that an encoded slash is a character of a parameter. Parameters are
	// decoded by us: gin would take a plus for a blank.
	e.UseEscapedPath = true
	e.UnescapePathValues = false
	e.ForwardedByClientIP = false
	for _, r := range s.routes() {
		path := strings.NewReplacer("{", ":", "}", "").Replace(r.path)
		e.Handle(r.method, path, s.serve(r))
		if r.method == http.MethodGet {
			e.Handle(http.MethodHead, path, s.serve(r)) // net/http leaves the body out
		}
	}
	e.NoRoute(s.serve(route{audience: checkout, handle: refuseWith(errNoRoute)}))
	e.NoMethod(s.serve(route{audience: checkout, handle: refuseWith(errNoMethod)}))
	return e
}

func refuseWith(err error) func(context.Context, *call) error {
	return func(context.Context, *call) error { return err }
}
