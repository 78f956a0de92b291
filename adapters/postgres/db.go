// Package postgres keeps the truth in PostgreSQL: the ledger, its reader and its books.
//
// A transaction locks the voucher's row first and reads after that, statement by statement (READ COMMITTED), so that
// each statement sees what the holders of the lock before it have committed. Statements travel together where they
// don't wait for each other's answers: an update is three round trips, whatever the size of its batch. Conditions are
// written into the statements and the rows that they hit are counted; constraints of the schema are the last line.
package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"golang.org/x/sync/semaphore"

	"voucherd/application/port"
)

// DB is one pool of connections and all that is done through it. Safe for concurrent use. Close it in the end.
type DB struct {
	cfg   Config
	clock port.Clock
	bun   *bun.DB

	// The lanes stand before the pool since a queue must be fair and bounded; database/sql's is neither. Reads go
	// through one of their own first: a crowd that looks at one voucher must leave the transactions of all the others
	// room to run and to wait.
	all, reads lane
}

// lane is a bounded queue in front of some of the connections.
type lane struct {
	slots   *semaphore.Weighted
	waiting atomic.Int64
	most    int64 // that may wait
}

// enter waits for its turn. Turns come in the order of the calls.
func (l *lane) enter(ctx context.Context) error {
	if l.slots.TryAcquire(1) {
		return nil
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.most {
		return fmt.Errorf("%w: %d calls wait for the database", port.ErrOverloaded, l.most)
	}
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("%w: no connection came free: %w", port.ErrOverloaded, err)
	}
	return nil
}

func (l *lane) leave() { l.slots.Release(1) }

var (
	_ port.Ledger = (*DB)(nil)
	_ port.Reader = (*DB)(nil)
	_ port.Books  = (*DB)(nil)
)

// Open returns a pool for cfg that reads the time from clock. It checks the settings and connects to nothing: a
// connection is made when one is needed, again and again if the server goes away in between.
func Open(cfg Config, clock port.Clock) (*DB, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	conn, err := cfg.connection(cfg.settings())
	if err != nil {
		return nil, err
	}
	pool := stdlib.OpenDB(*conn)
	pool.SetMaxOpenConns(cfg.MaxConnections)
	pool.SetMaxIdleConns(cfg.MaxConnections)
	// Old connections are renewed, so that load finds its way to a server that came back, and memory to the system.
	pool.SetConnMaxLifetime(30 * time.Minute)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	db := &DB{cfg: cfg, clock: clock, bun: bun.NewDB(pool, pgdialect.New())}
	db.all.slots, db.all.most = semaphore.NewWeighted(int64(cfg.MaxConnections)), int64(cfg.MaxWaiting)
	db.reads.slots, db.reads.most = semaphore.NewWeighted(cfg.readConnections()), int64(cfg.MaxWaiting/2)
	return db, nil
}

// Close ends the idle connections now and the others when their call is done.
func (db *DB) Close() error {
	if err := db.bun.Close(); err != nil {
		return fmt.Errorf("close the pool: %w", err)
	}
	return nil
}

// PoolStats is the pool at one instant.
type PoolStats struct {
	sql.DBStats
	Waiting    int64 // calls that wait for a connection
	MaxWaiting int   // transactions that may wait; beside them half as many reads may
}

// Stats returns the pool's numbers.
func (db *DB) Stats() PoolStats {
	waiting := db.all.waiting.Load() + db.reads.waiting.Load()
	return PoolStats{DBStats: db.bun.DB.Stats(), Waiting: waiting, MaxWaiting: db.cfg.MaxWaiting}
}

// SQL returns the pool itself, for those who show its numbers.
func (db *DB) SQL() *sql.DB { return db.bun.DB }

// acquire waits for a transaction's turn and returns how to end it. Every error is ErrOverloaded, since nothing has been
// asked of the server yet.
func (db *DB) acquire(ctx context.Context) (func(), error) { return db.enter(ctx, &db.all) }

// acquireRead is acquire for a read.
func (db *DB) acquireRead(ctx context.Context) (func(), error) {
	return db.enter(ctx, &db.reads, &db.all)
}

// enter goes through the lanes one after the other.
func (db *DB) enter(ctx context.Context, lanes ...*lane) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", port.ErrOverloaded, err)
	}
	ctx, cancel := context.WithTimeout(ctx, db.cfg.StatementTimeout)
	defer cancel()
	leave := func(lanes []*lane) {
		for _, l := range lanes {
			l.leave()
		}
	}
	for i, l := range lanes {
		if err := l.enter(ctx); err != nil {
			leave(lanes[:i])
			return nil, err
		}
	}
	return func() { leave(lanes) }, nil
}

// read runs one read in a turn of its own. The caller's deadline counts, its cancellation doesn't: a client that hangs
// up would cost a connection, and a crowd of them the pool.
func (db *DB) read(ctx context.Context, query func(ctx context.Context) error) error {
	done, err := db.acquireRead(ctx)
	if err != nil {
		return err
	}
	defer done()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.cfg.callTimeout())
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		var stop context.CancelFunc
		own, stop = context.WithDeadline(own, deadline)
		defer stop()
	}
	return db.insist(own, func(ctx context.Context) error { return beforeCommit(query(ctx)) })
}

// rows runs a query with real parameters, so that the server keeps its plan, and scans what it returns into bun models.
func rows[M any](ctx context.Context, db *DB, tx querier, query string, args ...any) ([]M, error) {
	found, err := tx.QueryContext(ctx, query, args...) //nolint:rowserrcheck // ScanRows checks
	if err != nil {
		return nil, err
	}
	var ms []M
	if err := db.bun.ScanRows(ctx, found, &ms); err != nil { // closes them
		return nil, err
	}
	return ms, nil
}

// querier is the pool or a transaction of it, below bun, which would put parameters into the text.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
