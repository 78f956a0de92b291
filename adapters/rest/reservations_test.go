package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const day = 24 * time.Hour

// requireBody compares bytes: the order of the fields and the form of the times are part of what a repeat repeats.
func requireBody(t *testing.T, want string, got reply) {
	t.Helper()
	require.Equal(t, []byte(want), []byte(got.body))
}

func TestVoucherObject(t *testing.T) {
	a := newAPI(t)
	r := a.call(http.MethodPost, "/vouchers", `{"code":" sale ","discountAmount":1000,"totalLimit":10,
		"startsAt":"2026-01-31T10:00:00+01:00","endsAt":"2026-02-28T23:00:00.5Z"}`)
	require.Equal(t, 201, r.status, r.body)
	require.Equal(t, "/vouchers/SALE", r.header.Get("Location"))
	requireBody(t, `{"code":"SALE","discountAmount":1000,"minOrderAmount":0,"totalLimit":10,"perUserLimit":1,`+
		`"startsAt":"2026-01-31T09:00:00.000Z","endsAt":"2026-02-28T23:00:00.500Z","mode":"standard","usedCount":0,"paused":false,`+
		`"effectiveMode":"standard","createdAt":"2026-02-01T12:00:00.000Z","updatedAt":"2026-02-01T12:00:00.000Z"}`, r)
	require.Equal(t, r.body, a.get(r.header.Get("Location")).body)
	a.clock.Advance(1234567 * time.Microsecond)
	r = a.call(http.MethodPatch, "/vouchers/sale", `{"paused":true}`)
	require.Equal(t, "2026-02-01T12:00:01.234Z", r.field("updatedAt"))
	require.Equal(t, "2026-02-01T12:00:00.000Z", r.field("createdAt"))
	a.get("/vouchers/NONE").refused(404, "VOUCHER_NOT_FOUND", "", "")
}

// TestF28ReadAndWrittenBack: times that are read and sent back move by nothing.
func TestF28ReadAndWrittenBack(t *testing.T) {
	zone := time.Local
	time.Local = time.FixedZone("far west", -8*3600)
	t.Cleanup(func() { time.Local = zone })
	a := newAPI(t)
	first := a.call(http.MethodPost, "/vouchers", `{"code":"SALE","discountAmount":1,"totalLimit":1,
		"startsAt":"2026-03-29T01:59:59.9999+01:00","endsAt":"2026-10-25T02:30:00.001-08:00"}`).body
	for range 10 {
		v := a.get("/vouchers/SALE")
		r := a.call(http.MethodPatch, "/vouchers/SALE", fmt.Sprintf(`{"startsAt":%q,"endsAt":%q}`, v.field("startsAt"), v.field("endsAt")))
		require.Equal(t, 200, r.status, r.body)
		require.Equal(t, first, r.body)
	}
}

func TestReservationsLife(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", `,"totalLimit":2`)
	path := "/vouchers/SALE/reservations/o"
	r := a.reserve("sale", order("7", "o"))
	require.Equal(t, 201, r.status, r.body)
	requireBody(t, `{"orderId":"o","discountAmount":1000,"expiresAt":"2026-02-01T12:15:00.000Z"}`, r)
	require.Equal(t, path, r.header.Get("Location"))
	tag := r.header.Get("ETag")
	require.Regexp(t, `^"\d+-\d+"$`, tag)
	got := a.get(path)
	requireBody(t, `{"orderId":"o","customerId":7,"status":"RESERVED","orderAmount":5000,"discountAmount":1000,`+
		`"createdAt":"2026-02-01T12:00:00.000Z","expiresAt":"2026-02-01T12:15:00.000Z","persisted":true}`, got)
	require.Equal(t, tag, got.header.Get("ETag"))
	a.clock.Advance(time.Second)
	for range 2 {
		c := a.call(http.MethodPost, path+"/confirm", "")
		require.Equal(t, 200, c.status)
		requireBody(t, `{"orderId":"o","status":"CONFIRMED","discountAmount":1000}`, c)
	}
	got = a.get(path)
	require.Equal(t, "2026-02-01T12:00:01.000Z", got.field("confirmedAt"))
	require.Equal(t, tag, got.header.Get("ETag"), "a confirm doesn't change the version")
	a.clock.Advance(400 * day) // ended, and still the same again
	again := a.reserve("SALE", order("7", "o"))
	require.Equal(t, r.body, again.body)
	require.Equal(t, []any{201, tag}, []any{again.status, again.header.Get("ETag")})
	a.call(http.MethodDelete, path, "").refused(409, "ALREADY_CONFIRMED", "", "")
	for _, p := range []string{path, path + "/confirm"} {
		method := map[bool]string{true: http.MethodPost, false: http.MethodDelete}[strings.HasSuffix(p, "confirm")]
		a.call(method, strings.Replace(p, "SALE", "NONE", 1), "").refused(404, "VOUCHER_NOT_FOUND", "", "")
		a.call(method, strings.Replace(p, "/o", "/x", 1), "").refused(404, "RESERVATION_NOT_FOUND", "", "")
	}
	a.get("/vouchers/NONE/reservations/o").refused(404, "VOUCHER_NOT_FOUND", "", "")
	a.get("/vouchers/SALE/reservations/x").refused(404, "RESERVATION_NOT_FOUND", "", "")
}

