package env

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"voucherd/test/env/pgserver"
)

// URLVariable names the server to use instead of a private one.
const URLVariable = "VOUCHERD_TEST_DATABASE_URL"

// MigrateFunc brings the empty database at url to the schema under test.
type MigrateFunc func(ctx context.Context, url string) error

// Database returns the URL of a fresh database with the schema that migrate
// makes; it is dropped when the test ends. migrate runs once per function and
// server: the other databases are copies of its result.
func Database(t testing.TB, migrate MigrateFunc) string {
	t.Helper()
	url, err := shared.clones(t).clone(t.Context(), migrate)
	return handOut(t, url, err)
}

// EmptyDatabase returns the URL of a fresh database without any schema; it is
// dropped when the test ends.
func EmptyDatabase(t testing.TB) string {
	t.Helper()
	url, err := shared.clones(t).empty(t.Context())
	return handOut(t, url, err)
}

func handOut(t testing.TB, url string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatalf("test database: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := shared.cloner.drop(context.Background(), url); err != nil {
			t.Errorf("test database: %v", err)
		}
	})
	return url
}

// shared is the server that all tests of the process use.
var shared sharedServer

type sharedServer struct {
	once   sync.Once
	err    error
	own    *pgserver.Server // nil when the caller named a server
	cloner *cloner
}

func (s *sharedServer) clones(t testing.TB) *cloner {
	t.Helper()
	s.once.Do(func() { s.err = s.open() })
	if s.err != nil {
		t.Fatalf("test database: %v", s.err)
	}
	return s.cloner
}

func (s *sharedServer) open() error {
	if url := os.Getenv(URLVariable); url != "" {
		s.cloner = newCloner(url)
		return nil
	}
	server, err := pgserver.Start(nil)
	if err != nil {
		return fmt.Errorf("private PostgreSQL: %w", err)
	}
	s.own, s.cloner = server, newCloner(server.URL())
	return nil
}

// close drops what would stay on the caller's server, or stops our own.
func (s *sharedServer) close() error {
	switch {
	case s.own != nil:
		return s.own.Close()
	case s.cloner != nil:
		return s.cloner.close(context.Background())
	default:
		return nil
	}
}
