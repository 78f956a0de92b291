package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range that systems use for outgoing
// connections. Inside it a client of a server that is down now and then
// connects to itself (its source port is the one it dials), and a server could
// not come back on its port because a stranger's connection left from it.
const (
	firstPort    = 12000
	portCount    = 18000
	portAttempts = 200
)

var errNoPort = errors.New("no free loopback port found")

// Port is a free TCP port of 127.0.0.1 that is ours until Release, also while
// no server listens on it.
type Port struct {
	Number int
	claim  net.PacketConn
}

// ReservePort finds a port that nobody listens on and that no other test
// process has reserved.
func ReservePort() (*Port, error) {
	for range portAttempts {
		n := firstPort + rand.IntN(portCount)
		if p := tryPort(n); p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w after %d attempts", errNoPort, portAttempts)
}

// tryPort claims the port's UDP twin, which no server here uses, so that a
// claim needs no lock file, hinders no TCP server and ends with the process.
func tryPort(n int) *Port {
	var lc net.ListenConfig
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(n))
	claim, err := lc.ListenPacket(context.Background(), "udp", address)
	if err != nil {
		return nil
	}
	probe, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		_ = claim.Close()
		return nil
	}
	_ = probe.Close()
	return &Port{Number: n, claim: claim}
}

// Address is "127.0.0.1:PORT".
func (p *Port) Address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number))
}

// Release gives the port up; twice is once.
func (p *Port) Release() { _ = p.claim.Close() }
