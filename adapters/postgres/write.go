package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"voucherd/domain/voucher"
)

const (
	// Under the row's lock the conditions hold, unless this program or somebody's hand is wrong.
	updateVoucher = `UPDATE voucher SET
			used_count = used_count + $2::integer, sequence = $3, epoch = $4, change_number = $5, discount_amount = $6,
			min_order_amount = $7, total_limit = $8::integer, per_user_limit = $9, starts_at = $10, ends_at = $11, paused = $12,
			mode = $13, config_mode = $14, drained_epoch = $15, partition = $16, updated_at = $17
		WHERE code = $1 AND epoch = $18 AND sequence = $19 AND change_number = $20 AND mode = $21
			AND config_mode IS NOT DISTINCT FROM $22
			AND used_count = $23 AND used_count + $2::integer BETWEEN 0 AND $8::integer`

	// A later reservation takes over the row of an earlier one of the same order; the end of a reservation is written
	// over that very reservation, once. ON CONFLICT finds the row by the key, whatever the planner believes.
	writeReservations = `INSERT INTO voucher_redemption AS r (voucher_code, order_id, customer_id, order_amount,
			discount_amount, status, epoch, sequence, created_at, expires_at, confirmed_at, released_at, release_reason)
		SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[],
			$9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::text[])
		ON CONFLICT (voucher_code, order_id) DO UPDATE SET
			customer_id = excluded.customer_id, order_amount = excluded.order_amount,
			discount_amount = excluded.discount_amount, status = excluded.status, epoch = excluded.epoch,
			sequence = excluded.sequence, created_at = excluded.created_at, expires_at = excluded.expires_at,
			confirmed_at = excluded.confirmed_at, released_at = excluded.released_at,
			release_reason = excluded.release_reason
		WHERE (r.epoch, r.sequence) < (excluded.epoch, excluded.sequence)
			OR (r.epoch, r.sequence) = (excluded.epoch, excluded.sequence)
				AND r.status = 'RESERVED' AND excluded.status <> 'RESERVED'`

	raiseCustomers = `INSERT INTO voucher_customer AS c (voucher_code, customer_id, uses, limit_seen)
		SELECT $1, * FROM unnest($2::bigint[], $3::integer[], $4::integer[])
		ON CONFLICT (voucher_code, customer_id) DO UPDATE SET
			uses = c.uses + excluded.uses, limit_seen = excluded.limit_seen`

	// Apart from the statement above, since PostgreSQL checks the row to insert, with its negative number, before it
	// looks for the conflict. The limit is 0 where nothing was granted. Rows are joined by their place alone, found on
	// the primary key (see customerOfOrder): any other condition would open a way through all of the voucher's rows.
	lowerCustomers = `UPDATE voucher_customer c SET
			uses = c.uses + u.delta, limit_seen = CASE WHEN u.seen > 0 THEN u.seen ELSE c.limit_seen END
		FROM unnest($2::bigint[], $3::integer[], $4::integer[]) AS u (customer_id, delta, seen) CROSS JOIN LATERAL (
			SELECT ctid FROM voucher_customer
			WHERE voucher_code = $1 AND customer_id = u.customer_id
			LIMIT 1
		) found
		WHERE c.ctid = found.ctid AND c.uses + u.delta >= 0`

	// Ids are given in the order of the rows.
	insertHistory = `INSERT INTO voucher_event (voucher_code, kind, order_id, customer_id, epoch, sequence, actor, at,
			before, after)
		SELECT $1, u.kind, u.order_id, u.customer_id, u.epoch, u.sequence, u.actor, u.at, u.before::jsonb, u.after::jsonb
		FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::timestamptz[],
			$9::text[], $10::text[]) WITH ORDINALITY
			AS u (kind, order_id, customer_id, epoch, sequence, actor, at, before, after, n)
		ORDER BY u.n`
)

// write stores the changes in one round trip.
func write(ctx context.Context, conn *pgx.Conn, c voucher.Changes) error {
	w := &writer{code: c.After.Code()}
	// The reservations go first: they are all that another transaction may wait for.
	w.reservations(c.Reservations)
	if c.Before != c.After {
		w.voucher(c.Before.Snapshot(), c.After.Snapshot())
	}
	w.customers(c.Uses)
	if err := w.history(c.History); err != nil {
		return err
	}
	return w.send(ctx, conn)
}

// anyNumber is what is expected of a statement that writes no rows.
const anyNumber = -1

// writer collects the statements of one round trip and checks that each hit the rows it was meant for.
type writer struct {
	code  voucher.Code
	batch pgx.Batch
}

// queue adds a statement that must write the given number of rows.
func (w *writer) queue(what string, want int, sql string, args ...any) {
	w.batch.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
		if want != anyNumber && tag.RowsAffected() != int64(want) {
			return missed(what, tag.RowsAffected(), want)
		}
		return nil
	})
}

