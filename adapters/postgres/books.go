package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// bookPage is how many rows Read takes into memory at a time.
const bookPage = 1000

// Read implements port.Books. It may take much longer than any other call, so it minds the caller's cancellation.
func (db *DB) Read(ctx context.Context, code voucher.Code, visit port.BookVisitor) error {
	done, err := db.acquireRead(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, db.cfg.BooksTimeout)
	defer cancel()
	// Not again after a failure: the visitor has seen a part already.
	return settled(beforeCommit(db.readBooks(ctx, code, visit)))
}

func (db *DB) readBooks(ctx context.Context, code voucher.Code, visit port.BookVisitor) error {
	// One snapshot for all of it; it locks nothing and nobody waits for it.
	tx, err := db.bun.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	// The visitor's own work may lie between two pages.
	if _, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	b := book{db: db, tx: tx, code: code, visit: visit}
	for _, part := range []func(context.Context) error{b.voucher, b.history, b.reservations, b.customers} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// book is the reading of one voucher's books.
type book struct {
	db    *DB
	tx    *sql.Tx
	code  voucher.Code
	visit port.BookVisitor
}

func (b book) voucher(ctx context.Context) error {
	found, err := rows[voucherRow](ctx, b.db, b.tx, `SELECT `+voucherColumns+` FROM voucher WHERE code = $1`, string(b.code))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return voucher.ErrVoucherNotFound
	}
	b.visit.Voucher(found[0].voucher())
	return nil
}

func (b book) history(ctx context.Context) error {
	const query = `SELECT ` + eventColumns + ` FROM voucher_event WHERE voucher_code = $1 AND id > $2 ORDER BY id LIMIT $3`
	return pages(ctx, b, query, int64(0), func(found []eventRow) (int64, error) {
		page := make([]voucher.Change, len(found))
		for i, r := range found {
			var err error
			if page[i], err = r.change(); err != nil {
				return 0, err
			}
		}
		b.visit.History(page)
		return found[len(found)-1].ID, nil
	})
}

func (b book) reservations(ctx context.Context) error {
	const query = `SELECT ` + redemptionColumns + ` FROM voucher_redemption r
		WHERE r.voucher_code = $1 AND r.order_id > $2 ORDER BY r.order_id LIMIT $3`
	return pages(ctx, b, query, "", func(found []redemptionRow) (string, error) {
		b.visit.Reservations(reservations(found))
		return string(found[len(found)-1].OrderID), nil
	})
}

func (b book) customers(ctx context.Context) error {
	const query = `SELECT customer_id, uses, limit_seen FROM voucher_customer
		WHERE voucher_code = $1 AND customer_id > $2 ORDER BY customer_id LIMIT $3`
	return pages(ctx, b, query, int64(0), func(found []bookedCustomer) (int64, error) {
		page := make(map[voucher.CustomerID]voucher.CustomerCount, len(found))
		for _, r := range found {
			page[r.CustomerID] = voucher.CustomerCount{Uses: r.Uses, LimitSeen: r.LimitSeen}
		}
		b.visit.Customers(page)
		return int64(found[len(found)-1].CustomerID), nil
	})
}

// pages runs query from the position on, page after page; take returns the position after a page.
func pages[K, M any](ctx context.Context, b book, query string, from K, take func([]M) (K, error)) error {
	for {
		found, err := rows[M](ctx, b.db, b.tx, query, string(b.code), from, bookPage)
		if err != nil || len(found) == 0 {
			return err
		}
		if from, err = take(found); err != nil {
			return err
		}
		if len(found) < bookPage {
			return nil
		}
	}
}
