package redis_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands before a server and loses answers: the server has run a script, and the connection breaks before the
// client hears of it.
type proxy struct {
	addr     string
	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	loses func(n int) bool // whether the answer to the n-th script is lost; called under mu
	count int
	lost  int
	conns []net.Conn
}

func newProxy(t *testing.T, target string, loses func(n int) bool) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{addr: listener.Addr().String(), target: target, listener: listener, loses: loses}
	p.wg.Go(func() {
		for {
			front, err := listener.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", target)
			if err != nil {
				_ = front.Close()
				continue
			}
			p.serve(front, back)
		}
	})
	t.Cleanup(func() {
		p.shut()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

// shut lets nobody connect any more.
func (p *proxy) shut() { _ = p.listener.Close() }

func (p *proxy) serve(front, back net.Conn) {
	p.mu.Lock()
	p.conns = append(p.conns, front, back)
	p.mu.Unlock()
	var lose sync.Mutex // guards doomed
	doomed := false
	hang := func() { _ = front.Close(); _ = back.Close() }
	p.wg.Go(func() {
		defer hang()
		pump(back, front, func(chunk []byte) bool {
			if bytes.Contains(bytes.ToLower(chunk), []byte("\r\neval")) {
				lose.Lock()
				doomed = p.judge()
				lose.Unlock()
			}
			return true
		})
	})
	p.wg.Go(func() {
		defer hang()
		pump(front, back, func(chunk []byte) bool {
			lose.Lock()
			defer lose.Unlock()
			// The script that was not known has not run: its answer comes through.
			return !doomed || bytes.Contains(chunk, []byte("NOSCRIPT"))
		})
	})
}

func (p *proxy) judge() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if !p.loses(p.count) {
		return false
	}
	p.lost++
	return true
}

// pump copies what look lets pass, until it doesn't.
func pump(to io.Writer, from io.Reader, look func([]byte) bool) {
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		if err != nil || !look(chunk[:n]) {
			return
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}
