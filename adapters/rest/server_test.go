package rest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/rest"
	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// serving returns the interface on a real connection, and its address.
func serving(t *testing.T, changes ...func(*rest.Deps)) (*api, string) {
	t.Helper()
	a := newAPI(t, changes...)
	addr, err := a.server.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- a.server.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, a.server.Shutdown(ctx))
		require.NoError(t, <-done)
	})
	return a, addr.String()
}

// wire is an answer as it came over a connection.
type wire struct {
	status int
	header http.Header
	closes bool // the server ends the connection
	body   string
}

// exchange sends bytes over a new connection and reads one answer.
func exchange(addr, request string) (wire, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return wire{}, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return wire{}, err
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return wire{}, err
	}
	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return wire{}, err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	return wire{r.StatusCode, r.Header, r.Close, string(body)}, err
}

func raw(t *testing.T, addr, request string) wire {
	t.Helper()
	w, err := exchange(addr, request)
	require.NoError(t, err)
	return w
}

const reserveHead = "POST /vouchers/SALE/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

func TestASlowBodyIs503WithinTheTime(t *testing.T) {
	a, addr := serving(t, func(d *rest.Deps) { d.RequestTimeout = 300 * time.Millisecond })
	a.voucher("SALE", "")
	began := time.Now()
	r := raw(t, addr, reserveHead+"Content-Length: 100\r\n\r\n{")
	require.Equal(t, 503, r.status)
	require.Contains(t, r.body, "OVERLOADED")
	require.True(t, r.closes)
	require.Less(t, time.Since(began), 3*time.Second)
	// A body that breaks off, or is badly framed, was never a request.
	r = raw(t, addr, reserveHead+"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
	require.Equal(t, 400, r.status)
	require.Contains(t, r.body, `"field":"body"`)
	require.Equal(t, "0", fmt.Sprint(a.get("/vouchers/SALE").field("usedCount")))
}

func TestLimitsOnTheWire(t *testing.T) {
	_, addr := serving(t)
	r := raw(t, addr, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", 64<<10)+"\r\n\r\n")
	require.Equal(t, 431, r.status)
	r = raw(t, addr, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, 404, r.status)
	r = raw(t, addr, reserveHead+"Transfer-Encoding: chunked\r\n\r\n4001\r\n"+strings.Repeat(" ", 0x4001)+"\r\n")
	require.Equal(t, 413, r.status, r.body)
	require.True(t, r.closes)
	r = raw(t, addr, reserveHead+"Expect: 100-continue\r\nContent-Length: 999999999\r\n\r\n")
	require.Equal(t, 413, r.status)
	r = raw(t, addr, "HEAD /healthz HTTP/1.0\r\nX-Request-Id: me\r\n\r\n")
	require.Equal(t, []any{200, "me", ""}, []any{r.status, r.header.Get("X-Request-Id"), r.body})
}

func TestTheDeadlineReachesTheUseCase(t *testing.T) {
	a, _ := failing(t, func(ctx context.Context) (voucher.Reservation, error) {
		_, ok := ctx.Deadline()
		if !ok {
			return voucher.Reservation{}, errors.New("no deadline")
		}
		return voucher.Reservation{}, port.ErrOverloaded
	})
	for _, r := range []reply{a.get("/vouchers/SALE/reservations/o"), a.reserve("SALE", order("1", "o"))} {
		r.refused(503, "UNAVAILABLE", "", "OVERLOADED")
	}
}

// TestAClientThatHangsUp leaves what it asked for running, with its deadline; only what waits in a queue hears of it.
func TestAClientThatHangsUp(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan error, 1)
	proceed := make(chan struct{})
	_, addr := serving(t, func(d *rest.Deps) {
		d.Reservations = finds{find: func(ctx context.Context) (voucher.Reservation, error) {
			close(entered)
			select {
			case <-ctx.Done():
			case <-proceed:
			}
			ended <- ctx.Err()
			return voucher.Reservation{}, port.ErrUnknown
		}}
	})
	hangUp := func(request string) {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		<-entered
		require.NoError(t, conn.Close())
	}
	hangUp("POST /vouchers/SALE/reservations/o/confirm HTTP/1.1\r\nHost: x\r\n\r\n")
	require.ErrorIs(t, <-ended, context.Canceled)
	entered = make(chan struct{})
	hangUp("GET /vouchers/SALE/reservations/o HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-ended:
		require.Fail(t, "broken off", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(proceed)
	require.NoError(t, <-ended)
}

func TestShutdownWaitsForRequestsInHand(t *testing.T) {
	entered, proceed := make(chan struct{}), make(chan struct{})
	a := newAPI(t, func(d *rest.Deps) {
		d.Reservations = finds{find: func(context.Context) (voucher.Reservation, error) {
			close(entered)
			<-proceed
			return voucher.Reservation{}, voucher.ErrReservationNotFound
		}}
	})
	a.server.SetReady(true)
	addr, err := a.server.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	_, err = a.server.Listen(t.Context(), "127.0.0.1:0")
	require.Error(t, err)
	served := make(chan error, 1)
	go func() { served <- a.server.Serve() }()
	answered := make(chan int, 1)
	go func() {
		r, err := exchange(addr.String(), "GET /vouchers/SALE/reservations/o HTTP/1.1\r\nHost: x\r\n\r\n")
		if err != nil {
			t.Error(err)
		}
		answered <- r.status
	}()
	<-entered
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- a.server.Shutdown(context.Background()) }()
	require.NoError(t, <-served)
	_, err = net.Dial("tcp", addr.String())
	require.Error(t, err, "the listener is closed")
	<-soon.Done()
	require.Empty(t, stopped, "Shutdown left a request behind")
	close(proceed)
	require.Equal(t, 404, <-answered)
	require.NoError(t, <-stopped)
	require.NoError(t, a.server.Shutdown(context.Background()), "twice")
	_, err = a.server.Listen(t.Context(), "127.0.0.1:0")
	require.ErrorIs(t, err, http.ErrServerClosed)
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	entered, proceed := make(chan struct{}), make(chan struct{})
	a := newAPI(t, func(d *rest.Deps) {
		d.Reservations = finds{find: func(context.Context) (voucher.Reservation, error) {
			close(entered)
			<-proceed
			return voucher.Reservation{}, port.ErrUnknown
		}}
	})
	addr, err := a.server.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- a.server.Serve() }()
	conn, err := net.Dial("tcp", addr.String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET /vouchers/SALE/reservations/o HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, a.server.Shutdown(ctx), context.DeadlineExceeded)
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err, "the connection is cut")
	require.NoError(t, conn.Close())
	close(proceed)
	require.NoError(t, <-served)
}

func TestStopBeforeStart(t *testing.T) {
	a := newAPI(t)
	require.Error(t, a.server.Serve(), "there is no listener")
	addr, err := a.server.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, a.server.Shutdown(t.Context()))
	_, err = net.Dial("tcp", addr.String())
	require.Error(t, err)
	require.NoError(t, a.server.Serve())
	_, err = newAPI(t).server.Listen(t.Context(), "nonsense:port")
	require.Error(t, err)
}
