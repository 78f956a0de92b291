package env

import (
	"context"
	"strconv"
	"testing"

	"voucherd/test/env/pgserver"
)

// Postgres is a server that one test has to itself, to freeze, kill and fill
// up. Methods that can fail fail the test, so they belong on its goroutine.
type Postgres struct {
	t      testing.TB
	server *pgserver.Server
	cloner *cloner
}

// PostgresOption sets one thing of a server.
type PostgresOption func(settings map[string]string)

// WithSetting gives a parameter of postgresql.conf a value.
func WithSetting(name, value string) PostgresOption {
	return func(settings map[string]string) { settings[name] = value }
}

// WithMaxConnections limits the server's connections. The last three are kept
// for superusers, as ever; URL and Database hand out an ordinary role.
func WithMaxConnections(n int) PostgresOption {
	return WithSetting("max_connections", strconv.Itoa(n))
}

// StartPostgres starts a server for this test, whatever
// VOUCHERD_TEST_DATABASE_URL says, and removes it when the test ends.
func StartPostgres(t testing.TB, options ...PostgresOption) *Postgres {
	t.Helper()
	settings := make(map[string]string)
	for _, set := range options {
		set(settings)
	}
	server, err := pgserver.Start(settings)
	if err != nil {
		t.Fatalf("private PostgreSQL: %v", err)
	}
	p := &Postgres{t: t, server: server, cloner: newCloner(server.URL())}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of PostgreSQL's log:\n%s", server.Log())
		}
		if err := server.Close(); err != nil {
			t.Errorf("private PostgreSQL: %v", err)
		}
	})
	return p
}

// URL is the server's maintenance database, for a role that may create
// databases and is no superuser.
func (p *Postgres) URL() string { return p.server.URL() }

// AdminURL is the same for a superuser.
func (p *Postgres) AdminURL() string { return p.server.AdminURL() }

// Database is like the function Database, on this server.
func (p *Postgres) Database(t testing.TB, migrate MigrateFunc) string {
	t.Helper()
	url, err := p.cloner.clone(t.Context(), migrate)
	if err != nil {
		t.Fatalf("test database: %v", err)
	}
	return url // goes with the server, which may be down by then
}

// Freeze stops all processes of the server: connections stay open and nothing
// answers, until Thaw.
func (p *Postgres) Freeze() { p.must("freeze", p.server.Freeze()) }

// Thaw lets a frozen server go on.
func (p *Postgres) Thaw() { p.must("thaw", p.server.Thaw()) }

// Kill ends all processes of the server at once, as a crash does.
func (p *Postgres) Kill() { p.must("kill", p.server.Kill()) }

// Stop shuts the server down in good order; clients lose their connections.
func (p *Postgres) Stop() { p.must("stop", p.server.Stop()) }

// Start starts a killed or stopped server on the same port and data, and
// returns when it answers.
func (p *Postgres) Start() { p.must("start", p.server.Start()) }

// Restart is Stop and Start.
func (p *Postgres) Restart() {
	p.Stop()
	p.Start()
}

// TerminateBackends ends every connection to the database of url and says how
// many there were. It may be called from any goroutine.
func (p *Postgres) TerminateBackends(ctx context.Context, url string) (int, error) {
	name, err := databaseName(url)
	if err != nil {
		return 0, err
	}
	return p.server.TerminateBackends(ctx, name)
}

// Pid is the server's main process.
func (p *Postgres) Pid() int { return p.server.Pid() }

func (p *Postgres) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s PostgreSQL: %v", what, err)
	}
}
