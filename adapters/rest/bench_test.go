package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"voucherd/adapters/rest"
	"voucherd/domain/voucher"
)

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkReserve is what this layer adds to a reserve: routing, token, decoding and answering.
func BenchmarkReserve(b *testing.B) {
	v := voucher.RestoreReservation(voucher.Record{Code: "SALE", Order: "o"})
	a := newAPI(b, withTokens, func(d *rest.Deps) {
		d.Observe = nil
		d.Reservations = finds{find: func(context.Context) (voucher.Reservation, error) { return v, nil }}
	})
	body := strings.NewReader(order("1", "o"))
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/vouchers/SALE/reservations", body)
	r.Header.Set("Content-Type", jsonBody)
	r.Header.Set("Authorization", "Bearer checkoutcheckout")
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		clear(w.header)
		a.handler.ServeHTTP(w, r)
	}
}
