package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/memory"
	"voucherd/adapters/postgres"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

func migrate(ctx context.Context, url string) error {
	_, err := postgres.MigrateUp(ctx, url)
	return err
}

// open returns a pool on the database at url; change may alter its settings.
func open(t testing.TB, url string, change ...func(*postgres.Config)) *postgres.DB {
	t.Helper()
	cfg := postgres.Config{URL: url, MaxConnections: 4}
	for _, f := range change {
		f(&cfg)
	}
	db, err := postgres.Open(cfg, memory.SystemClock{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// newVoucher stores a voucher that takes reservations.
func newVoucher(t testing.TB, db *postgres.DB, code voucher.Code, total, perUser int64) {
	t.Helper()
	now := time.Now()
	v, err := voucher.New(code, voucher.Terms{
		DiscountAmount: 1000, TotalLimit: total, PerUserLimit: perUser, Mode: voucher.Standard,
		StartsAt: now.Add(-time.Hour), EndsAt: now.Add(time.Hour),
	}, now)
	require.NoError(t, err)
	require.NoError(t, db.Create(t.Context(), v, "test"))
}

func request(customer voucher.CustomerID, order voucher.OrderID) voucher.Request {
	return voucher.Request{Order: order, Customer: customer, Amount: 5000, TTL: 15 * time.Minute, Actor: "test"}
}

// reserve decides the requests in one transaction; before runs inside of it, each time it is tried.
func reserve(ctx context.Context, db *postgres.DB, code voucher.Code, before func(), reqs ...voucher.Request) ([]voucher.Outcome, error) {
	var out []voucher.Outcome
	step := port.Step{Code: code, Decide: func(s *voucher.State, now time.Time) {
		before()
		out = s.Reserve(reqs, now)
	}}
	for _, q := range reqs {
		step.Orders, step.Customers = append(step.Orders, q.Order), append(step.Customers, q.Customer)
	}
	err := db.Update(ctx, step)
	return out, err
}

func nothing() {}

// used is the voucher's used_count.
func used(t testing.TB, db *postgres.DB, code voucher.Code) int64 {
	t.Helper()
	vs, err := db.Vouchers(t.Context(), []voucher.Code{code})
	require.NoError(t, err)
	require.Len(t, vs, 1)
	return vs[0].Used()
}