func TestReservationsEnd(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", `,"perUserLimit":5`)
	require.Equal(t, 201, a.reserve("SALE", order("1", "gone")).status)
	for range 2 {
		r := a.call(http.MethodDelete, "/vouchers/SALE/reservations/gone", "")
		require.Equal(t, 204, r.status)
		require.Empty(t, r.body)
		require.Empty(t, r.header.Get("Content-Type"))
	}
	a.call(http.MethodPost, "/vouchers/SALE/reservations/gone/confirm", "").refused(409, "RESERVATION_RELEASED", "", "CANCELLED")
	require.Equal(t, 201, a.reserve("SALE", order("1", "late")).status)
	a.clock.Advance(ttl)
	got := a.get("/vouchers/SALE/reservations/late")
	require.Equal(t, []any{"RELEASED", "EXPIRED", "2026-02-01T12:15:00.000Z"},
		[]any{got.field("status"), got.field("releaseReason"), got.field("releasedAt")})
	a.call(http.MethodPost, "/vouchers/SALE/reservations/late/confirm", "").refused(409, "RESERVATION_RELEASED", "", "EXPIRED")
	require.Equal(t, 204, a.call(http.MethodDelete, "/vouchers/SALE/reservations/late", "").status)
}

func TestReserveIsRefused(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", `,"totalLimit":2,"minOrderAmount":5000`)
	a.voucher("OTHER", "")
	require.Equal(t, 201, a.reserve("SALE", order("1", "a")).status)
	a.reserve("NONE", order("1", "a")).refused(404, "VOUCHER_NOT_FOUND", "", "")
	a.reserve("SALE", order("2", "a")).refused(409, "ORDER_CONFLICT", "", "")
	a.reserve("OTHER", order("1", "a")).refused(409, "ORDER_CONFLICT", "", "")
	a.reserve("SALE", `{"customerId":2,"orderId":"b","orderAmount":4999}`).refused(422, "NOT_ELIGIBLE", "", "BELOW_MINIMUM")
	a.reserve("SALE", order("1", "b")).refused(409, "ALREADY_USED", "", "")
	require.Equal(t, 201, a.reserve("SALE", order("2", "b")).status)
	a.reserve("SALE", order("3", "c")).refused(409, "OUT_OF_STOCK", "", "")
	a.call(http.MethodPatch, "/vouchers/SALE", `{"totalLimit":1}`).refused(409, "LIMIT_BELOW_USED", "", "")
	require.Equal(t, 200, a.call(http.MethodPatch, "/vouchers/SALE", `{"paused":true}`).status)
	a.reserve("SALE", order("3", "c")).refused(422, "NOT_ELIGIBLE", "", "PAUSED")
	require.Equal(t, 200, a.call(http.MethodPatch, "/vouchers/SALE", `{"paused":false,"startsAt":"2026-02-02T00:00:00Z"}`).status)
	a.reserve("SALE", order("3", "c")).refused(422, "NOT_ELIGIBLE", "", "NOT_STARTED")
	a.clock.Advance(400 * day)
	a.reserve("SALE", order("3", "c")).refused(422, "NOT_ELIGIBLE", "", "ENDED")
}

// TestF30DiscountAboveThePrice: the order's amount bounds what it is granted.
func TestF30DiscountAboveThePrice(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", `,"discountAmount":5000`)
	r := a.reserve("SALE", `{"customerId":1,"orderId":"o","orderAmount":3000}`)
	require.Equal(t, 201, r.status)
	require.Equal(t, "3000", fmt.Sprint(r.field("discountAmount")))
}

func TestIfMatch(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", `,"perUserLimit":10`)
	path := "/vouchers/SALE/reservations/o"
	tag := a.reserve("SALE", order("1", "o")).header.Get("ETag")
	require.Equal(t, 204, a.call(http.MethodDelete, path, "", "If-Match", tag).status)
	newer := a.reserve("SALE", order("1", "o")).header.Get("ETag")
	require.NotEqual(t, tag, newer)
	calls := []struct{ method, path string }{{http.MethodDelete, path}, {http.MethodPost, path + "/confirm"}}
	for _, c := range calls {
		for _, v := range []string{
			tag, "W/" + newer, `"x"`, `""`, `"1-2-3"`, strings.Replace(newer, "-", "-0", 1), strings.Replace(newer, `"`, `"+`, 1), `"` + strings.Repeat("9", 99) + `-1"`,
			`"*"`, `"é"`, tag + ` , "x",, W/` + newer + ",",
		} {
			a.call(c.method, c.path, "", "If-Match", v).refused(412, "PRECONDITION_FAILED", "", "")
		}
		for _, v := range []string{
			"", " ", ",", "*,*", "*, " + newer, newer + ", *", strings.Trim(newer, `"`), `"`, newer + newer, newer + " x", "w/" + newer, "W/", "W/*", `"a b"`, `"a` + "\x7f" + `"`,
			strings.Repeat(`"x",`, 65), newer + ";", "**",
		} {
			a.call(c.method, c.path, "", "If-Match", v).refused(400, "INVALID_REQUEST", "If-Match", "")
		}
		a.call(c.method, strings.Replace(c.path, "/o", "/x", 1), "", "If-Match", newer).refused(404, "RESERVATION_NOT_FOUND", "", "")
		a.call(c.method, strings.Replace(c.path, "/o", "/x", 1), "", "If-Match", "*").refused(404, "RESERVATION_NOT_FOUND", "", "")
		a.call(c.method, strings.Replace(c.path, "SALE", "NONE", 1), "", "If-Match", `"x"`).refused(404, "VOUCHER_NOT_FOUND", "", "")
		a.call(c.method, strings.Replace(c.path, "SALE", "-", 1), "", "If-Match", `x`).refused(400, "INVALID_REQUEST", "code", "")
	}
	confirm := func(headers ...string) int { return a.call(http.MethodPost, path+"/confirm", "", headers...).status }
	require.Equal(t, 200, confirm("If-Match", `"x" , `+newer))
	require.Equal(t, 200, confirm("If-Match", `"x"`, "If-Match", newer), "several lines are one list")
	require.Equal(t, 200, confirm("If-Match", " * "))
	require.Equal(t, 200, confirm())
}
