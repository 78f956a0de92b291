package fault_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fate is what becomes of a COMMIT on its way through the proxy.
type fate struct {
	arrives bool // the server gets it and its answer comes as far as the proxy
	cut     bool // then the connection ends; otherwise it stays open, silent for ever
}

// proxy stands between a voucherd and its Postgres and reads just enough of the protocol to see a COMMIT.
type proxy struct {
	upstream string
	listener net.Listener
	struck   chan struct{} // a COMMIT has met its fate

	mu    sync.Mutex
	next  []fate // of the next COMMITs; the others pass
	conns map[net.Conn]bool
	done  sync.WaitGroup
}

// startProxy returns a proxy for the server of the URL, and the URL through it.
func startProxy(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	const plenty = 1024
	p := &proxy{upstream: u.Host, listener: l, struck: make(chan struct{}, plenty), conns: map[net.Conn]bool{}}
	p.done.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.done.Wait()
}

// strike gives the next COMMIT that has none yet this fate.
func (p *proxy) strike(f fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = append(p.next, f)
}

// spare lets all COMMITs pass again.
func (p *proxy) spare() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = nil
}

func (p *proxy) awaitStrike(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(quietWithin)
	defer timer.Stop()
	select {
	case <-p.struck:
	case <-timer.C:
		t.Fatal("no COMMIT came")
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.serve(client) })
	}
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

func (p *proxy) serve(client net.Conn) {
	p.keep(client)
	defer p.drop(client)
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.upstream)
	if err != nil {
		return
	}
	p.keep(server)
	defer p.drop(server)
	l := link{proxy: p, client: client, server: server, replied: make(chan struct{}, 1)}
	p.done.Go(l.backward)
	l.forward()
}

// link is one connection through the proxy.
type link struct {
	proxy          *proxy
	client, server net.Conn

	mu      sync.Mutex
	muted   bool
	replied chan struct{} // the server has answered while muted
}

// forward carries messages to the server until one meets a fate.
func (l *link) forward() {
	const startup, typed = 4, 5 // bytes of a message's head; only the first message has no type
	for head := startup; ; head = typed {
		message, err := readMessage(l.client, head)
		if err != nil {
			return
		}
		if head == typed && isCommit(message) {
			if f, ok := l.proxy.take(); ok {
				l.meet(message, f)
				return
			}
		}
		if _, err := l.server.Write(message); err != nil {
			return
		}
	}
}

func (p *proxy) take() (f fate, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.next) == 0 {
		return fate{}, false
	}
	f, p.next = p.next[0], p.next[1:]
	return f, true
}

func (l *link) meet(message []byte, f fate) {
	if f.arrives {
		l.mu.Lock()
		l.muted = true
		l.mu.Unlock()
		if _, err := l.server.Write(message); err != nil {
			return
		}
		timer := time.NewTimer(quietWithin)
		defer timer.Stop()
		select {
		case <-l.replied:
		case <-timer.C: // the test will miss the strike
			return
		}
	}
	l.proxy.struck <- struct{}{}
	if !f.cut {
		_, _ = io.Copy(io.Discard, l.client) // until the client gives up
	}
}

// backward carries the server's bytes to the client, or, once muted, nowhere.
func (l *link) backward() {
	defer func() { _ = l.client.Close() }() // wakes forward
	const size = 32 << 10
	for buffer := make([]byte, size); ; {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		l.mu.Lock()
		muted := l.muted
		l.mu.Unlock()
		if muted {
			select {
			case l.replied <- struct{}{}:
			default:
			}
			continue
		}
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

var errMessage = errors.New("not a message of the protocol")

// readMessage reads a message with its head, whose last four bytes are its length without the type.
func readMessage(r io.Reader, head int) ([]byte, error) {
	const length, most = 4, 16 << 20
	var message bytes.Buffer
	if _, err := io.CopyN(&message, r, int64(head)); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(message.Bytes()[head-length:])) - length
	if n < 0 || n > most {
		return nil, errMessage
	}
	_, err := io.CopyN(&message, r, n)
	return message.Bytes(), err
}

// isCommit looks at simple queries and at statements that are being prepared.
func isCommit(message []byte) bool {
	return (message[0] == 'Q' || message[0] == 'P') && bytes.Contains(bytes.ToUpper(message), []byte("COMMIT\x00"))
}
