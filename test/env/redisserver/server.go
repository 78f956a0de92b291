// Package redisserver runs private Redis servers for tests, on a loopback port
// of their own, gone when the tests are.
package redisserver

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"voucherd/test/env/process"
)

const (
	startLimit = 30 * time.Second
	stopLimit  = 20 * time.Second
	attempts   = 5
)

// ErrNoBinary says what to install. Tests fail with it, they never skip.
var ErrNoBinary = errors.New(`no Redis server found: install it (Debian, Ubuntu: "apt-get install redis-server"; ` +
	`Fedora: "dnf install redis"; macOS: "brew install redis") or point VOUCHERD_TEST_REDIS_ADDRS at a server`)

var (
	errNotStarted = errors.New("the server ended while it started")
	errSlow       = errors.New("the server wasn't ready in time")
	errFrozen     = errors.New("the server is frozen already")
)

// Find returns the path of redis-server, or ErrNoBinary.
func Find() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", ErrNoBinary
	}
	return path, nil
}

// Server is a Redis server of our own. Its methods are safe for concurrent use.
type Server struct {
	program  string
	dir      string
	settings map[string]string
	sentinel bool
	port     *process.Port

	mu    sync.Mutex
	child *process.Child
	guard *process.Guard
}

// Start starts a server with an empty directory. settings are those of
// redis.conf; without any it writes nothing to disk, so that it comes back
// empty after a restart unless a client had it SAVE.
func Start(settings map[string]string) (*Server, error) { return start(settings, false) }

// StartSentinel starts a sentinel that watches nothing yet.
func StartSentinel() (*Server, error) { return start(nil, true) }

func start(settings map[string]string, sentinel bool) (*Server, error) {
	program, err := Find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "voucherd-redis-")
	if err != nil {
		return nil, fmt.Errorf("directory of the server: %w", err)
	}
	s := &Server{program: program, dir: dir, settings: settings, sentinel: sentinel}
	for range attempts {
		if s.port, err = process.ReservePort(); err != nil {
			return nil, errors.Join(fmt.Errorf("port of the server: %w", err), s.Close())
		}
		if err = s.Start(); err == nil {
			return s, nil
		}
		if !errors.Is(err, errNotStarted) {
			break
		}
		// Most likely a stranger took the port between our look and the start.
		s.port.Release()
	}
	return nil, errors.Join(err, s.Close())
}

// Start starts a server that was stopped or killed: same port, same directory.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil && !s.child.Exited() {
		return nil
	}
	const private = 0o600
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, private)
	if err != nil {
		return fmt.Errorf("log of the server: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own handle
	if s.sentinel {
		if err := touch(s.sentinelFile()); err != nil {
			return err
		}
	}
	cmd := exec.Command(s.program, s.arguments()...)
	cmd.Dir = s.dir
	cmd.Stdout, cmd.Stderr = log, log
	if s.child, err = process.Start(cmd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	return s.awaitReady(s.child)
}

func (s *Server) arguments() []string {
	settings := map[string]string{
		"bind": "127.0.0.1", "port": strconv.Itoa(s.port.Number), "dir": s.dir,
		"save": "", "appendonly": "no", "daemonize": "no", "logfile": "",
	}
	var args []string
	if s.sentinel {
		// It keeps what it learns in its file, and is started with no setting of a server.
		delete(settings, "save")
		delete(settings, "appendonly")
		args = append(args, s.sentinelFile(), "--sentinel")
	}
	maps.Copy(settings, s.settings)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "--"+name, settings[name])
	}
	return args
}

func (s *Server) awaitReady(child *process.Child) error {
	var last error
	ended := false
	ready := process.Poll(startLimit, func() bool {
		if ended = child.Exited(); ended {
			return true
		}
		last = s.ping()
		return last == nil
	})
	if ended {
		return fmt.Errorf("%w (%s): %s", errNotStarted, child.State(), s.Log())
	}
	if !ready {
		return fmt.Errorf("%w: %w: %s", errSlow, last, s.Log())
	}
	return nil
}

// ping asks in the inline form of the protocol. A demand for a password is an
// answer too.
func (s *Server) ping() error {
	const patience = 2 * time.Second
	conn, err := net.DialTimeout("tcp", s.Addr(), patience)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.HasPrefix(line, "+PONG") || strings.HasPrefix(line, "-NOAUTH") {
		return nil
	}
	return errors.New(strings.TrimSpace(line))
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.port.Address() }

// Pid is the server's process.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child.Pid()
}

// Log is the end of the server's log.
func (s *Server) Log() string {
	const most = 4 << 10
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	return string(text[max(0, len(text)-most):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

func (s *Server) sentinelFile() string { return filepath.Join(s.dir, "sentinel.conf") }

func touch(path string) error {
	const private = 0o600
	file, err := os.OpenFile(path, os.O_CREATE, private)
	if err != nil {
		return fmt.Errorf("configuration of the server: %w", err)
	}
	return file.Close()
}
