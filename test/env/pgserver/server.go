package pgserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"voucherd/test/env/process"
)

const (
	adminRole = "postgres"
	// appRole owns the databases that tests get. It is no superuser, as in
	// production: the connections kept for superusers aren't its.
	appRole     = "voucherd"
	maintenance = "postgres"

	startLimit = 60 * time.Second
	stopLimit  = 20 * time.Second
	attempts   = 5
)

var (
	errNotStarted = errors.New("PostgreSQL ended while it started")
	errSlow       = errors.New("PostgreSQL wasn't ready in time")
)

// Server is a PostgreSQL server of our own. Its methods are safe for
// concurrent use.
type Server struct {
	bin      string
	dir      string
	account  account
	settings map[string]string
	password string
	port     *process.Port

	mu    sync.Mutex
	child *process.Child
	guard *process.Guard
}

// Start makes a fresh cluster and starts it; settings go to postgresql.conf's
// names. Everything that could make it less durable than a production server
// (fsync, synchronous_commit) stays on unless a setting says otherwise.
func Start(settings map[string]string) (*Server, error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := who.makeDir()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, account: who, settings: settings, password: rand.Text()}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) create() error {
	if err := s.initialize(); err != nil {
		return err
	}
	for range attempts {
		port, err := process.ReservePort()
		if err != nil {
			return fmt.Errorf("port of the server: %w", err)
		}
		s.port = port
		err = s.Start()
		if err == nil {
			return s.createRole()
		}
		if !errors.Is(err, errNotStarted) {
			return err
		}
		// Most likely a stranger took the port between our look and the start.
		port.Release()
	}
	return fmt.Errorf("%w, %d times: %s", errNotStarted, attempts, tail(s.logFile()))
}

func (s *Server) initialize() error {
	secret := filepath.Join(s.dir, "password")
	const private = 0o600
	if err := os.WriteFile(secret, []byte(s.password), private); err != nil {
		return fmt.Errorf("password of the server: %w", err)
	}
	if c := s.account.credential; c != nil {
		if err := os.Chown(secret, int(c.Uid), int(c.Gid)); err != nil {
			return fmt.Errorf("password of the server: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	// Passwords in the clear stay on loopback and spare each connection a key derivation.
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "--pgdata", s.dataDir(),
		"--username", adminRole, "--pwfile", secret, "--auth", "password",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	s.account.prepare(cmd, s.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// Start starts a server that was stopped or killed: same port, same data.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil && !s.child.Exited() {
		return nil
	}
	// Nothing of ours runs, so a lock file is a crash's leftover; PostgreSQL would
	// trust it if its process id had been given to somebody else meanwhile.
	if err := os.Remove(filepath.Join(s.dataDir(), "postmaster.pid")); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("lock file of the server: %w", err)
	}
	const private = 0o600
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, private)
	if err != nil {
		return fmt.Errorf("log of the server: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own handle
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), s.arguments()...)
	s.account.prepare(cmd, s.dir)
	cmd.Stdout, cmd.Stderr = log, log
	// SIGQUIT is PostgreSQL's immediate shutdown: it takes its children along.
	s.child, err = process.Start(cmd, syscall.SIGQUIT)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s.awaitReady(s.child)
}

func (s *Server) arguments() []string {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(s.port.Number),
		"unix_socket_directories": "", // a path of a socket may be too long
	}
	maps.Copy(settings, s.settings)
	args := []string{"-D", s.dataDir()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
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
		return fmt.Errorf("%w (%s): %s", errNotStarted, child.State(), tail(s.logFile()))
	}
	if !ready {
		return fmt.Errorf("%w: %w: %s", errSlow, last, tail(s.logFile()))
	}
	return nil
}

func (s *Server) ping() error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.AdminURL())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return conn.Close(ctx)
}

func (s *Server) createRole() error {
	return s.admin(context.Background(), func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE ROLE "+appRole+" LOGIN CREATEDB PASSWORD '"+s.password+"'")
		return err
	})
}

func (s *Server) admin(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.AdminURL())
	if err != nil {
		return fmt.Errorf("connect as %s: %w", adminRole, err)
	}
	return errors.Join(do(ctx, conn), conn.Close(ctx))
}

// URL is the maintenance database for the role that may create databases.
func (s *Server) URL() string { return s.url(appRole) }

// AdminURL is the maintenance database for the superuser.
func (s *Server) AdminURL() string { return s.url(adminRole) }

func (s *Server) url(role string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, s.password),
		Host: s.port.Address(), Path: "/" + maintenance, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Log is the end of the server's log.
func (s *Server) Log() string { return tail(s.logFile()) }

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }
