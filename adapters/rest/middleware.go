package rest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// call is one request on its way.
type call struct {
	w      gin.ResponseWriter
	r      *http.Request
	params gin.Params
	id     string // answered in X-Request-Id, and in every log line about the request
	actor  string // who asks, for the history
}

// Values of headers that every answer has. The slices are shared by all answers and never written to.
var (
	nosniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)

// serve returns the route as a handler, with all that goes before and after it.
func (s *Server) serve(rt route) gin.HandlerFunc {
	name := rt.name()
	return func(g *gin.Context) {
		began := s.deps.Clock.Now()
		c := &call{w: g.Writer, r: g.Request, params: g.Params, id: requestID(g.Request.Header)}
		h := c.w.Header()
		h["X-Request-Id"] = []string{c.id}
		h["X-Content-Type-Options"] = nosniff
		h["Cache-Control"] = noStore
		errorCode := ""
		if err := s.run(rt, c); err != nil {
			errorCode = s.refuse(c, name, err)
		}
		took := s.deps.Clock.Now().Sub(began)
		s.deps.Observe(name, c.w.Status(), errorCode, took)
		if ce := s.deps.Log.Check(zapcore.DebugLevel, "request"); ce != nil {
			ce.Write(zap.String("request_id", c.id), zap.String("route", name), zap.Int("status", c.w.Status()),
				zap.String("error", errorCode), zap.Duration("took", took))
		}
	}
}

// run has the route handled by whom may call it, within the request's time.
func (s *Server) run(rt route, c *call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // a panic's value, compared as net/http does it
				panic(p)
			}
			err = &panicked{value: p, stack: debug.Stack()}
		}
	}()
	parent := c.r.Context()
	if !rt.queued {
		// What goes to the store by itself isn't broken off by a client who hangs up: that would cost the store a
		// connection each time.
		parent = context.WithoutCancel(parent)
	}
	ctx, cancel := context.WithTimeout(parent, s.deps.RequestTimeout)
	defer cancel()
	// Before anything is refused: net/http reads on through what is left of a body.
	if deadline, ok := ctx.Deadline(); ok && c.r.ContentLength != 0 {
		c.readUntil(deadline)
	}
	if err := s.guard.admit(rt.audience, c); err != nil {
		return err
	}
	return rt.handle(ctx, c)
}

// readUntil bounds the reading of the body; the zero time lifts the bound. It must not outlast the body: what runs into
// it then is net/http's look-out for the client's leaving, which takes it for that, for this request and all that
// follow on the connection.
func (c *call) readUntil(t time.Time) {
	_ = http.NewResponseController(c.w).SetReadDeadline(t) // only a test's writer has no such thing
}

// panicked is a defect that a handler ran into.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// maxRequestID bounds an id that a client chose.
const maxRequestID = 64

// requestID returns the client's id if there is one that can stand in a log line, else a new one.
func requestID(h http.Header) string {
	if ids := h["X-Request-Id"]; len(ids) == 1 && saneID(ids[0]) {
		return ids[0]
	}
	return rand.Text()
}

func saneID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '.', b == '_', b == ':', b == '-':
		default:
			return false
		}
	}
	return true
}

// code returns the voucher that the path names.
func (c *call) code() (voucher.Code, error) {
	raw, err := c.param("code")
	if err != nil {
		return "", err
	}
	return voucher.ParseCode(raw)
}

// order returns the voucher and the order that the path names.
func (c *call) order() (voucher.Code, voucher.OrderID, error) {
	code, err := c.code()
	if err != nil {
		return "", "", err
	}
	raw, err := c.param("orderId")
	if err != nil {
		return "", "", err
	}
	id, err := voucher.ParseOrderID(raw)
	return code, id, err
}

func (c *call) param(name string) (string, error) {
	raw := c.params.ByName(name)
	if strings.IndexByte(raw, '%') < 0 {
		return raw, nil
	}
	s, err := url.PathUnescape(raw)
	if err != nil {
		return "", fault.In(name, "is badly encoded")
	}
	return s, nil
}
