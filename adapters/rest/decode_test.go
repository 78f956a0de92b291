package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const maxAmount = "9007199254740991"

// TestF25F26ReserveBody walks the body of a reserve: each fault with the field that it must be told under.
func TestF25F26ReserveBody(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", "")
	for _, c := range []struct{ body, field string }{
		// no JSON object
		{"", "body"}, {" ", "body"}, {"null", "body"}, {"[]", "body"}, {`"x"`, "body"}, {"1", "body"}, {"{", "body"},
		{`{"customerId":1,}`, "body"}, {`{"customerId":01}`, "body"}, {`{'customerId':1}`, "body"}, {`{customerId:1}`, "body"},
		{order("1", "o") + "x", "body"}, {order("1", "o") + "{}", "body"}, {order("1", "o") + " null", "body"},
		{"\xef\xbb\xbf" + order("1", "o"), "body"}, {order("1", "o\xff"), "body"}, {order("1", `\ud800`), "body"},
		{order("1", "a\nb"), "body"}, {`{"customerId":NaN}`, "body"}, {`{"customerId":+1}`, "body"}, {`{"customerId":.5}`, "body"},
		{order("1", "o") + "\x00", "body"}, {`{"a":` + strings.Repeat("[", 9000), "body"}, {"// x\n" + order("1", "o"), "body"},
		// missing
		{`{}`, "customerId"},
		{`{"orderId":"o","orderAmount":1}`, "customerId"},
		{`{"customerId":1,"orderAmount":1}`, "orderId"},
		{`{"customerId":1,"orderId":"o"}`, "orderAmount"},
		// customerId
		{order(`null`, "o"), "customerId"}, {order(`""`, "o"), "customerId"}, {order(`"  "`, "o"), "customerId"},
		{order(`0`, "o"), "customerId"}, {order(`-1`, "o"), "customerId"}, {order(`"1"`, "o"), "customerId"},
		{order(`1.0`, "o"), "customerId"}, {order(`1e3`, "o"), "customerId"}, {order(`1E3`, "o"), "customerId"}, {order(`-0`, "o"), "customerId"},
		{order(`true`, "o"), "customerId"}, {order(`[1]`, "o"), "customerId"}, {order(`{"a":1,"a":2}`, "o"), "customerId"},
		{order(`9223372036854775808`, "o"), "customerId"}, {order(`1`+strings.Repeat("0", 400), "o"), "customerId"},
		// orderId
		{order("1", ""), "orderId"}, {order("1", "-a"), "orderId"}, {order("1", "a b"), "orderId"}, {order("1", " a"), "orderId"},
		{order("1", "é"), "orderId"}, {order("1", `a\u0000`), "orderId"}, {order("1", strings.Repeat("a", 65)), "orderId"},
		{`{"customerId":1,"orderId":7,"orderAmount":1}`, "orderId"}, {`{"customerId":1,"orderId":null,"orderAmount":1}`, "orderId"},
		// orderAmount (F30)
		{`{"customerId":1,"orderId":"o","orderAmount":0}`, "orderAmount"}, {`{"customerId":1,"orderId":"o","orderAmount":-1}`, "orderAmount"},
		{`{"customerId":1,"orderId":"o","orderAmount":10.5}`, "orderAmount"}, {`{"customerId":1,"orderId":"o","orderAmount":"10"}`, "orderAmount"},
		{`{"customerId":1,"orderId":"o","orderAmount":9007199254740992}`, "orderAmount"},
		// unknown, repeated, differently cased
		{`{"customerId":1,"orderId":"o","orderAmount":1,"note":null}`, "note"},
		{`{"x":1,"y":2,"customerId":1,"orderId":"o","orderAmount":1}`, "x"},
		{`{"customerId":1,"orderId":"o","orderAmount":1,"OrderId":"o"}`, "OrderId"},
		{`{"CustomerID":1,"customerId":1,"orderId":"o","orderAmount":1}`, "CustomerID"},
		{`{"customerId":1,"orderId":"o","orderAmount":1,"customerId":1}`, "customerId"},
		{`{"customerId":1,"orderId":"o","orderId":"o","orderId":"o","orderAmount":1}`, "orderId"},
		{`{"customerId":1,"orderId":"o","orderAmount":1,"orderAm\u006funt":1}`, "orderAmount"},
		{`{"":1,"customerId":1,"orderId":"o","orderAmount":1}`, "body"},
		{`{"a\u0000b\u202e":1,"customerId":1,"orderId":"o","orderAmount":1}`, "a?b?"},
		{`{"` + strings.Repeat("é", 300) + `":1,"customerId":1,"orderId":"o","orderAmount":1}`, strings.Repeat("é", 63) + "…"},
		// the order of the table, not of the body; known fields before unknown ones
		{`{"orderAmount":0,"orderId":"","customerId":0}`, "customerId"},
		{`{"orderAmount":"x","orderId":"-","customerId":1}`, "orderId"},
		{`{"note":1,"customerId":1,"orderId":"o","orderAmount":0}`, "orderAmount"},
		{`{"orderid":"o","customerId":1,"orderAmount":1}`, "orderId"},
	} {
		a.json(http.MethodPost, "/vouchers/SALE/reservations", c.body).refused(400, "INVALID_REQUEST", c.field, "")
	}
	require.Equal(t, "0", fmt.Sprint(a.get("/vouchers/SALE").field("usedCount")), "a refusal took a use")
}

