package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	pingTimeout = 500 * time.Millisecond

	// minServerVersion is PostgreSQL 13: the first one that sorts incrementally and stores equal index keys once.
	minServerVersion = 130000
)

// Ping reports within half a second whether the database answers. Errors: ErrUnavailable, ErrOverloaded.
func (db *DB) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return db.read(ctx, func(ctx context.Context) error {
		var one int
		return db.bun.DB.QueryRowContext(ctx, `SELECT 1`).Scan(&one)
	})
}

// Skew returns how far the server's clock is ahead of this process's, negative if it is behind, half the round trip
// taken off. Errors: ErrUnavailable, ErrOverloaded.
func (db *DB) Skew(ctx context.Context) (time.Duration, error) {
	var skew time.Duration
	err := db.read(ctx, func(ctx context.Context) error {
		var theirs time.Time
		before := db.clock.Now()
		err := db.bun.DB.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&theirs)
		trip := db.clock.Now().Sub(before)
		skew = theirs.Sub(before.Add(trip / 2))
		return err
	})
	return skew, err
}

// ErrUnfit says that the database answers but must not be served from: its settings or its schema don't fit.
var ErrUnfit = errors.New("the database doesn't fit")

// CheckServer refuses a server that is too old and one on which a commit doesn't mean stored. Errors: ErrUnfit,
// ErrUnavailable, ErrOverloaded.
func (db *DB) CheckServer(ctx context.Context) error {
	var version int
	var durability string
	err := db.read(ctx, func(ctx context.Context) error {
		return db.bun.DB.QueryRowContext(ctx,
			`SELECT current_setting('server_version_num')::integer, current_setting('synchronous_commit')`).Scan(&version, &durability)
	})
	switch {
	case err != nil:
		return err
	case version < minServerVersion:
		return fmt.Errorf("%w: it is PostgreSQL %d, and 13 is the oldest that will do", ErrUnfit, version/10000)
	case durability == "off":
		return fmt.Errorf("%w: synchronous_commit is off, so an answer could be lost after it was given", ErrUnfit)
	}
	return nil
}

// CheckSchema refuses a database whose migrations are not exactly the ones that this program was built with. It
// changes nothing. Errors: ErrUnfit, ErrUnavailable, ErrOverloaded.
func (db *DB) CheckSchema(ctx context.Context) error {
	want, err := latestMigration()
	if err != nil {
		return err
	}
	var have sql.NullInt64
	err = db.read(ctx, func(ctx context.Context) error {
		var exists bool
		if err := db.bun.DB.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, versionTable).Scan(&exists); err != nil || !exists {
			return err
		}
		return db.bun.DB.QueryRowContext(ctx, `SELECT max(version_id) FROM `+versionTable+` WHERE is_applied`).Scan(&have)
	})
	switch {
	case err != nil:
		return err
	case have.Int64 < want:
		return fmt.Errorf("%w: its schema is at version %d and this program needs %d: run the migrations", ErrUnfit, have.Int64, want)
	case have.Int64 > want:
		return fmt.Errorf("%w: its schema is at version %d and this program knows %d: it is too old", ErrUnfit, have.Int64, want)
	}
	return nil
}
