package e2e_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/test/env"
)

// TestF52_AHoldTimeOfZeroTurnsTheCheckOff starts with settings that are wrong in two places.
func TestF52_AHoldTimeOfZeroTurnsTheCheckOff(t *testing.T) {
	t.Parallel()
	for name, ttl := range map[string]string{"zero": "0s", "negative": "-5m", "blank": "", "no duration": "abc"} {
		for _, command := range [][]string{{"serve"}, {"config", "check"}} {
			dir := t.TempDir()
			file := filepath.Join(dir, "voucherd.yaml")
			text := "reservation:\n  ttl: \"" + ttl + "\"\njobs:\n  expire_interval: 0s\n"
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			refusesToStart(t, append(command, "--config", file), nil)
			refusesToStart(t, command, settings{"RESERVATION_TTL": ttl, "JOBS_EXPIRE_INTERVAL": "0s"})
			refusesToStart(t, command, settings{"CONFIG": file})
			refusesToStart(t, append(command, "--config", file), settings{"RESERVATION_TTL": ttl})
		}
		_ = name
	}
}

func refusesToStart(t *testing.T, args []string, s settings) {
	t.Helper()
	// Somebody who listens there would be found out: the address is ours.
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	vars := s.with(settings{"HTTP_ADDR": listener.Addr().String()}).environ()
	stdout, stderr, exit := env.Run(t, env.ProcOptions{Args: args, Env: vars})
	require.Equal(t, 1, exit, "%v %v: %s%s", args, s, stdout, stderr)
	require.Empty(t, stdout)
	require.NotContains(t, stderr, "address already in use", "it tried to listen")
	require.Equal(t, 1, strings.Count(stderr, "in the settings"), "one message: %s", stderr)
	for _, key := range []string{"reservation.ttl", "jobs.expire_interval"} {
		require.Contains(t, stderr, key)
	}
}

// TestWrongCombinationsStopTheStart: what would be dangerous is told before anything listens.
func TestWrongCombinationsStopTheStart(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]settings{
		"http.addr":            {"HTTP_ADDR": "0.0.0.0:0"}, // open to all, without tokens
		"VOUCHERD_TYPO":        {"TYPO": "1"},
		"vouchers.modes":       {"VOUCHERS_MODES": "SALE=flash-sync"},
		"database.url":         {"DATABASE_URL": "mysql://localhost/x"},
		"http.admin_tokens":    {"HTTP_ADMIN_TOKENS": "without-a-name"},
		"http.request_timeout": {"HTTP_REQUEST_TIMEOUT": "0s"},
	} {
		_, stderr, exit := env.Run(t, env.ProcOptions{Args: []string{"serve"}, Env: s.environ()})
		require.Equal(t, 1, exit, "%v: %s", s, stderr)
		require.Contains(t, stderr, want)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	s := settings{
		"HTTP_ADMIN_TOKENS": "boss:" + adminToken,
		"DATABASE_URL":      "postgres://user:pass-word-of-the-database@127.0.0.1:1/x",
		"REDIS_PASSWORD":    "pass-word-of-redis",
	}
	stdout, stderr, exit := env.Run(t, env.ProcOptions{Args: []string{"config", "check"}, Env: s.environ()})
	require.Zero(t, exit, stderr)
	s["RESERVATION_TTL"] = "0s"
	_, faults, exit := env.Run(t, env.ProcOptions{Args: []string{"config", "check"}, Env: s.environ()})
	require.Equal(t, 1, exit)
	for _, secret := range []string{adminToken, "pass-word"} {
		require.NotContains(t, stdout+stderr+faults, secret)
	}
	require.Contains(t, stdout, "boss")
}

// A database on which a commit isn't stored is refused before anything is written into it.
func TestADatabaseThatForgetsIsRefused(t *testing.T) {
	t.Parallel()
	st := prepare(t, env.EmptyDatabase(t))
	name := ""
	require.NoError(t, st.db.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name))
	st.exec(`ALTER DATABASE ` + name + ` SET synchronous_commit = off`)
	_, stderr, exit := st.run("serve")
	require.Equal(t, 1, exit)
	require.Contains(t, stderr, "synchronous_commit is off")
	require.Zero(t, st.number(`SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`))
}

// What the driver would refuse at the start is told with all other faults, and without a word of the URL.
func TestAURLThatTheDriverRefusesIsAFault(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:secret@127.0.0.1/x?sslmode=bogus", "postgres://u:secret@127.0.0.1:99999/x"} {
		for _, args := range [][]string{{"config", "check"}, {"serve"}} {
			_, stderr, exit := env.Run(t, env.ProcOptions{Args: args, Env: settings{"DATABASE_URL": url, "RESERVATION_TTL": "0s"}.environ()})
			require.Equal(t, 1, exit)
			require.Contains(t, stderr, "database.url")
			require.Contains(t, stderr, "reservation.ttl")
			require.NotContains(t, stderr, "secret")
		}
	}
}