func (w *writer) send(ctx context.Context, conn *pgx.Conn) error {
	if err := conn.SendBatch(ctx, &w.batch).Close(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func (w *writer) voucher(before, after voucher.Snapshot) {
	w.queue("voucher", 1, updateVoucher, string(w.code),
		after.Used-before.Used, after.Sequence, after.Epoch, after.Change, after.DiscountAmount, after.MinOrderAmount,
		after.TotalLimit, after.PerUserLimit, after.StartsAt, after.EndsAt, after.Paused, string(after.Mode),
		modeOrNull(after.ConfigMode), after.Drained, after.Partition, after.UpdatedAt,
		before.Epoch, before.Sequence, before.Change, string(before.Mode), modeOrNull(before.ConfigMode), before.Used)
}

func (w *writer) reservations(stored []voucher.Stored) {
	if len(stored) == 0 {
		return
	}
	records := make([]voucher.Record, len(stored))
	for i, s := range stored {
		records[i] = s.After.Record()
	}
	// Two batches on two vouchers that share orders meet on the unique index of live orders: in the same order, one
	// waits for the other and no deadlock comes of it.
	slices.SortFunc(records, func(a, b voucher.Record) int { return strings.Compare(string(a.Order), string(b.Order)) })
	c := columnsOf(records)
	w.queue("reservations", len(records), writeReservations, string(w.code), c.orders, c.customers, c.amounts,
		c.discounts, c.statuses, c.epochs, c.sequences, c.created, c.expires, c.confirmed, c.released, c.reasons)
}

func (w *writer) customers(uses []voucher.UseChange) {
	var up, down struct{ ids, deltas, limits []int64 }
	for _, u := range uses {
		to := &up // 0 as well: a grant's limit is written, and the first grant makes the row
		if u.Delta < 0 {
			to = &down
		}
		to.ids, to.deltas, to.limits = append(to.ids, int64(u.Customer)), append(to.deltas, u.Delta), append(to.limits, u.Limit)
	}
	if n := len(up.ids); n > 0 {
		w.queue("customers' counts raised", n, raiseCustomers, string(w.code), up.ids, up.deltas, up.limits)
	}
	if n := len(down.ids); n > 0 {
		w.queue("customers' counts lowered", n, lowerCustomers, string(w.code), down.ids, down.deltas, down.limits)
	}
}

func (w *writer) history(changes []voucher.Change) error {
	if len(changes) == 0 {
		return nil
	}
	c, err := eventColumnsOf(changes)
	if err != nil {
		return err
	}
	w.queue("history", len(changes), insertHistory, string(w.code), c.kinds, c.orders, c.customers, c.epochs, c.sequences,
		c.actors, c.times, c.before, c.after)
	return nil
}

// redemptionArrays are records turned on their side: one array a column.
type redemptionArrays struct {
	orders, statuses                                 []string
	customers, amounts, discounts, epochs, sequences []int64
	created, expires                                 []time.Time
	confirmed, released                              []*time.Time
	reasons                                          []*string
}

func columnsOf(records []voucher.Record) redemptionArrays {
	var c redemptionArrays
	for _, r := range records {
		c.orders, c.statuses = append(c.orders, string(r.Order)), append(c.statuses, string(r.Status))
		c.customers = append(c.customers, int64(r.Customer))
		c.amounts, c.discounts = append(c.amounts, r.OrderAmount), append(c.discounts, r.DiscountAmount)
		c.epochs, c.sequences = append(c.epochs, r.Version.Epoch), append(c.sequences, r.Version.Sequence)
		c.created, c.expires = append(c.created, r.CreatedAt), append(c.expires, r.ExpiresAt)
		c.confirmed, c.released = append(c.confirmed, orNull(r.ConfirmedAt)), append(c.released, orNull(r.ReleasedAt))
		c.reasons = append(c.reasons, nonZero(r.ReleaseReason))
	}
	return c
}

// eventArrays are changes turned on their side.
type eventArrays struct {
	kinds, actors     []string
	orders            []*string
	customers         []*int64
	epochs, sequences []int64
	times             []time.Time
	before, after     []*string
}

func eventColumnsOf(changes []voucher.Change) (eventArrays, error) {
	var c eventArrays
	for _, h := range changes {
		before, after, err := eventTexts(h)
		if err != nil {
			return eventArrays{}, err
		}
		c.kinds, c.actors = append(c.kinds, string(h.Kind)), append(c.actors, h.Actor)
		c.orders = append(c.orders, nonZero(string(h.Order)))
		c.customers = append(c.customers, nonZero(int64(h.Customer)))
		c.epochs, c.sequences = append(c.epochs, h.Version.Epoch), append(c.sequences, h.Version.Sequence)
		c.times = append(c.times, h.At)
		c.before, c.after = append(c.before, before), append(c.after, after)
	}
	return c, nil
}

func eventTexts(h voucher.Change) (before, after *string, err error) {
	asTerms := func(t voucher.Terms) termsJSON { return termsJSON(t) }
	asFacts := func(f voucher.Facts) factsJSON { return factsJSON(f) }
	if h.Order == "" {
		if before, err = toJSON(h.TermsBefore, asTerms); err == nil {
			after, err = toJSON(h.TermsAfter, asTerms)
		}
		return before, after, err
	}
	if before, err = toJSON(h.Before, asFacts); err == nil {
		after, err = toJSON(h.After, asFacts)
	}
	return before, after, err
}

// nonZero returns nil for the zero value, which is stored as NULL.
func nonZero[V comparable](v V) *V {
	var zero V
	if v == zero {
		return nil
	}
	return &v
}
