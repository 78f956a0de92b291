package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"voucherd/application/port"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

// The SQLSTATEs that make a difference here.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	completionUnknown    = "40003"
	readOnlyTransaction  = "25006"

	classDataException = "22"
	classIntegrity     = "23"
	classRollback      = "40"
	classShutdown      = "57P" // the server or an administrator ended the connection
)

// Constraints of the schema that the program knows by name.
const (
	voucherKey          = "voucher_pkey"
	usedWithinLimit     = "voucher_used_count_within_limit"
	customerWithinLimit = "voucher_customer_uses_within_limit"
	liveOrder           = "voucher_redemption_live_order"
)

// standsFor is the refusal that a constraint would be, had the core seen it. The other constraints stand for none: only
// a defect or somebody's hand can violate them.
var standsFor = map[string]*fault.Error{
	voucherKey:          voucher.ErrVoucherExists,
	usedWithinLimit:     voucher.ErrOutOfStock,
	customerWithinLimit: voucher.ErrAlreadyUsed,
	liveOrder:           voucher.ErrOrderConflict,
}

// passing marks an error after which the same work may succeed if it is done again. What it wraps is the verdict in
// case nobody tries.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// beforeCommit says what an error means that came before COMMIT was sent, or in a read: nothing has happened.
func beforeCommit(err error) error {
	var refusal *fault.Error
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal), errors.Is(err, port.ErrRefused):
		return err // said by ourselves
	case errors.As(err, &pg):
		return fromServer(pg)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), pgconn.Timeout(err):
		return fmt.Errorf("%w: %w", port.ErrUnavailable, err)
	default: // the connection is gone, or was never made
		return passing{fmt.Errorf("%w: %w", port.ErrUnavailable, err)}
	}
}

// fromServer judges an error that the server reported, when it is certain that it rolled back.
func fromServer(pg *pgconn.PgError) error {
	switch {
	case pg.ConstraintName == liveOrder:
		// The order became live on another voucher meanwhile: the next run sees it and decides.
		return passing{refusedBy(pg)}
	case strings.HasPrefix(pg.Code, classIntegrity), strings.HasPrefix(pg.Code, classDataException):
		return refusedBy(pg)
	case pg.Code == serializationFailure, pg.Code == deadlockDetected, pg.Code == readOnlyTransaction,
		strings.HasPrefix(pg.Code, classShutdown):
		return passing{fmt.Errorf("%w: %w", port.ErrUnavailable, pg)}
	default: // timeouts of statement or lock, too many connections, a schema that doesn't fit, a wrong password
		return fmt.Errorf("%w: %w", port.ErrUnavailable, pg)
	}
}

// refusedBy keeps the server's text, which may quote a row, out of the message.
func refusedBy(pg *pgconn.PgError) error {
	what := fmt.Sprintf("SQLSTATE %s, constraint %q of %q", pg.Code, pg.ConstraintName, pg.TableName)
	if f, ok := standsFor[pg.ConstraintName]; ok {
		return fmt.Errorf("%w: %s: %w", port.ErrRefused, what, f)
	}
	return fmt.Errorf("%w: %s", port.ErrRefused, what)
}

// missed says that a conditional write hit another number of rows than the decision had foreseen.
func missed(what string, hit int64, want int) error {
	return fmt.Errorf("%w: %s: %d rows written instead of %d", port.ErrRefused, what, hit, want)
}

// atCommit says what came of a COMMIT that was sent: only the server's definite word counts, either way. The driver's
// own word does not: pgx 5.12 reports a connection that broke while it waited for the answer as "conn closed", which
// pgconn.SafeToRetry takes for "not sent".
func atCommit(tag pgconn.CommandTag, warned bool, err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil && warned:
		// Committed here, but a wait for a synchronous standby was cut short: a failover may lose it.
		return fmt.Errorf("%w: committed with a warning", port.ErrUnknown)
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil: // "ROLLBACK" is a successful answer as well
		return fmt.Errorf("%w: COMMIT was answered %q", port.ErrUnavailable, tag.String())
	case errors.As(err, &pg) && pg.Code != completionUnknown &&
		(strings.HasPrefix(pg.Code, classRollback) || strings.HasPrefix(pg.Code, classIntegrity)):
		return fromServer(pg)
	default:
		return fmt.Errorf("%w: %w", port.ErrUnknown, err)
	}
}

const (
	maxAttempts = 3
	maxPause    = 20 * time.Millisecond
)

// insist runs work again, up to maxAttempts times in all, while what stopped it is passing.
func (db *DB) insist(ctx context.Context, work func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := work(ctx)
		var p passing
		if !errors.As(err, &p) {
			return err
		}
		if attempt == maxAttempts || !pause(ctx, time.Duration(attempt)*maxPause/maxAttempts) {
			return p.error
		}
	}
}

// pause waits for a random part of limit, so that those who collided don't meet again. It reports false if the context
// ends first.
func pause(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(rand.N(limit)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// settled returns the verdict of an error that nobody will try to get past.
func settled(err error) error {
	var p passing
	if errors.As(err, &p) {
		return p.error
	}
	return err
}
