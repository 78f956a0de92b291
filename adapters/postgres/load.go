package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

const (
	// The lock that an UPDATE of this row takes: writers wait for each other, foreign keys that point here don't.
	lockVoucher = `SELECT ` + voucherColumns + ` FROM voucher WHERE code = $1 FOR NO KEY UPDATE`

	// A look-up behind LIMIT 1 is made for each id by itself, on the primary key. As a plain join, or with "= ANY", the
	// planner may read all orders of the voucher instead, of which it knows too late how many there are.
	customerOfOrder = ` LEFT JOIN LATERAL (
			SELECT uses FROM voucher_customer
			WHERE voucher_code = r.voucher_code AND customer_id = r.customer_id
			LIMIT 1
		) c ON true`

	loadOrders = `SELECT ` + redemptionColumns + `, coalesce(c.uses, 0)
		FROM unnest($2::text[]) AS asked (order_id) CROSS JOIN LATERAL (
			SELECT * FROM voucher_redemption
			WHERE voucher_code = $1 AND order_id = asked.order_id
			LIMIT 1
		) r` + customerOfOrder

	loadElsewhere = `SELECT ` + redemptionColumns + `
		FROM unnest($2::text[]) AS asked (order_id) CROSS JOIN LATERAL (
			SELECT * FROM voucher_redemption
			WHERE order_id = asked.order_id AND status <> 'RELEASED'
			LIMIT 1
		) r
		WHERE r.voucher_code <> $1`

	loadCustomers = `SELECT c.customer_id, c.uses
		FROM unnest($2::bigint[]) AS asked (customer_id) CROSS JOIN LATERAL (
			SELECT customer_id, uses FROM voucher_customer
			WHERE voucher_code = $1 AND customer_id = asked.customer_id
			LIMIT 1
		) c`

	// Along the index of deadlines: where a million reservations are open and none is due the look costs nothing. Which
	// of those with one deadline come into a full batch is open, so that none but the batch is read and sorted.
	loadOverdueOrders = `SELECT ` + redemptionColumns + `, coalesce(c.uses, 0)
		FROM (
			SELECT * FROM voucher_redemption
			WHERE voucher_code = $1 AND status = 'RESERVED' AND expires_at <= $3
			ORDER BY expires_at
			LIMIT $2
		) r` + customerOfOrder + `
		ORDER BY r.expires_at, r.epoch, r.sequence`
)

// orderWithUses is a redemption and its customer's count.
type orderWithUses struct {
	redemptionRow
	Uses int64
}

// load begins the transaction, locks the voucher and reads what the step asks for, all in one round trip. The
// statements run one after the other on the server: those behind the lock see what its last holder wrote.
func load(ctx context.Context, conn *pgx.Conn, step port.Step) (voucher.Loaded, error) {
	l := voucher.Loaded{Uses: make(map[voucher.CustomerID]int64, len(step.Customers)+len(step.Orders))}
	b := &pgx.Batch{}
	b.Queue(begin)
	b.Queue(lockVoucher, string(step.Code)).Query(func(rows pgx.Rows) error {
		row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[voucherRow])
		if errors.Is(err, pgx.ErrNoRows) {
			return voucher.ErrVoucherNotFound
		}
		l.Voucher = row.voucher()
		return err
	})
	if len(step.Orders) > 0 {
		ids := texts(step.Orders)
		b.Queue(loadOrders, string(step.Code), ids).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[orderWithUses])
			for _, o := range found {
				l.Orders = append(l.Orders, o.reservation())
				l.Uses[o.CustomerID] = o.Uses
			}
			return err
		})
		b.Queue(loadElsewhere, string(step.Code), ids).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[redemptionRow])
			l.Elsewhere = reservations(found)
			return err
		})
	}
	if len(step.Customers) > 0 {
		ids := make([]int64, len(step.Customers))
		for i, id := range step.Customers {
			ids[i] = int64(id)
		}
		b.Queue(loadCustomers, string(step.Code), ids).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[customerRow])
			for _, c := range found {
				l.Uses[c.CustomerID] = c.Uses
			}
			return err
		})
	}
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return voucher.Loaded{}, fmt.Errorf("load voucher: %w", err)
	}
	return l, nil
}

// loadOverdue adds reservations of the voucher that are past their deadline at now, the earliest first.
func loadOverdue(ctx context.Context, conn *pgx.Conn, l *voucher.Loaded, now time.Time) error {
	rows, err := conn.Query(ctx, loadOverdueOrders, string(l.Voucher.Code()), port.OverdueBatch, now)
	if err != nil {
		return fmt.Errorf("load overdue reservations: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[orderWithUses])
	if err != nil {
		return fmt.Errorf("load overdue reservations: %w", err)
	}
	l.MoreDue = len(found) == port.OverdueBatch
	loaded := make(map[voucher.OrderID]bool, len(l.Orders))
	for _, r := range l.Orders {
		loaded[r.Record().Order] = true
	}
	for _, o := range found {
		l.Overdue = append(l.Overdue, o.OrderID)
		l.Uses[o.CustomerID] = o.Uses
		if !loaded[o.OrderID] {
			l.Orders = append(l.Orders, o.reservation())
		}
	}
	return nil
}

// texts returns ids as the driver knows them.
func texts[S ~string](ids []S) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}