func TestReserveBodyTakesEverySoundSpelling(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", `,"totalLimit":2147483647,"perUserLimit":2147483647`)
	for i, body := range []string{
		"\t\r\n " + order("1", "a") + " \n",
		order("9223372036854775807", strings.Repeat("a", 64)),
		`{"customerId":1,"orderId":"A.z_0:-","orderAmount":` + maxAmount + `}`,
		`{"orderAmount":1,"order\u0049d":"\u0061b","customerId":1}`,
	} {
		r := a.reserve("SALE", body)
		require.Equal(t, 201, r.status, "%d: %s", i, r.body)
	}
	require.Equal(t, "RESERVED", a.get("/vouchers/SALE/reservations/ab").field("status"))
}

// TestF30CreateBody walks the body of a new voucher.
func TestF30CreateBody(t *testing.T) {
	a := newAPI(t)
	base := map[string]string{
		"code": `"NEW"`, "discountAmount": "1", "minOrderAmount": "0", "totalLimit": "1", "perUserLimit": "1",
		"startsAt": `"2026-01-01T00:00:00Z"`, "endsAt": `"2026-01-02T00:00:00Z"`, "mode": `"standard"`,
	}
	with := func(changes ...string) string {
		m := map[string]string{}
		for k, v := range base {
			m[k] = v
		}
		for i := 0; i < len(changes); i += 2 {
			m[changes[i]] = changes[i+1]
			if changes[i+1] == "" {
				delete(m, changes[i])
			}
		}
		var parts []string
		for k, v := range m { // in any order: it must not matter
			parts = append(parts, `"`+k+`":`+v)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for _, c := range []struct{ body, field string }{
		{with("code", ""), "code"}, {with("code", "null"), "code"}, {with("code", "1"), "code"}, {with("code", `""`), "code"},
		{with("code", `"a{b}"`), "code"}, {with("code", `"-A"`), "code"}, {with("code", `"`+strings.Repeat("A", 33)+`"`), "code"},
		{with("code", `"ı"`), "code"},
		{with("discountAmount", ""), "discountAmount"}, {with("discountAmount", "0"), "discountAmount"}, {with("discountAmount", "-1"), "discountAmount"},
		{with("discountAmount", "10.5"), "discountAmount"}, {with("discountAmount", "1e3"), "discountAmount"}, {with("discountAmount", `"10"`), "discountAmount"},
		{with("discountAmount", "9007199254740992"), "discountAmount"},
		{with("minOrderAmount", "-1"), "minOrderAmount"}, {with("minOrderAmount", "null"), "minOrderAmount"}, {with("minOrderAmount", "-0"), "minOrderAmount"},
		{with("totalLimit", ""), "totalLimit"}, {with("totalLimit", "0"), "totalLimit"}, {with("totalLimit", "2147483648"), "totalLimit"},
		{with("perUserLimit", "0"), "perUserLimit"}, {with("perUserLimit", "2147483648"), "perUserLimit"}, {with("perUserLimit", "null"), "perUserLimit"},
		{with("startsAt", ""), "startsAt"}, {with("endsAt", ""), "endsAt"}, {with("startsAt", "0"), "startsAt"},
		{with("endsAt", `"2026-01-01T00:00:00Z"`), "endsAt"}, {with("endsAt", `"2025-01-01T00:00:00Z"`), "endsAt"},
		{with("endsAt", `"2026-01-01T00:00:00.0009Z"`), "endsAt"}, // the same millisecond
		{with("mode", `"flash"`), "mode"}, {with("mode", `""`), "mode"}, {with("mode", `"Standard"`), "mode"}, {with("mode", "null"), "mode"},
		{with("paused", "true"), "paused"}, {with("usedCount", "0"), "usedCount"}, {with("Code", `"X"`), "Code"},
		{with("mode", `"x"`, "endsAt", `"2025-01-01T00:00:00Z"`), "endsAt"}, {with("mode", `"x"`, "code", `""`), "code"},
	} {
		a.call(http.MethodPost, "/vouchers", c.body).refused(400, "INVALID_REQUEST", c.field, "")
	}
	a.call(http.MethodPost, "/vouchers", with("mode", `"flash-sync"`)).refused(409, "MODE_UNAVAILABLE", "", "")
	require.Equal(t, 201, a.call(http.MethodPost, "/vouchers", with()).status)
	a.call(http.MethodPost, "/vouchers", with("code", `" new "`)).refused(409, "VOUCHER_EXISTS", "", "")
	largest := a.call(http.MethodPost, "/vouchers", with("code", `"BIG"`, "discountAmount", maxAmount, "minOrderAmount", maxAmount,
		"totalLimit", "2147483647", "perUserLimit", "2147483647"))
	require.Equal(t, 201, largest.status, largest.body)
	require.Equal(t, maxAmount, fmt.Sprint(largest.field("minOrderAmount")))
}

func TestTimes(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", "")
	start := func(s string) reply {
		return a.call(http.MethodPatch, "/vouchers/SALE", `{"startsAt":"`+s+`"}`)
	}
	for _, s := range []string{
		"", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01t00:00:00Z", "2026-01-01T00:00:00z",
		"2026-01-01T0:00:00Z", "2026-01-01T00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T23:59:60Z", "2026-01-01T00:00:00,5Z",
		"2026-01-01T00:00:00.Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-1-1T00:00:00Z", "2026-01-01T00:00:00+0100",
		"2026-01-01T00:00:00+01", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60", "+2026-01-01T00:00:00Z", "12026-01-01T00:00:00Z",
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z ", "tomorrow", "1767225600",
		"2026-01-01T00:00:00 Z", "2026-01-01T00:00:00UTC",
	} {
		start(s).refused(400, "INVALID_REQUEST", "startsAt", "")
	}
	a.call(http.MethodPatch, "/vouchers/SALE", `{"endsAt":"9999-12-31T23:59:59-01:00"}`).refused(400, "INVALID_REQUEST", "endsAt", "")
	for s, want := range map[string]string{
		"2026-01-01T00:00:00Z":            "2026-01-01T00:00:00.000Z",
		"2026-01-01T01:30:00+01:30":       "2026-01-01T00:00:00.000Z",
		"2025-12-31T16:00:00-08:00":       "2026-01-01T00:00:00.000Z",
		"2026-01-01T00:00:00.1Z":          "2026-01-01T00:00:00.100Z",
		"2026-01-01T00:00:00.1239999Z":    "2026-01-01T00:00:00.123Z",
		"2026-01-01T00:00:00.1234567891Z": "2026-01-01T00:00:00.123Z",
		"0001-01-01T00:00:00Z":            "0001-01-01T00:00:00.000Z",
		"2024-02-29T00:00:00-00:00":       "2024-02-29T00:00:00.000Z",
	} {
		r := start(s)
		require.Equal(t, 200, r.status, "%s: %s", s, r.body)
		require.Equal(t, want, r.field("startsAt"), s)
	}
}

func TestPatchBody(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", "")
	patch := func(body string) reply { return a.call(http.MethodPatch, "/vouchers/SALE", body) }
	before := a.get("/vouchers/SALE").body
	for _, c := range []struct{ body, field string }{
		{`null`, "body"}, {`[]`, "body"}, {``, "body"},
		{`{"code":"X"}`, "code"}, {`{"usedCount":0}`, "usedCount"}, {`{"Paused":true}`, "Paused"},
		{`{"discountAmount":null}`, "discountAmount"}, {`{"discountAmount":0}`, "discountAmount"}, {`{"minOrderAmount":-1}`, "minOrderAmount"},
		{`{"totalLimit":0}`, "totalLimit"}, {`{"perUserLimit":0}`, "perUserLimit"}, {`{"startsAt":null}`, "startsAt"}, {`{"endsAt":5}`, "endsAt"},
		{`{"paused":1}`, "paused"}, {`{"paused":"true"}`, "paused"}, {`{"paused":null}`, "paused"}, {`{"paused":true,"paused":true}`, "paused"},
		{`{"mode":"x"}`, "mode"}, {`{"mode":null}`, "mode"},
		{`{"mode":"x","paused":1,"totalLimit":0}`, "totalLimit"},
		{`{"startsAt":"2026-01-02T00:00:00Z","endsAt":"2026-01-02T00:00:00Z"}`, "endsAt"},
		{`{"startsAt":"2028-01-01T00:00:00Z"}`, "startsAt"}, {`{"endsAt":"2025-01-01T00:00:00Z"}`, "endsAt"},
		{`{"discountAmount":7,"startsAt":"2028-01-01T00:00:00Z"}`, "startsAt"},
	} {
		a.json(http.MethodPatch, "/vouchers/SALE", c.body).refused(400, "INVALID_REQUEST", c.field, "")
	}
	patch(`{"mode":"flash-async"}`).refused(409, "MODE_UNAVAILABLE", "", "")
	require.Equal(t, before, a.get("/vouchers/SALE").body)
	require.Equal(t, before, patch(`{}`).body)
	r := patch(`{"mode":"standard","paused":true,"endsAt":"2028-01-01T00:00:00Z","startsAt":"2025-01-01T00:00:00Z","perUserLimit":3,"totalLimit":20,"minOrderAmount":5,"discountAmount":9}`)
	require.Equal(t, 200, r.status, r.body)
	require.Equal(t, a.get("/vouchers/SALE").body, r.body)
	require.Equal(t, true, r.field("paused"))
	// Shape is judged before the voucher is looked for, also the window when both its ends are there.
	a.call(http.MethodPatch, "/vouchers/NONE", `{"totalLimit":0}`).refused(400, "INVALID_REQUEST", "totalLimit", "")
	a.call(http.MethodPatch, "/vouchers/NONE", `{"startsAt":"2026-01-02T00:00:00Z","endsAt":"2026-01-01T00:00:00Z"}`).refused(400, "INVALID_REQUEST", "endsAt", "")
	a.call(http.MethodPatch, "/vouchers/NONE", `{}`).refused(404, "VOUCHER_NOT_FOUND", "", "")
	a.voucher("PINNED", "")
	a.call(http.MethodPatch, "/vouchers/PINNED", `{"mode":"standard"}`).refused(409, "MODE_SET_BY_CONFIG", "", "")
}

func TestSizeAndType(t *testing.T) {
	a := newAPI(t)
	a.voucher("SALE", "")
	post := func(path, body string, declared bool, headers ...string) reply {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
		if !declared {
			r.ContentLength = -1
		}
		addHeaders(r, headers)
		return a.send(r)
	}
	const path = "/vouchers/SALE/reservations"
	full := order("1", "full") + strings.Repeat(" ", 16<<10-len(order("1", "full")))
	for _, declared := range []bool{true, false} {
		require.Equal(t, 201, post(path, full, declared, "Content-Type", jsonBody).status)
		for _, headers := range [][]string{{"Content-Type", jsonBody}, nil} { // size before type, and before shape
			r := post(path, full+" ", declared, headers...)
			r.refused(413, "BODY_TOO_LARGE", "", "")
			require.Equal(t, "close", r.header.Get("Connection"))
		}
	}
	post("/vouchers/S%20/reservations", full+" ", true).refused(413, "BODY_TOO_LARGE", "", "")
	post("/vouchers/S+/reservations", full+" ", true).refused(400, "INVALID_REQUEST", "code", "") // path before size
	for _, headers := range [][]string{
		nil, {"Content-Type", ""}, {"Content-Type", "text/plain"}, {"Content-Type", "application/x-www-form-urlencoded"},
		{"Content-Type", "application/problem+json"}, {"Content-Type", "application/json; charset=latin1"}, {"Content-Type", "application/json, text/plain"},
		{"Content-Type", "application/json;;charset"}, {"Content-Type", jsonBody, "Content-Type", jsonBody},
		{"Content-Type", jsonBody, "Content-Encoding", "gzip"},
	} {
		post(path, "null", true, headers...).refused(415, "UNSUPPORTED_MEDIA_TYPE", "", "")
		post(path, "", true, headers...).refused(415, "UNSUPPORTED_MEDIA_TYPE", "", "")
	}
	for _, headers := range [][]string{
		{"Content-Type", "application/json; charset=utf-8"}, {"Content-Type", "Application/JSON;charset=\"UTF-8\""},
		{"Content-Type", "application/json; v=1"}, {"Content-Type", jsonBody, "Content-Encoding", "identity"},
	} {
		require.Equal(t, 201, post(path, full, true, headers...).status, headers)
	}
	// Calls without a body ignore one.
	require.Equal(t, 200, post(path+"/full/confirm", "not json", true, "Content-Type", "text/plain").status)
	require.Equal(t, 200, post(path+"/full/confirm", "", true).status)
}
