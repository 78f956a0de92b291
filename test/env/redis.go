package env

import (
	"os"
	"strings"
	"sync"
	"testing"

	"voucherd/test/env/redisserver"
)

// RedisVariable names the servers to use instead of a private one, separated
// by commas: one, or several nodes of a cluster.
const RedisVariable = "VOUCHERD_TEST_REDIS_ADDRS"

// RedisAddrs returns the address of the Redis that all tests of the process
// share, so that each keeps to vouchers of its own: a private one, started when
// it is first asked for, or those that VOUCHERD_TEST_REDIS_ADDRS names. Private
// servers write nothing to disk.
func RedisAddrs(t testing.TB) []string {
	t.Helper()
	addrs, err := sharedRedis.addrs()
	if err != nil {
		t.Fatalf("private Redis: %v", err)
	}
	return addrs
}

var sharedRedis redisShared

type redisShared struct {
	once   sync.Once
	err    error
	own    *redisserver.Server // nil when the caller named servers
	listed []string
}

func (r *redisShared) addrs() ([]string, error) {
	r.once.Do(func() {
		if named := os.Getenv(RedisVariable); named != "" {
			r.listed = strings.Split(named, ",")
			return
		}
		if r.own, r.err = redisserver.Start(nil); r.err == nil {
			r.listed = []string{r.own.Addr()}
		}
	})
	return r.listed, r.err
}

func (r *redisShared) close() error {
	if r.own == nil {
		return nil
	}
	return r.own.Close()
}

// Redis is a server that one test has to itself. Methods that can fail fail the
// test, so they belong on its goroutine.
type Redis struct {
	t      testing.TB
	server *redisserver.Server
}

// StartRedis starts a server for this test, whatever VOUCHERD_TEST_REDIS_ADDRS
// says, and removes it when the test ends. settings are those of redis.conf;
// unless they say otherwise nothing is written to disk but by SAVE.
func StartRedis(t testing.TB, settings map[string]string) *Redis {
	t.Helper()
	server, err := redisserver.Start(settings)
	if err != nil {
		t.Fatalf("private Redis: %v", err)
	}
	return own(t, server)
}

// own has the server end with the test.
func own(t testing.TB, server *redisserver.Server) *Redis {
	t.Helper()
	r := &Redis{t: t, server: server}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of Redis:\n%s", server.Log())
		}
		if err := server.Close(); err != nil {
			t.Errorf("private Redis: %v", err)
		}
	})
	return r
}

// Addr is the server's host:port, the same for its whole life.
func (r *Redis) Addr() string { return r.server.Addr() }

// Freeze stops the server: connections stay open and nothing answers, until
// Thaw.
func (r *Redis) Freeze() { r.must("freeze", r.server.Freeze()) }

// Thaw lets a frozen server go on.
func (r *Redis) Thaw() { r.must("thaw", r.server.Thaw()) }

// Kill ends the server at once, as a crash does.
func (r *Redis) Kill() { r.must("kill", r.server.Kill()) }

// Stop shuts the server down in good order.
func (r *Redis) Stop() { r.must("stop", r.server.Stop()) }

// Start starts a killed or stopped server on the same port and returns when it
// answers. It holds what it last saved, which is nothing unless somebody had it
// SAVE.
func (r *Redis) Start() { r.must("start", r.server.Start()) }

// Restart is Kill and Start.
func (r *Redis) Restart() {
	r.Kill()
	r.Start()
}

// Pid is the server's process.
func (r *Redis) Pid() int { return r.server.Pid() }

func (r *Redis) must(what string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s Redis: %v", what, err)
	}
}
