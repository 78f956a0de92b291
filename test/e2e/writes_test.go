package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestF49_ZeroRowsChangedAndNoError makes one write after the other hit no row, with a trigger that swallows it, as if
// its condition had never been true. Nothing of it may be told as done.
func TestF49_ZeroRowsChangedAndNoError(t *testing.T) {
	t.Parallel()
	st := open(t, 1, settings{"RESERVATION_TTL": "2s", "ROLES": "api"})
	st.exec(`CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`)
	swallowing := func(table, event string, do func()) {
		t.Helper()
		st.exec(`CREATE TRIGGER swallow BEFORE ` + event + ` ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION swallow()`)
		do()
		st.exec(`DROP TRIGGER swallow ON ` + table)
	}
	st.create("V", fields{"totalLimit": 5})
	held, paid, due := st.newcomer(), st.newcomer(), st.newcomer()
	deadline := st.must(created, st.reserve("V", due)).expiry(t)
	past(deadline)

	reserve := func(o order) request { return reserving("V", o) }
	change := func(f fields) request {
		return request{method: http.MethodPatch, route: voucherRoute, code: "V", body: f}
	}
	end := func(method, route, id string) request {
		return request{method: method, route: route, code: "V", order: id}
	}
	refused := func(r request) {
		t.Helper()
		books := st.books()
		a, err := st.exchange(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.status, "%s %s", a, a.body)
		require.Equal(t, books, st.books(), "nothing half done")
	}
	swallowing("voucher", "UPDATE", func() {
		refused(reserve(st.newcomer()))
		refused(end(http.MethodPost, confirmRoute, due.id)) // an expiry that is asked for
		refused(end(http.MethodDelete, reservationRoute, due.id))
		refused(change(fields{"totalLimit": 4}))
		refused(change(fields{"paused": true}))
	})
	swallowing("voucher_redemption", "INSERT", func() { refused(reserve(st.newcomer())) })
	swallowing("voucher_customer", "INSERT", func() { refused(reserve(st.newcomer())) })
	swallowing("voucher_event", "INSERT", func() {
		refused(reserve(st.newcomer()))
		refused(change(fields{"totalLimit": 4}))
	})
	swallowing("voucher_redemption", "UPDATE", func() {
		refused(reserve(due)) // ends the old one first, and takes its row
		refused(end(http.MethodPost, confirmRoute, due.id))
		refused(end(http.MethodDelete, reservationRoute, due.id))
	})
	swallowing("voucher_customer", "UPDATE", func() {
		refused(end(http.MethodPost, confirmRoute, due.id))
		refused(end(http.MethodDelete, reservationRoute, due.id))
	})

	// The job as well: it says that it left something undone, and does it later.
	swallowing("voucher_redemption", "UPDATE", func() {
		job := st.start(settings{"ROLES": "jobs", "JOBS_EXPIRE_INTERVAL": "500ms"})
		st.urls = st.urls[:1]
		st.await("the job has failed", func() bool { return st.metric(job, "voucherd_expiry_failures_total") >= 1 })
		require.Zero(t, st.metric(job, "voucherd_expired_total"))
		require.Equal(t, "RESERVED", st.status("V", due.id))
	})
	st.awaitReleased("V", due.id)

	// Confirm and release of what is in time, on a process that holds for long.
	st.start(nil)
	fresh := st.at(1)
	for _, o := range []order{held, paid} {
		st.must(created, fresh.reserve("V", o))
	}
	swallowing("voucher_redemption", "UPDATE", func() {
		refused(end(http.MethodPost, confirmRoute, paid.id))
		refused(end(http.MethodDelete, reservationRoute, held.id))
	})
	swallowing("voucher_customer", "UPDATE", func() { refused(end(http.MethodDelete, reservationRoute, held.id)) })
	st.must(ok, st.confirm("V", paid.id))
	st.must(gone, st.release("V", held.id))
	st.must(created, fresh.reserve("V", st.newcomer()))
	st.sums("V")
}

// books is everything stored, as one text.
func (st *stage) books() (text string) {
	st.t.Helper()
	require.NoError(st.t, st.db.QueryRow(st.ctx, `SELECT concat(
		(SELECT json_agg(v ORDER BY code) FROM voucher v),
		(SELECT json_agg(r ORDER BY voucher_code, order_id) FROM voucher_redemption r),
		(SELECT json_agg(c ORDER BY voucher_code, customer_id) FROM voucher_customer c),
		(SELECT json_agg(e ORDER BY id) FROM voucher_event e))`).Scan(&text))
	return text
}

// TestTheLoneConstraints: what raw SQL of anybody may not do to a live voucher.
func TestTheLoneConstraints(t *testing.T) {
	t.Parallel()
	st := open(t, 1, nil)
	st.create("FULL", nil)
	st.must(created, st.reserve("FULL", st.newcomer()))
	for statement, constraint := range map[string]string{
		`UPDATE voucher SET used_count = 2`:               "voucher_used_count_within_limit",
		`UPDATE voucher SET used_count = -1`:              "voucher_used_count_not_negative",
		`UPDATE voucher_customer SET uses = 2`:            "voucher_customer_uses_within_limit",
		`UPDATE voucher_redemption SET status = 'STOLEN'`: "voucher_redemption_status_known",
		`DELETE FROM voucher_event`:                       "append-only",
		`INSERT INTO voucher_redemption SELECT customer_id, order_amount, discount_amount, epoch, sequence, created_at,
			expires_at, confirmed_at, released_at, voucher_code, order_id, status, release_reason FROM voucher_redemption`: "voucher_redemption_pkey",
	} {
		_, err := st.db.Exec(t.Context(), statement)
		require.ErrorContains(t, err, constraint, statement)
	}
	st.sums("FULL")
}
