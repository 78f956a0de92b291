package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// Update implements port.Ledger.
func (db *DB) Update(ctx context.Context, step port.Step) error {
	return db.transact(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		l, err := load(ctx, conn, step)
		if err != nil {
			return false, err
		}
		now := db.clock.Now()
		if step.Overdue != nil && step.Overdue(l) {
			if err := loadOverdue(ctx, conn, &l, now); err != nil {
				return false, err
			}
		}
		state := voucher.NewState(l)
		step.Decide(state, now)
		changes := state.Changes()
		if changes.Empty() {
			return false, nil
		}
		return true, write(ctx, conn, changes)
	})
}

const insertVoucher = `INSERT INTO voucher (` + voucherColumns + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`

// Create implements port.Ledger.
func (db *DB) Create(ctx context.Context, v voucher.Voucher, actor string) error {
	s := v.Snapshot()
	err := db.transact(ctx, func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		w := &writer{code: v.Code()}
		w.queue("begin", anyNumber, begin)
		w.queue("voucher", 1, insertVoucher, string(s.Code), s.DiscountAmount, s.MinOrderAmount, s.TotalLimit, s.Used,
			s.PerUserLimit, s.StartsAt, s.EndsAt, s.Paused, string(s.Mode), modeOrNull(s.ConfigMode), s.Epoch, s.Drained,
			s.Partition, s.Sequence, s.Change, s.CreatedAt, s.UpdatedAt)
		if err := w.history([]voucher.Change{voucher.Created(v, actor)}); err != nil {
			return false, err
		}
		return true, w.send(ctx, conn)
	})
	if errors.Is(err, voucher.ErrVoucherExists) {
		// The one constraint that nobody looks at before: the database is the judge here, not the last line.
		return voucher.ErrVoucherExists
	}
	return err
}

func modeOrNull(m voucher.Mode) *string {
	if m == "" {
		return nil
	}
	s := string(m)
	return &s
}
