package rest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"voucherd/adapters/memory"
	"voucherd/adapters/rest"
	"voucherd/application/catalog"
	"voucherd/application/reservation"
	"voucherd/domain/voucher"
	"voucherd/test/clock"
)

const (
	ttl        = 15 * time.Minute
	jsonBody   = "application/json"
	timeFormat = "2006-01-02T15:04:05.000Z"
)

// api is the whole interface on the in-memory store.
type api struct {
	t       testing.TB
	clock   *clock.Clock
	handler http.Handler
	server  *rest.Server
	store   *memory.Store

	mu    sync.Mutex
	seen  []observation
	token string // sent with each request unless empty
}

type observation struct {
	route     string
	status    int
	errorCode string
}

// newAPI returns the interface; each change may alter what it stands on.
func newAPI(t testing.TB, changes ...func(*rest.Deps)) *api {
	t.Helper()
	a := &api{t: t, clock: clock.At(time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC))}
	a.store = memory.New(a.clock)
	directory := catalog.NewDirectory(a.store, a.clock)
	service := reservation.New(a.store, a.store, directory,
		map[voucher.Mode]reservation.Decider{voucher.Standard: reservation.Standard{Ledger: a.store}}, a.clock, ttl)
	deps := rest.Deps{
		Vouchers: catalog.New(a.store, a.store, directory, a.clock, catalog.Settings{
			DefaultMode: voucher.Standard, Served: []voucher.Mode{voucher.Standard},
			Configured: map[voucher.Code]voucher.Mode{"PINNED": voucher.Standard},
		}),
		Reservations: service, Clock: a.clock, Log: zap.NewNop(), RequestTimeout: 10 * time.Second,
		Observe: func(route string, status int, errorCode string, _ time.Duration) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.seen = append(a.seen, observation{route, status, errorCode})
		},
	}
	for _, change := range changes {
		change(&deps)
	}
	a.server = rest.New(deps)
	a.handler = a.server.Handler()
	t.Cleanup(func() { service.Wait(); directory.Wait() })
	return a
}

// last returns what was observed last.
func (a *api) last() observation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[len(a.seen)-1]
}

// reply is an answer with its body read.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// field returns a field of the body's object; numbers are json.Number.
func (r reply) field(name string) any { return r.object()[name] }

func (r reply) object() map[string]any {
	r.t.Helper()
	d := json.NewDecoder(strings.NewReader(r.body))
	d.UseNumber()
	var m map[string]any
	require.NoError(r.t, d.Decode(&m), "body: %s", r.body)
	return m
}

// refused demands a refusal, whole: code, field and reason ("" for none).
func (r reply) refused(status int, code, field, reason string) {
	r.t.Helper()
	require.Equal(r.t, status, r.status, r.body)
	m := r.object()
	require.Equal(r.t, code, m["error"], r.body)
	require.Equal(r.t, or(field), or(m["field"]), r.body)
	require.Equal(r.t, or(reason), or(m["reason"]), r.body)
	require.NotEmpty(r.t, m["message"])
	require.Equal(r.t, r.header.Get("X-Request-Id"), m["requestId"])
	require.Equal(r.t, []string{"application/json"}, r.header.Values("Content-Type"))
}

func or(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// send sends a request and checks what holds for every answer, and that the published document knows this one.
func (a *api) send(r *http.Request) reply {
	a.t.Helper()
	got := a.sendUndocumented(r)
	requireDocumented(a.t, a.last().route, got)
	return got
}

// sendUndocumented is send for answers that the call doesn't give by itself.
func (a *api) sendUndocumented(r *http.Request) reply {
	a.t.Helper()
	if a.token != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	require.NoError(a.t, err)
	got := reply{t: a.t, status: w.Code, header: w.Result().Header, body: string(body)}
	require.Regexp(a.t, `^[A-Za-z0-9._:-]{1,64}$`, got.header.Get("X-Request-Id"))
	require.Equal(a.t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.Equal(a.t, "no-store", got.header.Get("Cache-Control"))
	if got.status == http.StatusServiceUnavailable {
		require.Regexp(a.t, `^[123]$`, got.header.Get("Retry-After"))
	} else {
		require.Empty(a.t, got.header.Get("Retry-After"))
	}
	return got
}

func (a *api) callUndocumented(method, path string) reply {
	a.t.Helper()
	return a.sendUndocumented(httptest.NewRequestWithContext(context.Background(), method, path, nil))
}

func (a *api) call(method, path, body string, headers ...string) reply {
	a.t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", jsonBody)
	}
	addHeaders(r, headers)
	return a.send(r)
}

// json sends a body as JSON, an empty one too.
func (a *api) json(method, path, body string) reply {
	a.t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", jsonBody)
	return a.send(r)
}

// addHeaders adds headers that are given as name, value, name, value.
func addHeaders(r *http.Request, headers []string) {
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
}

func (a *api) get(path string, headers ...string) reply {
	a.t.Helper()
	return a.call(http.MethodGet, path, "", headers...)
}

// voucher makes a voucher whose window is open; terms are further members, each with its comma before it.
func (a *api) voucher(code, terms string) {
	a.t.Helper()
	if !strings.Contains(terms, "totalLimit") {
		terms += `,"totalLimit":10`
	}
	if !strings.Contains(terms, "discountAmount") {
		terms += `,"discountAmount":1000`
	}
	r := a.call(http.MethodPost, "/vouchers",
		`{"code":"`+code+`","startsAt":"2026-01-01T00:00:00Z","endsAt":"2027-01-01T00:00:00Z"`+terms+`}`)
	require.Equal(a.t, http.StatusCreated, r.status, r.body)
}

func (a *api) reserve(code, body string, headers ...string) reply {
	a.t.Helper()
	return a.call(http.MethodPost, "/vouchers/"+code+"/reservations", body, headers...)
}

func order(customer, id string) string {
	return `{"customerId":` + customer + `,"orderId":"` + id + `","orderAmount":5000}`
}
