// Package env gives tests the real things: databases on a real PostgreSQL, a
// real Redis, servers of their own to break, and real voucherd processes. All of it is
// local, private to the test process and gone when the test is.
//
// A package that uses it says so once:
//
//	func TestMain(m *testing.M) { env.Main(m) }
//
// The server is a private one, started when a test first asks for a database,
// or the one that VOUCHERD_TEST_DATABASE_URL names; its user must be able to
// create databases. It is the same with Redis and VOUCHERD_TEST_REDIS_ADDRS. A
// missing server fails tests, it never skips them.
package env

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"voucherd/test/env/process"
)

// Main runs the package's tests, takes down what they shared, fails if a
// goroutine is left, and exits.
func Main(m *testing.M, leaks ...goleak.Option) {
	code := m.Run()
	if err := takeDown(); err != nil {
		code = complain(code, "test environment: %v", err)
	}
	// After failures leaks are a consequence, and their stacks hide the cause.
	if code == 0 {
		if err := goleak.Find(leaks...); err != nil {
			code = complain(code, "%v", err)
		}
	}
	os.Exit(code)
}

func complain(code int, format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return max(code, 1)
}

func takeDown() error {
	err := errors.Join(shared.close(), sharedRedis.close(), removeBinary())
	process.Shutdown()
	return err
}
