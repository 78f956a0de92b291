package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// patience bounds one request: the service answers within its own, much shorter, time.
	patience = 20 * time.Second
	// insistence bounds the repeats of one request that is answered 503.
	insistence = 60 * time.Second
	// maxPause is the longest wait before a repeat. It is shorter than Retry-After asks for: a crowd that comes back
	// at once is the harder case, and the quicker test.
	maxPause = 200 * time.Millisecond
)

// shop is a client that spreads its requests over one or several processes. Safe for concurrent use.
type shop struct {
	*ledger
	urls  []string
	token string
	// loose takes a connection that breaks for a 503: for processes that are stopped while they serve.
	loose bool
	turn  *atomic.Uint64
}

// ledger is what all clients of one test share: what they were told, and whether something was wrong.
type ledger struct {
	t       testing.TB
	ctx     context.Context //nolint:containedctx // it ends with the first answer that must never be
	stop    context.CancelFunc
	http    *http.Client
	numbers atomic.Int64

	mu       sync.Mutex
	promises map[string]map[string]*promise // by code and order
}

// promise is what the answers to the reserves of one order said.
type promise struct {
	bodies  []string // of every 201, each once
	refused bool     // the last answer that was no 503 was a refusal
}

func newShop(t testing.TB, urls ...string) *shop {
	t.Helper()
	transport := &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: 1 << 14, DisableCompression: true}
	l := &ledger{
		t: t, http: &http.Client{Transport: transport, Timeout: patience},
		promises: make(map[string]map[string]*promise),
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	t.Cleanup(func() {
		l.stop()
		transport.CloseIdleConnections()
	})
	return &shop{ledger: l, urls: urls, turn: new(atomic.Uint64)}
}

// fail reports from any goroutine, and ends what the other ones do.
func (l *ledger) fail(format string, args ...any) {
	if l.ctx.Err() == nil {
		l.t.Errorf(format, args...)
	}
	l.stop()
}

// at returns the same shop as a client of one process alone.
func (s *shop) at(process int) *shop {
	one := *s
	one.urls = []string{s.urls[process]}
	return &one
}

// as returns the same shop with a token, none if it is empty.
func (s *shop) as(token string) *shop {
	other := *s
	other.token = token
	return &other
}

// forgiving returns the same shop, for which a broken connection is like a 503.
func (s *shop) forgiving() *shop {
	other := *s
	other.loose = true
	return &other
}

// request is one call. The route is written as in the document.
type request struct {
	method, route string
	code, order   string
	query         string
	body          any // a string goes out as it is
	header        map[string]string
}

func (r request) path() string {
	path := strings.NewReplacer("{code}", r.code, "{orderId}", r.order).Replace(r.route)
	if r.query != "" {
		path += "?" + r.query
	}
	return path
}

func (r request) encode() (io.Reader, error) {
	switch b := r.body.(type) {
	case nil:
		return http.NoBody, nil
	case string:
		return strings.NewReader(b), nil
	default:
		text, err := json.Marshal(b)
		return bytes.NewReader(text), err
	}
}

// noAnswer is the status where the connection broke.
const noAnswer = 0

// answer is what came back.
type answer struct {
	status              int
	header              http.Header
	body                []byte
	code, reason, field string // of a refusal
}

// String is the answer as tests count it: "201", "409 OUT_OF_STOCK", "422 NOT_ELIGIBLE PAUSED".
func (a answer) String() string {
	return strings.Join(slices.DeleteFunc([]string{strconv.Itoa(a.status), a.code, a.reason, a.field},
		func(s string) bool { return s == "" }), " ")
}

// as reads the body into what the caller expects.
func (a answer) as(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("answer %s %s: %v", a, a.body, err)
	}
}

// busy says that the client is to send the same request again.
func (a answer) busy() bool { return a.status == http.StatusServiceUnavailable || a.status == noAnswer }

// send makes one attempt and checks what comes back.
func (s *shop) send(r request) answer {
	a, err := s.exchange(r)
	switch {
	case err == nil:
		if err := judge(r, a); err != nil {
			s.fail("%s %s is answered %d %s: %v", r.method, r.path(), a.status, a.body, err)
		}
	case !s.loose:
		s.fail("%s %s is not answered: %v", r.method, r.path(), err)
	}
	return a
}

func (s *shop) exchange(r request) (answer, error) {
	body, err := r.encode()
	if err != nil {
		return answer{}, err
	}
	base := s.urls[s.turn.Add(1)%uint64(len(s.urls))]
	req, err := http.NewRequestWithContext(s.ctx, r.method, base+r.path(), body)
	if err != nil {
		return answer{}, err
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return answer{}, err
	}
	return newAnswer(resp, text), nil
}

func newAnswer(resp *http.Response, body []byte) answer {
	a := answer{status: resp.StatusCode, header: resp.Header, body: body}
	if a.status >= http.StatusBadRequest {
		var refusal struct {
			Error  string `json:"error"`
			Reason string `json:"reason"`
			Field  string `json:"field"`
		}
		_ = json.Unmarshal(body, &refusal) // judge says what is wrong with it
		a.code, a.reason, a.field = refusal.Error, refusal.Reason, refusal.Field
	}
	return a
}

// insist repeats the request until the answer is something else than 503, as a client should.
func (s *shop) insist(r request) answer {
	for deadline := time.Now().Add(insistence); ; {
		a := s.send(r)
		if !a.busy() || s.ctx.Err() != nil {
			return a
		}
		if time.Now().After(deadline) {
			s.fail("%s %s is still answered %s after %v", r.method, r.path(), a, insistence)
			return a
		}
		timer := time.NewTimer(rand.N(maxPause))
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
		}
	}
}

// judge checks an answer: no 5xx but an honest 503, and the published document.
func judge(r request, a answer) error {
	id := a.header.Get("X-Request-Id")
	if id == "" {
		return fmt.Errorf("no X-Request-Id")
	}
	if a.status >= http.StatusInternalServerError {
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if a.status != http.StatusServiceUnavailable || a.code != "UNAVAILABLE" || a.reason == "" || err != nil || wait < 1 || wait > 3 {
			return fmt.Errorf("not an honest 503, Retry-After %q", a.header.Get("Retry-After"))
		}
	}
	if a.status >= http.StatusBadRequest && r.method != http.MethodHead {
		var refusal struct {
			Message   string `json:"message"`
			RequestID string `json:"requestId"`
		}
		if err := json.Unmarshal(a.body, &refusal); err != nil || refusal.RequestID != id || refusal.Message == "" {
			return fmt.Errorf("not a refusal's body, X-Request-Id %q: %w", id, err)
		}
		for _, leak := range []string{"SQLSTATE", "127.0.0.1", "goroutine ", ".go:", "pgx"} {
			if strings.Contains(refusal.Message, leak) {
				return fmt.Errorf("it shows %q", leak)
			}
		}
	}
	return document().check(r, a)
}
