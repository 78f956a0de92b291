package rest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// walk reads a list page by page and returns the named field of all items.
func walk(a *api, path, field string) []string {
	a.t.Helper()
	var all []string
	cursor := ""
	for range 100 {
		r := a.get(path + cursor)
		require.Equal(a.t, 200, r.status, r.body)
		items, ok := r.field("items").([]any)
		require.True(a.t, ok, r.body)
		for _, it := range items {
			m, ok := it.(map[string]any)
			require.True(a.t, ok)
			all = append(all, fmt.Sprint(m[field]))
		}
		next, ok := r.field("nextCursor").(string)
		if !ok {
			return all
		}
		require.NotEmpty(a.t, items)
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	require.Fail(a.t, "the list has no end")
	return nil
}

func TestListsAreWalkedWhole(t *testing.T) {
	a := newAPI(t)
	require.JSONEq(t, `{"items":[]}`, a.get("/vouchers").body)
	var codes, orders []string
	for i := range 7 {
		code := fmt.Sprintf("V%d", 6-i)
		codes = append([]string{code}, codes...)
		a.voucher(code, "")
	}
	require.JSONEq(t, `{"items":[]}`, a.get("/vouchers/V0/redemptions").body)
	for i := range 7 {
		id := fmt.Sprintf("o%d", i)
		orders = append([]string{id}, orders...)
		require.Equal(t, 201, a.reserve("V0", order(fmt.Sprint(i+1), id)).status)
	}
	for _, limit := range []string{"limit=1", "limit=2", "limit=6", "limit=7", "limit=8", "limit=200", "x=1"} {
		require.Equal(t, codes, walk(a, "/vouchers?"+limit, "code"), limit)
		require.Equal(t, orders, walk(a, "/vouchers/V0/redemptions?"+limit, "orderId"), limit)
	}
	for _, id := range []string{"o1", "o3"} {
		require.Equal(t, 200, a.call(http.MethodPost, "/vouchers/V0/reservations/"+id+"/confirm", "").status)
	}
	require.Equal(t, 204, a.call(http.MethodDelete, "/vouchers/V0/reservations/o5", "").status)
	require.Equal(t, []string{"o3", "o1"}, walk(a, "/vouchers/V0/redemptions?limit=1&status=CONFIRMED", "orderId"))
	require.Equal(t, []string{"o5"}, walk(a, "/vouchers/V0/redemptions?limit=1&status=RELEASED", "orderId"))
	require.Equal(t, []string{"o6", "o4", "o2", "o0"}, walk(a, "/vouchers/V0/redemptions?limit=3&status=RESERVED", "orderId"))
	a.clock.Advance(ttl) // the rest has expired, whether or not a job has run
	require.Empty(t, walk(a, "/vouchers/V0/redemptions?status=RESERVED", "orderId"))
	require.Equal(t, []string{"EXPIRED", "CANCELLED", "EXPIRED", "EXPIRED", "EXPIRED"},
		walk(a, "/vouchers/V0/redemptions?limit=2&status=RELEASED", "releaseReason"))
	one := a.get("/vouchers/V0/redemptions?limit=1").object()["items"]
	require.Equal(t, []any{a.get("/vouchers/V0/reservations/o6").object()}, one, "an item is what GET shows")
	a.get("/vouchers/NONE/redemptions").refused(404, "VOUCHER_NOT_FOUND", "", "")
}

func TestListsHaveAPageOfFiftyUnlessAsked(t *testing.T) {
	a := newAPI(t)
	for i := range 51 {
		a.voucher(fmt.Sprintf("V%d", i), "")
	}
	items, ok := a.get("/vouchers").field("items").([]any)
	require.True(t, ok)
	require.Len(t, items, 50)
}

func TestListParameters(t *testing.T) {
	a := newAPI(t)
	for _, code := range []string{"A", "B", "C"} {
		a.voucher(code, "")
		for i := range 3 {
			require.Equal(t, 201, a.reserve(code, order(fmt.Sprint(i+1), fmt.Sprintf("%s%d", code, i))).status)
		}
	}
	next := func(path string) string {
		s, ok := a.get(path).field("nextCursor").(string)
		require.True(t, ok)
		return s
	}
	bad := func(path, query, field string) {
		t.Helper()
		a.get(path+"?"+query).refused(400, "INVALID_REQUEST", field, "")
	}
	redemptions, vouchers := "/vouchers/A/redemptions", "/vouchers"
	for _, path := range []string{vouchers, redemptions} {
		for _, v := range []string{"", "0", "-1", "201", "abc", "1.0", "1e1", "+5", "%2B5", "05", "5%20", "%205", "0x5", "99999999999999999999", "5&limit=5", "null"} {
			bad(path, "limit="+v, "limit")
			bad(path, "cursor=x&limit="+v, "limit")
		}
		good := next(path + "?limit=1")
		for _, v := range []string{
			"", "x", "%00", "====", good + "=", good + "A", good[1:], good + "%0A", strings.Repeat("A", 201), good + "&cursor=" + good,
			base64.RawURLEncoding.EncodeToString([]byte("v1|a")), base64.RawURLEncoding.EncodeToString([]byte("v1|A|B")),
			base64.RawURLEncoding.EncodeToString([]byte("v2|A")), base64.RawURLEncoding.EncodeToString([]byte("r1|A||1|+1")),
			base64.RawURLEncoding.EncodeToString([]byte("r1|A||1|99999999999999999999")), base64.RawURLEncoding.EncodeToString([]byte("r1|A||1")),
			base64.RawURLEncoding.EncodeToString([]byte("v1|' OR 1=1")), base64.RawURLEncoding.EncodeToString([]byte("||||||||||")),
		} {
			bad(path, "cursor="+v, "cursor")
		}
		require.Equal(t, 200, a.get(path+"?cursor="+good+"&limit=200&whatever=1&whatever=2").status)
		bad(path, "limit=%zz", "query")
		bad(path, "limit=1;cursor=x", "query")
	}
	for _, v := range []string{"", "reserved", "EXPIRED", "RESERVED,CONFIRMED", "RESERVED&status=RESERVED", "%00"} {
		bad(redemptions, "limit=0&status="+v, "status")
	}
	bad(redemptions, "status=CONFIRMED&limit=0", "limit")
	// A cursor is for one list, voucher and status.
	ofVouchers, ofA := next(vouchers+"?limit=1"), next(redemptions+"?limit=1")
	ofReserved := next(redemptions + "?limit=1&status=RESERVED")
	bad(redemptions, "cursor="+ofVouchers, "cursor")
	bad(vouchers, "cursor="+ofA, "cursor")
	bad("/vouchers/B/redemptions", "cursor="+ofA, "cursor")
	bad(redemptions, "status=RESERVED&cursor="+ofA, "cursor")
	bad(redemptions, "status=CONFIRMED&cursor="+ofReserved, "cursor")
	bad(redemptions, "cursor="+ofReserved, "cursor")
	require.Equal(t, 200, a.get(redemptions+"?limit=3&status=RESERVED&cursor="+ofReserved).status)
	require.Equal(t, 200, a.get("/vouchers/%20a/redemptions?cursor="+ofA).status, "the same voucher, spelled otherwise")
	bad("/vouchers/NONE/redemptions", "cursor=x", "cursor") // shape before the look-up
	require.Equal(t, 200, a.get("/vouchers/A?limit=0&cursor=x").status, "a call without parameters ignores them")
}
