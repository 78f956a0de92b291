package rest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"voucherd/application/port"
	"voucherd/application/reservation"
	"voucherd/domain/voucher"
)

// Bounds of the server.
const (
	// maxHeader bounds a request's line and headers; a code, an order and a token are far below.
	maxHeader = 16 << 10
	// idleTimeout is how long a connection may wait for its next request.
	idleTimeout = 75 * time.Second
	// writeSlack is what the answer may take on the wire beyond the request's own time.
	writeSlack = 5 * time.Second
	// loggedAtOnce is how many equal log lines about requests one second shows; then every loggedEvery-th.
	loggedAtOnce, loggedEvery = 20, 1000
)

// Vouchers is the use cases about vouchers; catalog.Catalog says what each promises.
type Vouchers interface {
	Create(ctx context.Context, code voucher.Code, t voucher.Terms, actor string) (voucher.Voucher, error)
	Find(ctx context.Context, code voucher.Code) (voucher.Voucher, error)
	List(ctx context.Context, after voucher.Code, limit int) (vs []voucher.Voucher, more bool, err error)
	Amend(ctx context.Context, code voucher.Code, a voucher.Amendment, actor string) (voucher.Voucher, error)
}

// Reservations is the use cases about reservations; reservation.Service says what each promises.
type Reservations interface {
	Reserve(ctx context.Context, w reservation.Reserve) (voucher.Reservation, error)
	Confirm(ctx context.Context, code voucher.Code, order voucher.OrderID, cond voucher.Condition, actor string) (voucher.Reservation, error)
	Release(ctx context.Context, code voucher.Code, order voucher.OrderID, cond voucher.Condition, actor string) error
	Find(ctx context.Context, code voucher.Code, order voucher.OrderID) (voucher.Reservation, error)
	List(ctx context.Context, code voucher.Code, status voucher.Status, before *voucher.Version, limit int) (rs []voucher.Reservation, more bool, err error)
}

// Dependency is the state of one server that this process uses.
type Dependency struct {
	Name string // of the role, such as "postgres"; never a host
	Up   bool
}

// Readiness is what /readyz tells beside being ready: a dependency that is away is shown and makes nothing unready.
type Readiness struct{ Dependencies []Dependency }

// Deps is what the interface stands on. Clock, Log and RequestTimeout are needed; without Vouchers and Reservations
// only the routes for operators are served.
type Deps struct {
	Vouchers     Vouchers
	Reservations Reservations
	Clock        port.Clock
	Log          *zap.Logger
	// RequestTimeout bounds a request from its first byte to its answer, positive.
	RequestTimeout time.Duration
	// Tokens say who may call what; with none at all everybody may call everything.
	Tokens Tokens
	// Ready tells the state of the dependencies; it returns quickly. Nil: there are none.
	Ready func(ctx context.Context) Readiness
	// Metrics serves /metrics; nil: there is no such page.
	Metrics http.Handler
	// Observe is told each answer: the route as METHOD /path/{parameter} or "unmatched", the status, the error code or
	// "", and the time taken. It must be safe for concurrent use. Nil: nobody is told.
	Observe func(route string, status int, errorCode string, d time.Duration)
	// IntN returns a random number below n, for Retry-After. Nil: math/rand.
	IntN func(n int) int
}

// Server serves the interface. Its methods are safe for concurrent use.
type Server struct {
	deps  Deps
	guard guard
	often *zap.Logger // for lines that an outage would repeat for every request
	http  *http.Server
	ready atomic.Bool

	mu       sync.Mutex
	listener net.Listener
	stopped  bool
}

// silence makes gin print nothing; its mode is a variable of the whole process.
var silence = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// New returns a server that listens to nobody yet and is not ready.
func New(deps Deps) *Server {
	silence()
	if deps.Ready == nil {
		deps.Ready = func(context.Context) Readiness { return Readiness{} }
	}
	if deps.Observe == nil {
		deps.Observe = func(string, int, string, time.Duration) {}
	}
	if deps.IntN == nil {
		deps.IntN = rand.IntN
	}
	s := &Server{deps: deps, guard: newGuard(deps.Tokens)}
	s.often = deps.Log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, loggedAtOnce, loggedEvery)
	}))
	s.http = &http.Server{
		Handler: s.engine(),
		// A connection may wait for its first request as long as for any other one: pools of clients open them before
		// they need them, and one that is closed under their hands is a POST without an answer. The time that a body
		// may take is set for each request.
		ReadHeaderTimeout: idleTimeout,
		WriteTimeout:      deps.RequestTimeout + writeSlack,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          zap.NewStdLog(s.often.Named("http")),
		// "OPTIONS *" is answered like any other unknown path.
		DisableGeneralOptionsHandler: true,
	}
	return s
}

// Handler returns the whole interface, for a listener of one's own.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// SetReady says what /readyz answers. Unready, the server goes on serving.
func (s *Server) SetReady(ready bool) { s.ready.Store(ready) }

// Listen takes addr (host:port) and returns the address that was bound. After it, connections wait for Serve.
func (s *Server) Listen(ctx context.Context, addr string) (net.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, http.ErrServerClosed
	case s.listener != nil:
		return nil, errors.New("rest: the server listens already")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s.listener = l
	return l.Addr(), nil
}

// Serve answers requests until Shutdown, and then returns nil at once: Shutdown is what waits for requests in hand.
func (s *Server) Serve() error {
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l == nil {
		return errors.New("rest: Serve before Listen")
	}
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown turns the server unready, closes its listener and waits for the requests in hand. When ctx ends first,
// their connections are cut and the error is ctx's. It may be called before Serve, and again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.SetReady(false)
	s.mu.Lock()
	s.stopped = true
	l := s.listener
	s.mu.Unlock()
	// First the server, which knows then that the listener's end is no failure.
	err := s.http.Shutdown(ctx)
	if l != nil {
		// Serve may not have been called; closed twice is closed.
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.deps.Log.Warn("the listener could not be closed", zap.Error(err))
		}
	}
	if err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}
