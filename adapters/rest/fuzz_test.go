package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode sends any body to each call that reads one: never a 5xx, and every refusal is a whole one.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		"", "null", "[]", "{}", `{"a":1}`, order("1", "o"), order("1.0", "o"), order("1", "o") + "x", `{"customerId":1,"customerId":1}`,
		`{"code":"A","discountAmount":1,"totalLimit":1,"startsAt":"2026-01-01T00:00:00Z","endsAt":"2027-01-01T00:00:00Z"}`,
		`{"code":"\ud800","mode":"standard"}`, `{"paused":true,"mode":"flash-sync","endsAt":"9999-12-31T23:59:59-23:59"}`,
		`{"totalLimit":2147483647,"minOrderAmount":9007199254740991}`, "\xff", strings.Repeat("[", 10_001), `{"\u0000":{}}`,
	} {
		for call := range uint8(3) {
			f.Add(call, body)
		}
	}
	calls := []struct{ method, path string }{
		{http.MethodPost, "/vouchers"}, {http.MethodPatch, "/vouchers/SALE"}, {http.MethodPost, "/vouchers/SALE/reservations"},
	}
	a := newAPI(f)
	a.voucher("SALE", "")
	f.Fuzz(func(t *testing.T, call uint8, body string) {
		c := calls[int(call)%len(calls)]
		a.t = t
		got := a.json(c.method, c.path, body) // which holds the body against the document
		require.Less(t, got.status, 500, got.body)
		if got.status == 400 {
			require.NotEmpty(t, got.field("field"), got.body)
		}
	})
}
