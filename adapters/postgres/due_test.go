package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// Somebody's hand wrote deadlines between two milliseconds: each is its own position, and the pages end.
func TestDuePagesPastUncutDeadlines(t *testing.T) {
	url := env.Database(t, migrate)
	db, sql := open(t, url), raw(t, url)
	newVoucher(t, db, "SALE", 10, 10)
	_, err := reserve(t.Context(), db, "SALE", nothing, request(1, "a"), request(1, "b"), request(1, "c"))
	require.NoError(t, err)
	exec(t, sql, `UPDATE voucher_redemption SET expires_at = timestamptz '2020-01-01 00:00:00.000700Z'
		- CASE order_id WHEN 'c' THEN interval '500 microseconds' ELSE interval '0' END`)
	var got []voucher.OrderID
	for after := (port.Due{}); ; {
		page, err := db.Due(t.Context(), time.Now(), after, 1)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		after = page[0]
		got = append(got, after.Order)
		require.LessOrEqual(t, len(got), 3, "none comes twice: %v", got)
	}
	require.Equal(t, []voucher.OrderID{"c", "a", "b"}, got)
}
