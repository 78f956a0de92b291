package postgres

import (
	"context"
	"math"
	"strings"
	"time"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Vouchers implements port.Reader.
func (db *DB) Vouchers(ctx context.Context, codes []voucher.Code) ([]voucher.Voucher, error) {
	return db.vouchers(ctx, `SELECT `+voucherColumns+` FROM voucher WHERE code = ANY ($1::text[])`, texts(codes))
}

// List implements port.Reader.
func (db *DB) List(ctx context.Context, after voucher.Code, limit int) ([]voucher.Voucher, error) {
	return db.vouchers(ctx, `SELECT `+voucherColumns+` FROM voucher WHERE code > $1 ORDER BY code LIMIT $2`, string(after), limit)
}

func (db *DB) vouchers(ctx context.Context, query string, args ...any) ([]voucher.Voucher, error) {
	var out []voucher.Voucher
	err := db.read(ctx, func(ctx context.Context) error {
		found, err := rows[voucherRow](ctx, db, db.bun.DB, query, args...)
		out = make([]voucher.Voucher, len(found))
		for i, r := range found {
			out[i] = r.voucher()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Reservation implements port.Reader.
func (db *DB) Reservation(ctx context.Context, code voucher.Code, order voucher.OrderID) (voucher.Reservation, error) {
	var out voucher.Reservation
	err := db.read(ctx, func(ctx context.Context) error {
		found, err := rows[redemptionRow](ctx, db, db.bun.DB, `SELECT `+redemptionColumns+` FROM voucher_redemption r
			WHERE r.voucher_code = $1 AND r.order_id = $2`, string(code), string(order))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			if err := db.mustExist(ctx, code); err != nil {
				return err
			}
			return voucher.ErrReservationNotFound
		}
		out = found[0].reservation()
		return nil
	})
	return out, err
}

// mustExist returns voucher.ErrVoucherNotFound if there is no such voucher. A voucher is never deleted, so the answer
// fits an empty result that was read before.
func (db *DB) mustExist(ctx context.Context, code voucher.Code) error {
	found, err := rows[voucherRow](ctx, db, db.bun.DB, `SELECT code FROM voucher WHERE code = $1`, string(code))
	if err == nil && len(found) == 0 {
		return voucher.ErrVoucherNotFound
	}
	return err
}

// The branches of a list. Each runs along the index of versions from the newest one below ($2, $3), and stops after $4
// rows.
const (
	branchBegin = `(SELECT * FROM voucher_redemption WHERE sequence >= 0 AND voucher_code = $1 AND status = '`
	branchEnd   = ` AND (epoch, sequence >> 6) <= ($2, $3::bigint >> 6) AND (epoch, sequence) < ($2, $3)
		ORDER BY epoch DESC, (sequence >> 6) DESC, sequence DESC LIMIT $4)`

	reservedRows  = branchBegin + `RESERVED'` + branchEnd
	confirmedRows = branchBegin + `CONFIRMED'` + branchEnd
	releasedRows  = branchBegin + `RELEASED'` + branchEnd
	heldRows      = branchBegin + `RESERVED' AND expires_at > $5` + branchEnd

	// Overdue reservations are few among many, and the oldest: this branch looks at all of the voucher's that the
	// expiry job has not got to yet, and at nothing else. OFFSET 0 keeps the planner from merging the two queries, and
	// the inner order leaves it one index.
	overdueRows = `(SELECT * FROM (
			SELECT * FROM voucher_redemption
			WHERE voucher_code = $1 AND status = 'RESERVED' AND expires_at <= $5
			ORDER BY expires_at OFFSET 0
		) due WHERE (epoch, sequence) < ($2, $3)
		ORDER BY epoch DESC, sequence DESC LIMIT $4)`
)

// Redemptions implements port.Reader.
func (db *DB) Redemptions(ctx context.Context, q port.RedemptionQuery) ([]voucher.Reservation, error) {
	below := voucher.Version{Epoch: math.MaxInt64, Sequence: math.MaxInt64}
	if q.Before != nil {
		below = *q.Before
	}
	args := []any{string(q.Code), below.Epoch, below.Sequence, q.Limit}
	var branches []string
	switch q.Status {
	case voucher.Reserved:
		branches, args = []string{heldRows}, append(args, q.Now)
	case voucher.Confirmed:
		branches = []string{confirmedRows}
	case voucher.Released:
		branches, args = []string{releasedRows, overdueRows}, append(args, q.Now)
	default:
		branches = []string{reservedRows, confirmedRows, releasedRows}
	}
	query := `SELECT ` + redemptionColumns + ` FROM (` + strings.Join(branches, " UNION ALL ") + `) r
		ORDER BY epoch DESC, sequence DESC LIMIT $4`
	var out []voucher.Reservation
	err := db.read(ctx, func(ctx context.Context) error {
		found, err := rows[redemptionRow](ctx, db, db.bun.DB, query, args...)
		if err == nil && len(found) == 0 {
			err = db.mustExist(ctx, q.Code)
		}
		out = reservations(found)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Due implements port.Reader.
func (db *DB) Due(ctx context.Context, now time.Time, after port.Due, limit int) ([]port.Due, error) {
	var out []port.Due
	err := db.read(ctx, func(ctx context.Context) error {
		// "expires_at >=" is in the condition after it; the index knows only the former.
		found, err := rows[redemptionRow](ctx, db, db.bun.DB, `SELECT expires_at, voucher_code, order_id
			FROM voucher_redemption
			WHERE status = 'RESERVED' AND sequence >= 0 AND expires_at <= $1
				AND expires_at >= $2 AND (expires_at, voucher_code, order_id) > ($2, $3, $4)
			ORDER BY expires_at, voucher_code, order_id LIMIT $5`,
			now, after.ExpiresAt, string(after.Code), string(after.Order), limit)
		out = make([]port.Due, len(found))
		for i, r := range found {
			// Uncut: a position in the order of the rows as they are stored, also where somebody's hand wrote a deadline
			// between two milliseconds.
			out[i] = port.Due{ExpiresAt: r.ExpiresAt.UTC(), Code: r.VoucherCode, Order: r.OrderID}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
