package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Config says how to reach the database and how much of it to use. A zero field but URL takes its default.
type Config struct {
	// URL is a postgres:// URL or a list of key=value pairs, as libpq reads it.
	URL string
	// ApplicationName is shown in pg_stat_activity; default "voucherd".
	ApplicationName string
	// MaxConnections is the most connections that are open at a time; default 16. Reads hold three in four of them at
	// most; a single one serves both.
	MaxConnections int
	// MaxWaiting is how many transactions may wait for a connection; one more is refused at once. Beside them half as
	// many reads may wait. Default 1,024.
	MaxWaiting int
	// StatementTimeout bounds every statement on the server, and, with a little on top, every call on this side and
	// every wait for a connection. Default 1.5 s.
	StatementTimeout time.Duration
	// LockTimeout bounds the wait for a row; default 1 s.
	LockTimeout time.Duration
	// IdleInTransaction is how long a transaction may sit between two statements before the server ends it: a host
	// that vanished gives its locks back then. Default 3 s.
	IdleInTransaction time.Duration
	// ConnectTimeout bounds the making of a connection; default 1 s.
	ConnectTimeout time.Duration
	// BooksTimeout bounds one reading of a voucher's books as a whole; default 10 min.
	BooksTimeout time.Duration
}

const (
	defaultConnections = 16
	defaultWaiting     = 1024

	// callSlack is what a call gets on top of the statement timeout, so that in the normal case the server's verdict
	// arrives before the client loses patience and drops the connection.
	callSlack = 250 * time.Millisecond
)

func (c Config) withDefaults() Config {
	c.ApplicationName = cmp.Or(c.ApplicationName, "voucherd")
	c.MaxConnections = cmp.Or(c.MaxConnections, defaultConnections)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, defaultWaiting)
	c.StatementTimeout = cmp.Or(c.StatementTimeout, 1500*time.Millisecond)
	c.LockTimeout = cmp.Or(c.LockTimeout, time.Second)
	c.IdleInTransaction = cmp.Or(c.IdleInTransaction, 3*time.Second)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, time.Second)
	c.BooksTimeout = cmp.Or(c.BooksTimeout, 10*time.Minute)
	return c
}

var errConfig = errors.New("database settings")

func (c Config) validate() error {
	if c.MaxConnections < 1 || c.MaxWaiting < 1 {
		return fmt.Errorf("%w: connections and waiting calls must be positive", errConfig)
	}
	for _, d := range []time.Duration{c.StatementTimeout, c.LockTimeout, c.IdleInTransaction, c.ConnectTimeout, c.BooksTimeout} {
		// To the server 0 means "for ever", and it counts in milliseconds.
		if d < time.Millisecond {
			return fmt.Errorf("%w: a timeout must be at least 1ms", errConfig)
		}
	}
	return nil
}

// readConnections is how many connections reads may hold at a time.
func (c Config) readConnections() int64 { return max(1, int64(c.MaxConnections)*3/4) }

// callTimeout is how long a call may take once it has a connection.
func (c Config) callTimeout() time.Duration { return c.StatementTimeout + callSlack }

// settings are what the adapter asks of its sessions; they go before those in the URL.
func (c Config) settings() map[string]string {
	return map[string]string{
		"application_name":                    c.ApplicationName,
		"statement_timeout":                   milliseconds(c.StatementTimeout),
		"lock_timeout":                        milliseconds(c.LockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(c.IdleInTransaction),
		// Every statement here is written for one plan, along an index and in its order. What the planner would choose
		// instead while it believes a table or a voucher to be small would stay in use when they no longer are. The
		// costs that it reckons with then are astronomic, which must not start the compiler.
		"enable_seqscan": "off",
		"enable_sort":    "off",
		"jit":            "off",
	}
}

// connection returns what every connection is made from.
func (c Config) connection(settings map[string]string) (*pgx.ConnConfig, error) {
	conn, err := pgx.ParseConfig(c.URL) // its error hides the password
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	conn.ConnectTimeout = c.ConnectTimeout
	conn.DialFunc = (&net.Dialer{Timeout: c.ConnectTimeout, KeepAlive: 15 * time.Second}).DialContext
	conn.OnNotice = noteWarning
	maps.Copy(conn.RuntimeParams, settings)
	return conn, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// warned is the mark that noteWarning leaves on a connection.
const warned = "warned"

// noteWarning remembers that the server warned: a commit that answers "done, but not replicated as you wanted" says so
// in a warning alone.
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" || n.Severity == "WARNING" {
		c.CustomData()[warned] = true
	}
}
