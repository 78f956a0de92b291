package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// report is what audit --json prints.
type report struct {
	Consistent  bool           `json:"consistent"`
	TotalLimit  int            `json:"totalLimit"`
	UsedCount   int            `json:"usedCount"`
	MaxLive     int            `json:"maxLive"`
	Live        int            `json:"live"`
	Granted     int            `json:"granted"`
	Confirmed   int            `json:"confirmed"`
	Released    map[string]int `json:"released"`
	Differences []difference   `json:"differences"`
}

type difference struct {
	Kind    string `json:"kind"`
	OrderID string `json:"orderId"`
	Detail  string `json:"detail"`
}

// report audits the voucher and expects that exit status.
func (st *stage) report(want int, code string) (r report) {
	st.t.Helper()
	stdout, stderr, exit := st.run("audit", code, "--json")
	require.Equal(st.t, want, exit, "%s%s", stdout, stderr)
	require.NoError(st.t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(st.t, want == 0, r.Consistent)
	return r
}

// TestTheAuditFindsTampering changes the books by hand, one place after the other, and puts them right again.
func TestTheAuditFindsTampering(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("BOOKS", fields{"totalLimit": 10, "perUserLimit": 2})
	orders := st.newcomers(4)
	for _, o := range orders {
		st.must(created, st.reserve("BOOKS", o))
	}
	st.must(ok, st.confirm("BOOKS", orders[0].id))
	st.must(gone, st.release("BOOKS", orders[1].id))

	r := st.report(0, "BOOKS")
	require.Equal(t, []int{10, 3, 4, 3, 4, 1, 1}, []int{r.TotalLimit, r.UsedCount, r.MaxLive, r.Live, r.Granted, r.Confirmed, r.Released["CANCELLED"]})
	require.Empty(t, r.Differences)
	verdict, _, _ := st.run("audit", "books")
	require.Contains(t, verdict, "BOOKS: everything fits")

	// Where a difference must be found, by kind and order.
	reserved := orders[2].id
	for _, c := range []struct{ statement, kind, order string }{
		{`UPDATE voucher SET used_count = used_count + 1`, "used_count", ""},
		{`UPDATE voucher SET used_count = used_count - 1`, "used_count", ""},
		{`UPDATE voucher SET total_limit = 1000`, "voucher", ""},
		{`UPDATE voucher_redemption SET status = 'CONFIRMED', confirmed_at = now() WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET discount_amount = 1 WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET order_amount = order_amount + 1 WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET expires_at = expires_at + interval '1 day' WHERE order_id = $1`, "redemption", reserved},
		{`UPDATE voucher_redemption SET customer_id = 99 WHERE order_id = $1`, "redemption", reserved},
		{`DELETE FROM voucher_redemption WHERE order_id = $1`, "redemption", reserved},
		{`INSERT INTO voucher_redemption SELECT customer_id, order_amount, discount_amount, epoch, 99, created_at, expires_at, confirmed_at,
			released_at, voucher_code, $1 || '-forged', status, release_reason FROM voucher_redemption WHERE order_id = $1`, "redemption", reserved + "-forged"},
		{`UPDATE voucher_customer SET uses = 2 WHERE customer_id = ` + fmt.Sprint(orders[2].customer), "customer", ""},
		{`INSERT INTO voucher_customer (voucher_code, customer_id, uses, limit_seen) VALUES ('BOOKS', 999999, 0, 2)`, "customer", ""},
		{`DELETE FROM voucher_customer WHERE uses = 0`, "customer", ""},
		{`DELETE FROM voucher_customer WHERE customer_id = ` + fmt.Sprint(orders[2].customer), "customer", ""},
	} {
		undo := st.snapshot("voucher", "voucher_redemption", "voucher_customer")
		if strings.Contains(c.statement, "$1") {
			st.exec(c.statement, reserved)
		} else {
			st.exec(c.statement)
		}
		r := st.report(1, "BOOKS")
		found := false
		for _, d := range r.Differences {
			found = found || d.Kind == c.kind && d.OrderID == c.order
		}
		require.True(t, found, "%s: %+v", c.statement, r.Differences)
		undo()
	}
	st.exec(`UPDATE voucher SET used_count = used_count + 1`)
	verdict, stderr, exit := st.run("audit", "books")
	require.Equal(t, 1, exit, stderr)
	require.Contains(t, verdict, "BOOKS: 1 DIFFERENCE")
	st.exec(`UPDATE voucher SET used_count = used_count - 1`)
	st.sums("BOOKS")
}

// snapshot copies the books and returns how to bring them back. Whoever changes the history has disabled its trigger.
func (st *stage) snapshot(tables ...string) (restore func()) {
	for _, table := range tables {
		st.exec(`CREATE TABLE copy_of_` + table + ` AS TABLE ` + table)
	}
	return func() {
		for _, table := range slices.Backward(tables) {
			st.exec(`DELETE FROM ` + table)
		}
		for _, table := range tables {
			st.exec(`INSERT INTO ` + table + ` OVERRIDING SYSTEM VALUE SELECT * FROM copy_of_` + table)
			st.exec(`DROP TABLE copy_of_` + table)
		}
	}
}

// tampering is one value changed by hand, and what of an audit tells it.
type tampering struct {
	column string
	set    string // of an UPDATE
	where  string
	kind   string // of a difference; empty: the audit fails and says so in these words:
	detail string // what the difference names; empty: the column
}

// Of each row of a table, the one that the cases are about: a live use and a use that was given back, say.
const (
	held     = `order_id = 'held'`
	paid     = `order_id = 'paid'`
	returned = `order_id = 'returned'`
	who      = `customer_id = 1`
	made     = `kind = 'RESERVED' AND order_id = 'held'`
	// Another reservation of the same order took its row over: the history alone knows of it.
	first = `order_id = 'again' AND sequence = 4`
)

// tamperings are the cases of each table, one or more for each column.
var tamperings = map[string][]tampering{
	"voucher": {
		{column: "code", set: `code = 'OTHER'`, detail: "no voucher has this code"},
		{column: "discount_amount", set: `discount_amount = discount_amount + 1`, kind: "voucher"},
		{column: "min_order_amount", set: `min_order_amount = 1`, kind: "voucher"},
		{column: "total_limit", set: `total_limit = total_limit + 1`, kind: "voucher"},
		{column: "used_count", set: `used_count = used_count + 1`, kind: "used_count"},
		{column: "used_count", set: `used_count = used_count - 1`, kind: "used_count"},
		{column: "per_user_limit", set: `per_user_limit = 100`, kind: "voucher"},
		{column: "starts_at", set: `starts_at = starts_at + interval '1 microsecond'`, kind: "voucher"},
		{column: "ends_at", set: `ends_at = ends_at + interval '1 day'`, kind: "voucher"},
		{column: "ends_at", set: `ends_at = 'infinity'`, detail: `name "ends_at"`}, // nothing that can be compared
		{column: "paused", set: `paused = NOT paused`, kind: "voucher"},
		{column: "mode", set: `mode = 'flash-async'`, kind: "voucher"},
		{column: "config_mode", set: `config_mode = 'flash-sync'`, kind: "voucher"},
		{column: "config_mode", set: `config_mode = 'standard'`, kind: "voucher"},
		{column: "epoch", set: `epoch = epoch + 5`, kind: "voucher"},
		{column: "epoch", set: `epoch = epoch - 1`, kind: "voucher"},
		{column: "sequence", set: `sequence = sequence + 1`, kind: "voucher"},
		{column: "sequence", set: `sequence = sequence - 1`, kind: "voucher"},
		{column: "drained_epoch", set: `drained_epoch = 7`, kind: "voucher"},
		{column: "partition", set: `partition = 3`, kind: "voucher"},
		{column: "change_number", set: `change_number = change_number + 1`, kind: "voucher"},
		{column: "created_at", set: `created_at = created_at - interval '1 day'`, kind: "voucher"},
		{column: "updated_at", set: `updated_at = updated_at + interval '1 microsecond'`, kind: "voucher"},
	},
	"voucher_redemption": {
		{column: "voucher_code", where: held, set: `voucher_code = 'OTHER'`, kind: "redemption", detail: "row"},
		{column: "order_id", where: held, set: `order_id = 'new'`, kind: "redemption", detail: "row without history"},
		{column: "customer_id", where: held, set: `customer_id = 99`, kind: "redemption"},
		{column: "order_amount", where: held, set: `order_amount = order_amount + 1`, kind: "redemption"},
		{column: "discount_amount", where: held, set: `discount_amount = discount_amount - 1`, kind: "redemption"},
		{column: "status", where: held, set: `status = 'CONFIRMED', confirmed_at = now()`, kind: "redemption"},
		{column: "status", where: paid, set: `status = 'RESERVED', confirmed_at = NULL`, kind: "redemption"},
		{column: "epoch", where: held, set: `epoch = epoch + 1`, kind: "redemption", detail: "version"},
		{column: "sequence", where: held, set: `sequence = sequence + 1`, kind: "redemption", detail: "version"},
		{column: "created_at", where: held, set: `created_at = created_at - interval '1 microsecond'`, kind: "redemption"},
		{column: "expires_at", where: held, set: `expires_at = expires_at + interval '1 microsecond'`, kind: "redemption"},
		{column: "confirmed_at", where: paid, set: `confirmed_at = confirmed_at + interval '1 microsecond'`, kind: "redemption"},
		{column: "released_at", where: returned, set: `released_at = released_at + interval '1 microsecond'`, kind: "redemption"},
		{column: "release_reason", where: returned, set: `release_reason = 'EXPIRED'`, kind: "redemption"},
	},
	"voucher_customer": {
		{column: "voucher_code", where: who, set: `voucher_code = 'OTHER'`, kind: "customer", detail: "row"},
		{column: "customer_id", where: who, set: `customer_id = 99`, kind: "customer", detail: "row without history"},
		{column: "uses", where: who, set: `uses = uses + 1`, kind: "customer"},
		{column: "uses", where: who, set: `uses = uses - 1`, kind: "customer"},
		{column: "limit_seen", where: who, set: `limit_seen = 100`, kind: "customer"},
		{column: "limit_seen", where: who, set: `limit_seen = limit_seen - 1`, kind: "customer"},
	},
	"voucher_event": {
		{column: "id", where: made, set: `id = DEFAULT`, kind: "history", detail: "version of entry"}, // now it is the last one
		{column: "voucher_code", where: first, set: `voucher_code = 'OTHER'`, kind: "history", detail: "version of entry"},
		{column: "kind", where: `kind = 'CONFIRMED'`, set: `kind = 'RELEASED'`, kind: "history", detail: "facts of entry"},
		{column: "order_id", where: made, set: `order_id = 'new'`, kind: "redemption", detail: "row without history"},
		{column: "customer_id", where: made, set: `customer_id = 99`, kind: "redemption"},
		{column: "epoch", where: made, set: `epoch = epoch + 1`, kind: "history", detail: "version of entry"},
		{column: "epoch", where: `kind = 'VOUCHER_AMENDED'`, set: `epoch = epoch + 1`, kind: "history", detail: "epoch of entry"},
		{column: "sequence", where: made, set: `sequence = 99`, kind: "history", detail: "version of entry"},
		{column: "sequence", where: first + ` AND kind = 'RELEASED'`, set: `sequence = 1`, kind: "history", detail: "ends a reservation that is not there"},
		{column: "at", where: `kind = 'VOUCHER_CREATED'`, set: `at = at - interval '1 day'`, kind: "voucher", detail: "created_at"},
		{column: "at", where: first + ` AND kind = 'RESERVED'`, set: `at = '1990-01-01Z'`, kind: "history", detail: "refusal at entry"},
		{column: "at", where: first + ` AND kind = 'RELEASED'`, set: `at = at + interval '1 microsecond'`, kind: "history", detail: "facts of entry"},
		{column: "before", where: `kind = 'VOUCHER_AMENDED'`, set: `before = before || '{"paused": true}'`, kind: "history", detail: "does not follow"},
		{column: "before", where: first + ` AND kind = 'RELEASED'`, set: `before = '{"status": "CONFIRMED"}'`, kind: "history", detail: "facts of entry"},
		{column: "after", where: first + ` AND kind = 'RESERVED'`, set: `after = after || '{"order_amount": 1}'`, kind: "history", detail: "discount granted"},
		{column: "after", where: first + ` AND kind = 'RELEASED'`, set: `after = after || '{"release_reason": "EXPIRED"}'`, kind: "history", detail: "the deadline"},
		{column: "after", where: first + ` AND kind = 'RELEASED'`, set: `after = '{"status": 7}'`, detail: "history entry"},
	},
}

// untold are the columns that nothing else depends on, and why.
var untold = map[string]string{
	"voucher_event.actor": "the name of whoever did it: the history alone knows it, and no rule binds it",
}

// TestTheAuditFindsAChangeOfAnyColumn: one by one, in every table, with the guards off that an owner can switch off.
func TestTheAuditFindsAChangeOfAnyColumn(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("BOOKS", fields{"totalLimit": 10, "perUserLimit": 3})
	reserve := func(customer int64, id string) {
		st.must(created, st.reserve("BOOKS", order{id: id, customer: customer, amount: 5000}))
	}
	reserve(1, "held")
	reserve(1, "paid")
	reserve(2, "returned")
	reserve(3, "again")
	st.must(ok, st.confirm("BOOKS", "paid"))
	st.must(gone, st.release("BOOKS", "returned"))
	st.must(gone, st.release("BOOKS", "again"))
	st.must(ok, st.patch("BOOKS", fields{"totalLimit": 11}))
	reserve(3, "again")
	st.exec(`ALTER TABLE voucher_event DISABLE TRIGGER voucher_event_is_append_only`)
	st.exec(`ALTER TABLE voucher_redemption DROP CONSTRAINT voucher_redemption_voucher`)
	st.sums("BOOKS")

	var covered []string
	for table, cases := range tamperings {
		for _, c := range cases {
			covered = append(covered, table+"."+c.column)
		}
	}
	covered = slices.AppendSeq(covered, maps.Keys(untold))
	slices.Sort(covered)
	require.Equal(t, st.columns(), slices.Compact(covered), "each column has its case")
	for table, cases := range tamperings {
		for _, c := range cases {
			st.tamper(table, c)
		}
	}
	st.sums("BOOKS")
}

// columns lists what is stored: all columns of all tables but the migrations' own.
func (st *stage) columns() []string {
	st.t.Helper()
	rows, err := st.db.Query(context.Background(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name <> 'voucherd_schema_version'`)
	require.NoError(st.t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(st.t, err)
	slices.Sort(found)
	return found
}

// tamper changes one value, expects the audit to tell, and puts it right again.
func (st *stage) tamper(table string, c tampering) {
	st.t.Helper()
	defer st.snapshot("voucher", "voucher_redemption", "voucher_customer", "voucher_event")()
	statement := `UPDATE ` + table + ` SET ` + c.set
	if c.where != "" {
		statement += ` WHERE ` + c.where
	}
	tag, err := st.db.Exec(context.Background(), statement)
	require.NoError(st.t, err, statement)
	require.Positive(st.t, tag.RowsAffected(), statement)
	if c.kind == "" {
		_, stderr, exit := st.run("audit", "BOOKS")
		require.Equal(st.t, 1, exit, statement)
		require.Contains(st.t, stderr, c.detail, statement)
		return
	}
	detail := cmp.Or(c.detail, c.column)
	r := st.report(1, "BOOKS")
	require.True(st.t, slices.ContainsFunc(r.Differences, func(d difference) bool {
		return d.Kind == c.kind && strings.Contains(d.Detail, detail)
	}), "%s: %+v", statement, r.Differences)
}
