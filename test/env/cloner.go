package env

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// databaseLimit bounds one CREATE or DROP DATABASE, on a busy machine too.
const databaseLimit = 60 * time.Second

var errNoDatabase = errors.New("URL without a database name")

// cloner makes databases on one server, as copies of templates. Its names
// carry a random part, so several test processes share a server.
type cloner struct {
	server string
	prefix string

	mu        sync.Mutex
	templates map[uintptr]string // by the code of the migrate function
	made      int
}

func newCloner(server string) *cloner {
	const unique = 10
	return &cloner{
		server:    server,
		prefix:    "voucherd_test_" + strings.ToLower(rand.Text()[:unique]),
		templates: make(map[uintptr]string),
	}
}

func (c *cloner) clone(ctx context.Context, migrate MigrateFunc) (string, error) {
	template, err := c.template(ctx, migrate)
	if err != nil {
		return "", err
	}
	return c.create(ctx, template)
}

func (c *cloner) empty(ctx context.Context) (string, error) { return c.create(ctx, "template0") }

func (c *cloner) create(ctx context.Context, template string) (string, error) {
	c.mu.Lock()
	c.made++
	name := fmt.Sprintf("%s_%d", c.prefix, c.made)
	c.mu.Unlock()
	if err := c.createAs(ctx, name, template); err != nil {
		return "", err
	}
	return withDatabase(c.server, name)
}

// template migrates one database, once; later callers wait for the first one.
// A failed attempt is made again, so each test reports it.
func (c *cloner) template(ctx context.Context, migrate MigrateFunc) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := reflect.ValueOf(migrate).Pointer()
	if name, ok := c.templates[key]; ok {
		return name, nil
	}
	name := fmt.Sprintf("%s_template_%d", c.prefix, len(c.templates)+1)
	if err := c.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"); err != nil {
		return "", err
	}
	if err := c.createAs(ctx, name, "template0"); err != nil {
		return "", err
	}
	target, err := withDatabase(c.server, name)
	if err != nil {
		return "", err
	}
	if err := migrate(ctx, target); err != nil {
		return "", fmt.Errorf("migrate the template: %w", err)
	}
	// A connection to it would make every copy wait.
	if err := c.exec(ctx, "ALTER DATABASE "+quote(name)+" ALLOW_CONNECTIONS false"); err != nil {
		return "", err
	}
	c.templates[key] = name
	return name, nil
}

// createAs tries again while the server still says goodbye to a connection
// that the migration has closed already.
func (c *cloner) createAs(ctx context.Context, name, template string) error {
	const (
		objectInUse = "55006"
		pause       = 20 * time.Millisecond
	)
	statement := "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(template)
	for deadline := time.Now().Add(databaseLimit); ; time.Sleep(pause) {
		err := c.exec(ctx, statement)
		var refusal *pgconn.PgError
		busy := errors.As(err, &refusal) && refusal.Code == objectInUse
		if !busy || time.Now().After(deadline) {
			return err
		}
	}
}

func (c *cloner) drop(ctx context.Context, target string) error {
	name, err := databaseName(target)
	if err != nil {
		return err
	}
	return c.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
}

func (c *cloner) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, name := range c.templates {
		err = errors.Join(err, c.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"))
	}
	return err
}

// exec runs one statement on a connection of its own: tests that exhaust or
// break connections must not reach a pool of ours.
func (c *cloner) exec(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, databaseLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.server)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	_, err = conn.Exec(ctx, statement)
	if err != nil {
		err = fmt.Errorf("%s: %w", statement, err)
	}
	return errors.Join(err, conn.Close(ctx))
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("URL of the test server: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

func databaseName(target string) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", fmt.Errorf("URL of a database: %w", err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	if name == "" {
		return "", errNoDatabase
	}
	return name, nil
}
