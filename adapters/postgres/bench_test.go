package postgres_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// BenchmarkReserve decides batches of new orders, one after the other on one voucher: the cost of the truth.
func BenchmarkReserve(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			db := open(b, env.Database(b, migrate))
			newVoucher(b, db, "SALE", voucher.MaxLimit, 1)
			n := 0
			for b.Loop() {
				reqs := make([]voucher.Request, size)
				for i := range reqs {
					n++
					reqs[i] = request(voucher.CustomerID(n), voucher.OrderID(fmt.Sprintf("order-%06d", n)))
				}
				_, err := reserve(b.Context(), db, "SALE", nothing, reqs...)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "reserves/s")
		})
	}
}

// BenchmarkRowSize tells how many bytes a reservation takes, with all its indexes, and its count and history beside.
func BenchmarkRowSize(b *testing.B) {
	for name, id := range map[string]func(n int) string{
		"rising": func(n int) string { return fmt.Sprintf("order-%06d", n) },
		"random": func(int) string { return rand.Text()[:12] },
		"uuid":   func(int) string { return rand.Text() + rand.Text()[:10] },
	} {
		b.Run("ids="+name, func(b *testing.B) {
			const rows, size = 100_096, 256
			url := env.Database(b, migrate)
			db := open(b, url)
			newVoucher(b, db, "SALE-2026", voucher.MaxLimit, 1)
			for n := 0; n < rows; n += size {
				reqs := make([]voucher.Request, size)
				for i := range reqs {
					reqs[i] = request(voucher.CustomerID(n+i+1), voucher.OrderID(id(n+i)))
				}
				_, err := reserve(b.Context(), db, "SALE-2026", nothing, reqs...)
				require.NoError(b, err)
			}
			other := raw(b, url)
			for _, table := range []string{"voucher_redemption", "voucher_customer", "voucher_event"} {
				var heap, all float64
				require.NoError(b, other.QueryRowContext(b.Context(), `SELECT pg_relation_size($1::regclass), pg_relation_size($1::regclass) + pg_indexes_size($1::regclass)`, table).Scan(&heap, &all))
				b.ReportMetric(heap/rows, table+"-heap-B/row")
				b.ReportMetric(all/rows, table+"-B/row")
			}
		})
	}
}
