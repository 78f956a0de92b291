package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

const code = voucher.Code("SALE")

// t0 is the caller's time in all of these tests.
var t0 = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// standing is a voucher of so many uses, one for each customer.
func standing(total int64) port.Standing {
	return port.Standing{Change: 1, Terms: voucher.Terms{
		DiscountAmount: 1000, TotalLimit: total, PerUserLimit: 1, Mode: voucher.FlashSync,
		StartsAt: t0.Add(-time.Hour), EndsAt: t0.Add(time.Hour),
	}}
}

func request(n int) voucher.Request {
	return voucher.Request{
		Order: voucher.OrderID(fmt.Sprintf("order-%d", n)), Customer: voucher.CustomerID(n + 1), Amount: 5000, TTL: 15 * time.Minute,
	}
}

func batch(total int64, reqs ...voucher.Request) port.GateBatch {
	return port.GateBatch{Code: code, As: standing(total), Now: t0, Requests: reqs}
}

// gate opens the gates at the addresses; it is disconnected when the test ends.
func gate(t testing.TB, c redis.Config) *redis.Gate {
	t.Helper()
	g, err := redis.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Disconnect()) })
	return g
}

// client talks to one server past the adapter.
func client(t testing.TB, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// tryLoad is one load under the epoch, with nothing stored; it waits in real time.
func tryLoad(ctx context.Context, g *redis.Gate, epoch, total int64) error {
	seal, err := g.Close(ctx, code, epoch)
	if err != nil {
		return err
	}
	for {
		wait, err := g.Open(ctx, seal, port.Opening{Standing: standing(total), Mode: voucher.FlashSync, Remaining: total})
		if err != nil || wait == 0 {
			return err
		}
		time.Sleep(wait) // as long as the gate asked for, on the server's clock
	}
}

func load(t testing.TB, g *redis.Gate, epoch, total int64) {
	t.Helper()
	require.NoError(t, tryLoad(t.Context(), g, epoch, total))
}

// reserve takes a use and insists on it.
func reserve(t testing.TB, g *redis.Gate, n int) port.Hold {
	t.Helper()
	d, err := g.Reserve(t.Context(), batch(100, request(n)))
	require.NoError(t, err)
	require.Equal(t, port.GateReserved, d.Replies[0].Code)
	return d.Replies[0].Hold
}

func ref(h port.Hold) []port.GateRef { return []port.GateRef{{Order: h.Order, Version: h.Version}} }

func remaining(t testing.TB, g *redis.Gate) int64 {
	t.Helper()
	s, err := g.Summary(t.Context(), code)
	require.NoError(t, err)
	require.True(t, s.Open)
	return s.Remaining
}
