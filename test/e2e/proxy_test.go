package e2e_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy stands between a process and its database and makes the way long: each chunk of bytes arrives later, in either
// direction, and nothing arrives while it is held.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	delay time.Duration
	open  chan struct{} // closed while bytes may pass
	late  int           // chunks that were delayed
	conns []net.Conn
	ended bool
}

// startProxy returns a proxy to the database and the database's URL by way of it.
func startProxy(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, target: u.Host, open: make(chan struct{})}
	close(p.open)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = listener.Addr().String()
	return p, u.String()
}

// slow makes each round trip that much longer.
func (p *proxy) slow(trip time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = trip / 2
}

// delayed is how many chunks were on a long way so far.
func (p *proxy) delayed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late
}

// hold stops all bytes until flow.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = make(chan struct{})
}

func (p *proxy) flow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

func (p *proxy) close() {
	p.flow()
	p.mu.Lock()
	p.ended = true
	_ = p.listener.Close()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		ended := p.ended
		p.mu.Unlock()
		if ended {
			_ = client.Close()
			_ = server.Close()
			return
		}
		p.running.Go(func() { p.pass(client, server) })
		p.running.Go(func() { p.pass(server, client) })
	}
}

// chunk is some bytes and when they arrive.
type chunk struct {
	bytes []byte
	due   time.Time
}

// pass carries bytes one way. Chunks travel at the same time, so the delay is one of distance and not of width.
func (p *proxy) pass(from, to net.Conn) {
	const inFlight, width = 1024, 64 << 10
	chunks := make(chan chunk, inFlight)
	p.running.Go(func() {
		defer func() { _ = to.Close() }()
		for c := range chunks {
			timer := time.NewTimer(time.Until(c.due))
			<-timer.C
			p.mu.Lock()
			open := p.open
			p.mu.Unlock()
			<-open
			if _, err := to.Write(c.bytes); err != nil {
				_ = from.Close() // ends the reader below
			}
		}
	})
	defer close(chunks)
	buffer := make([]byte, width)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		due := time.Now().Add(p.delay)
		if p.delay > 0 {
			p.late++
		}
		p.mu.Unlock()
		if n > 0 {
			chunks <- chunk{append([]byte(nil), buffer[:n]...), due}
		}
		if err != nil { // io.EOF, or the other side has gone
			return
		}
	}
}

func TestTheProxyDelaysAndHolds(t *testing.T) {
	echo, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		conn, err := echo.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	})
	p, address := startProxy(t, "postgres://"+echo.Addr().String())
	conn, err := net.Dial("tcp", address[len("postgres://"):])
	require.NoError(t, err)
	trip := func() time.Duration {
		began := time.Now()
		_, err := conn.Write([]byte("x"))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 1))
		require.NoError(t, err)
		return time.Since(began)
	}
	trip()
	const distance = 50 * time.Millisecond
	p.slow(distance)
	require.GreaterOrEqual(t, trip(), distance)
	p.slow(0)
	p.hold()
	time.AfterFunc(distance, p.flow)
	require.GreaterOrEqual(t, trip(), distance)
	require.NoError(t, conn.Close())
	running.Wait()
	require.NoError(t, echo.Close())
}
