package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"voucherd/application/port"
)

// begin names the isolation level since a database may have another default.
const begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`

// rollbackTimeout is short: a connection that doesn't even roll back in time is dropped, which does the same.
const rollbackTimeout = 500 * time.Millisecond

// work is what happens between BEGIN, which it sends itself along with its first statements, and COMMIT. It reports
// whether there is anything to commit.
type work func(ctx context.Context, conn *pgx.Conn) (dirty bool, err error)

// transact runs w in a transaction, in a turn of its own, again if what stopped it is passing. While it waits for its
// turn the caller may give up; then the transaction belongs to nobody but the clock: a client that hangs up leaves
// nothing half done.
func (db *DB) transact(ctx context.Context, w work) error {
	done, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.cfg.callTimeout())
	defer cancel()
	return db.insist(ctx, func(ctx context.Context) error { return db.attempt(ctx, w) })
}

// attempt runs w once, on a connection that it takes from the pool and gives back clean or not at all.
func (db *DB) attempt(ctx context.Context, w work) error {
	conn, err := db.bun.DB.Conn(ctx)
	if err != nil {
		return beforeCommit(err)
	}
	defer func() { _ = conn.Close() }() // gives it back; there is nothing to lose any more
	var verdict error
	err = conn.Raw(func(driverConn any) error {
		std, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%w: a %T", errConfig, driverConn)
		}
		verdict = db.run(ctx, std.Conn(), w)
		if std.Conn().IsClosed() {
			return driver.ErrBadConn // tells the pool to forget it at once
		}
		return nil
	})
	if err != nil && !errors.Is(err, driver.ErrBadConn) {
		return beforeCommit(err)
	}
	return verdict
}

func (db *DB) run(ctx context.Context, conn *pgx.Conn, w work) error {
	dirty, err := w(ctx, conn)
	if err != nil || !dirty {
		rollback(conn, err)
		return beforeCommit(err)
	}
	return db.commit(conn)
}

// commit has a time limit of its own: whatever the work has used up, the answer to a COMMIT is worth waiting for.
func (db *DB) commit(conn *pgx.Conn) error {
	if conn.IsClosed() {
		return passing{fmt.Errorf("%w: connection lost before COMMIT", port.ErrUnavailable)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), db.cfg.callTimeout())
	defer cancel()
	notes := conn.PgConn().CustomData()
	delete(notes, warned)
	tag, err := conn.Exec(ctx, "COMMIT")
	_, warning := notes[warned]
	if err != nil {
		rollback(conn, err)
	}
	return atCommit(tag, warning, err)
}

// rollback ends the transaction, if need be with the connection.
func rollback(conn *pgx.Conn, cause error) {
	if conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	var pg *pgconn.PgError
	if errors.As(cause, &pg) && pg.Code == readOnlyTransaction {
		// This server has become a standby: the next connection may lead to the one that took over.
		_ = conn.Close(ctx) // the transaction ends with it
		return
	}
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = conn.Close(ctx) // the transaction ends with it
	}
}
