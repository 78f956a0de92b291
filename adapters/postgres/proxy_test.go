package postgres_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// at is a point in the talk between the adapter and the server.
type at string

// A fault: what the proxy does when a COMMIT, or the first statement of a transaction, comes by.
const (
	passAll        at = ""
	loseCommit     at = "the connection breaks before the server gets COMMIT"
	loseAnswer     at = "the connection breaks after the server has committed"
	swallowCommit  at = "COMMIT gets lost and the connection stays"
	swallowAnswer  at = "the answer to COMMIT gets lost and the connection stays"
	swallowRequest at = "nothing gets through"
)

// proxy stands before a server, which speaks in clear, and makes faults of the network.
type proxy struct {
	url string
	wg  sync.WaitGroup

	mu    sync.Mutex
	fault at
	ports []net.Conn
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{}
	target := u.Host
	u.Host = listener.Addr().String()
	p.url = u.String()
	p.wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.serve(client, server)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for _, c := range p.ports {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve(client, server net.Conn) {
	p.mu.Lock()
	p.ports = append(p.ports, client, server)
	p.mu.Unlock()
	var answers sync.Mutex // held while answers are held back
	hang := func() { _ = client.Close(); _ = server.Close() }
	p.wg.Go(func() {
		defer hang()
		_ = pump(server, client, func(chunk []byte) error {
			switch fault := p.now(); {
			case fault == swallowRequest:
				_, _ = io.Copy(io.Discard, client)
				return errors.New("swallowed")
			case !bytes.Contains(chunk, []byte("COMMIT\x00")), fault == passAll:
				return nil
			case fault == loseCommit:
				return errors.New("lost")
			case fault == swallowCommit:
				_, _ = io.Copy(io.Discard, client)
				return errors.New("swallowed")
			default: // its answer goes missing
				answers.Lock()
				return nil
			}
		})
	})
	p.wg.Go(func() {
		defer hang()
		_ = pump(client, server, func([]byte) error {
			if answers.TryLock() {
				answers.Unlock()
				return nil
			}
			if p.now() == swallowAnswer {
				_, _ = io.Copy(io.Discard, server)
			}
			return errors.New("lost")
		})
	})
}

// pump copies from one side to the other what look lets pass.
func pump(to io.Writer, from io.Reader, look func([]byte) error) error {
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		if err != nil {
			return err
		}
		if err := look(chunk[:n]); err != nil {
			return err
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return err
		}
	}
}

func (p *proxy) now() at {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

func (p *proxy) set(fault at) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}
