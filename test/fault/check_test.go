package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"voucherd/test/env"
)

// row is a redemption as it is stored.
type row struct {
	customer, amount, discount int64
	status                     string
	expires                    time.Time
}

// check compares the book with what is stored, once nothing is under way any more.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.settle(t)
	l.book.close(t)
	rows, used, uses := l.stored(t)
	live, liveOf := 0, map[int64]int{}
	for _, r := range rows {
		if r.status != "RELEASED" {
			live++
			liveOf[r.customer]++
		}
	}
	require.Equal(t, live, used, "used_count and the live rows")
	require.Equal(t, liveOf, uses, "customers' counts and their live rows")
	for _, o := range l.book.orders {
		r, exists := rows[o.id]
		delete(rows, o.id)
		o.compare(t, r, exists)
	}
	require.Empty(t, rows, "rows of orders that nobody sent")
	require.Equal(t, l.book.live, live, "orders told 201 and live rows")
	l.shop.audit(t, l.voucher)
}

// settle asks once more about each order of which something is unclear, now that nothing moves any more. A reserve
// without an answer may have been overtaken by its own repeat, which was refused, and then found a use that was given
// back: the service cannot know that nobody wants it any more.
func (l *load) settle(t *testing.T) {
	t.Helper()
	l.shop.awaitQuiet(t)
	late := 0
	for _, o := range l.book.orders {
		if o.unclear && o.asked != releasing {
			before := o.told
			l.insist(o, false, reserveCall(l.voucher, o))
			if before == "" && o.told != "" {
				late++
			}
		}
	}
	if late > 0 {
		t.Logf("%d orders got their use after a repeat of theirs had been refused", late)
	}
}

// compare holds what the client was told against the order's row.
func (o *order) compare(t *testing.T, r row, exists bool) {
	t.Helper()
	want := "" // no live row
	switch {
	case o.told == "":
	case o.asked == releasing:
		require.Equal(t, "RELEASED", r.status, "%s: %v", o.id, o.answers)
	case o.asked == confirming:
		want = "CONFIRMED"
	default:
		want = "RESERVED"
	}
	if want == "" {
		require.False(t, exists && r.status != "RELEASED", "%s was refused and has a live row: %v", o.id, o.answers)
		return
	}
	require.Equal(t, row{
		customer: o.customer, amount: o.amount, discount: min(discount, o.amount), status: want, expires: r.expires,
	}, r, "%s: %v", o.id, o.answers)
	var told struct {
		OrderID        string    `json:"orderId"`
		DiscountAmount int64     `json:"discountAmount"`
		ExpiresAt      time.Time `json:"expiresAt"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.told), &told))
	require.Equal(t, o.id, told.OrderID)
	require.Equal(t, r.discount, told.DiscountAmount)
	require.True(t, r.expires.Equal(told.ExpiresAt), "%s expires at %v and was told %v", o.id, r.expires, told.ExpiresAt)
}

// stored reads the voucher's rows, its counter and its customers' counts.
func (l *load) stored(t *testing.T) (rows map[string]row, used int, uses map[int64]int) {
	t.Helper()
	rows, uses = map[string]row{}, map[int64]int{}
	l.shop.sql(t, func(ctx context.Context, conn *pgx.Conn) {
		require.NoError(t, conn.QueryRow(ctx, `SELECT used_count FROM voucher WHERE code = $1`, l.voucher).Scan(&used))
		found, err := conn.Query(ctx, `SELECT order_id, customer_id, order_amount, discount_amount, status, expires_at
			FROM voucher_redemption WHERE voucher_code = $1`, l.voucher)
		require.NoError(t, err)
		var id string
		var r row
		_, err = pgx.ForEachRow(found, []any{&id, &r.customer, &r.amount, &r.discount, &r.status, &r.expires}, func() error {
			rows[id] = r
			return nil
		})
		require.NoError(t, err)
		found, err = conn.Query(ctx, `SELECT customer_id, uses FROM voucher_customer WHERE voucher_code = $1 AND uses > 0`, l.voucher)
		require.NoError(t, err)
		var customer int64
		var n int
		_, err = pgx.ForEachRow(found, []any{&customer, &n}, func() error {
			uses[customer] = n
			return nil
		})
		require.NoError(t, err)
	})
	return rows, used, uses
}

// audit has the history recomputed.
func (s *shop) audit(t *testing.T, voucher string) {
	t.Helper()
	out, errs, exit := env.Run(t, env.ProcOptions{
		Args: []string{"audit", voucher}, Env: map[string]string{"VOUCHERD_DATABASE_URL": s.url},
	})
	require.Equal(t, 0, exit, "%s%s", out, errs)
}

// sample looks at the rows again and again, each time in one snapshot, until the returned function is called.
func (l *load) sample() (stop func(t *testing.T)) {
	const pause = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		seen := 0
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		defer func() { done <- seen }()
		for {
			l.look(ctx, ticker.C, &seen)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C: // the server is away: once more
			}
		}
	}()
	return func(t *testing.T) {
		t.Helper()
		cancel()
		require.Positive(t, <-done, "samples taken")
	}
}

// look samples on one connection as long as that lasts.
func (l *load) look(ctx context.Context, tick <-chan time.Time, seen *int) {
	const patience = 2 * time.Second
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := l.shop.connect(within)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for {
		var used, limit, live, most int
		within, cancel := context.WithTimeout(ctx, patience)
		err := conn.QueryRow(within, `
			WITH uses AS (SELECT count(*) n FROM voucher_redemption WHERE voucher_code = $1 AND status <> 'RELEASED' GROUP BY customer_id)
			SELECT used_count, total_limit, (SELECT coalesce(sum(n), 0) FROM uses), (SELECT coalesce(max(n), 0) FROM uses)
			FROM voucher WHERE code = $1`, l.voucher).Scan(&used, &limit, &live, &most)
		cancel()
		if err != nil {
			return
		}
		if *seen++; used != live || used > limit || most > perCustomer {
			l.book.report(nil, "a sample shows %s", fmt.Sprintf("used %d, live %d, limit %d, of one customer %d", used, live, limit, most))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}
