package env

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"voucherd/test/env/pgserver"
	"voucherd/test/env/process"
)

func TestMain(m *testing.M) { Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestFrozenNothingAnswersAndThawedItGoesOn(t *testing.T) {
	server := StartPostgres(t)
	conn := connect(t, server.URL())
	server.Freeze()
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("answered while frozen: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	server.Thaw()
	select {
	case err := <-answered:
		require.NoError(t, err, "the connection survives")
	case <-time.After(soon):
		t.Fatal("no answer after the thaw")
	}
}

func TestKilledItKeepsWhatWasCommitted(t *testing.T) {
	server := StartPostgres(t)
	url := server.Database(t, migrateShelf)
	require.NoError(t, execute(t.Context(), url, "INSERT INTO shelf VALUES ('book')"))
	open := connect(t, url)
	below, err := process.Descendants(server.Pid())
	require.NoError(t, err)
	require.NotEmpty(t, below)

	server.Kill()
	_, err = open.Exec(t.Context(), "SELECT 1")
	require.Error(t, err)
	requireGone(t, below)

	server.Start()
	require.Equal(t, 1, number(t, url, itemsOnShelf), "same port, same data")
	server.Restart()
	require.Equal(t, 1, number(t, url, itemsOnShelf))
}

func TestAFrozenServerCanBeKilledAndStarted(t *testing.T) {
	server := StartPostgres(t)
	server.Freeze()
	server.Kill()
	server.Start()
	require.Equal(t, 1, number(t, server.URL(), "SELECT 1"))
	server.Freeze() // the end of the test copes
}

func TestTerminateBackends(t *testing.T) {
	server := StartPostgres(t)
	url := server.Database(t, migrateShelf)
	victim, bystander := connect(t, url), connect(t, server.URL())
	n, err := server.TerminateBackends(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = victim.Exec(t.Context(), "SELECT 1")
	require.Error(t, err)
	_, err = bystander.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
}

func TestMaxConnectionsCanBeUsedUp(t *testing.T) {
	const limit, reserved = 8, 3
	server := StartPostgres(t, WithMaxConnections(limit), WithSetting("max_wal_senders", "0"))
	// A backend of the start may still be saying goodbye.
	var conns []*pgx.Conn
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), server.URL())
		if err == nil {
			conns = append(conns, conn)
		}
		return len(conns) == limit-reserved
	}, soon, 10*time.Millisecond)
	_, err := pgx.Connect(t.Context(), server.URL())
	require.ErrorContains(t, err, "remaining connection slots")
	connect(t, server.AdminURL())
	for _, conn := range conns {
		require.NoError(t, conn.Close(t.Context()))
	}
}

func TestClosedNothingIsLeft(t *testing.T) {
	for _, before := range []struct {
		name string
		do   func(*pgserver.Server) error
	}{
		{"running", func(*pgserver.Server) error { return nil }},
		{"frozen", (*pgserver.Server).Freeze},
		{"killed", (*pgserver.Server).Kill},
		{"stopped", (*pgserver.Server).Stop},
	} {
		t.Run(before.name, func(t *testing.T) {
			server, err := pgserver.Start(nil)
			require.NoError(t, err)
			below, err := process.Descendants(server.Pid())
			require.NoError(t, err)
			require.NoError(t, before.do(server))
			require.NoError(t, server.Close())
			require.NoError(t, server.Close(), "twice is once")
			requireGone(t, append(below, process.Info{Pid: server.Pid()}))
		})
	}
}

func requireGone(t *testing.T, processes []process.Info) {
	t.Helper()
	for _, p := range processes {
		require.Eventually(t, func() bool {
			return syscall.Kill(p.Pid, 0) == syscall.ESRCH
		}, soon, 10*time.Millisecond, "process %d is left", p.Pid)
	}
}
