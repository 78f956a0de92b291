package contract_test

import (
	"context"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/domain/voucher"
	"voucherd/test/contract"
	"voucherd/test/env"
)

func TestGateRedis(t *testing.T) {
	contract.Gate(t, redisGates(env.RedisAddrs(t)...))
}

func TestGateRedisCluster(t *testing.T) {
	contract.Gate(t, redisGates(env.StartRedisCluster(t).Addrs()...))
}

// TestGateRedisScriptFlush: whatever a server forgets of its scripts, at any moment, no call fails for it.
func TestGateRedisScriptFlush(t *testing.T) {
	addr := env.StartRedis(t, nil).Addr()
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				if err := c.ScriptFlush(context.Background()).Err(); err != nil {
					t.Errorf("SCRIPT FLUSH: %v", err)
					return
				}
			}
		}
	}()
	t.Cleanup(func() { // after the cases, which run in parallel
		close(stop)
		<-done
		require.NoError(t, c.Close())
	})
	contract.Gate(t, redisGates(addr))
}

// redisGates opens the gates of a server or a cluster. Redis measures time by its own clock, which nobody can set, so
// time passes by moving what the gate has noted into the past: when it was closed, when its lease ends, since when orders
// are pending.
func redisGates(addrs ...string) contract.OpenGates {
	return func(t testing.TB) contract.Gates {
		t.Helper()
		g, err := redis.Open(redis.Config{Addrs: addrs})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, g.Disconnect()) })
		h := hand{t: t, c: goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: addrs})}
		t.Cleanup(func() { require.NoError(t, h.c.Close()) })
		damage := map[string]func(voucher.Code){}
		for _, part := range []string{"remaining", "users", "orders", "pending", "meta"} {
			damage[part] = func(code voucher.Code) { h.del(code, part) }
		}
		return contract.Gates{
			Gate: g, GateWatch: g, GateKeeper: g, GateLoader: g, Damage: damage, Pass: h.pass,
			Lose:    func(code voucher.Code) { h.del(code, "remaining", "users", "orders", "meta", "pending") },
			Replace: h.replace,
		}
	}
}

// hand reaches past the adapter, into the keys as they are published.
type hand struct {
	t testing.TB
	c goredis.UniversalClient
}

func key(code voucher.Code, part string) string { return "voucher:{" + string(code) + "}:" + part }

func (h hand) del(code voucher.Code, parts ...string) {
	h.t.Helper()
	for _, part := range parts {
		require.NoError(h.t, h.c.Del(h.t.Context(), key(code, part)).Err())
	}
}

func (h hand) replace(code voucher.Code) {
	h.t.Helper()
	ctx, meta := h.t.Context(), key(code, "meta")
	if h.c.Exists(ctx, meta).Val() == 0 {
		return
	}
	// As after a failback: the same run id, another replication id.
	server, err := h.c.HGet(ctx, meta, "server").Result()
	require.NoError(h.t, err)
	run, _, _ := strings.Cut(server, "-")
	require.NoError(h.t, h.c.HSet(ctx, meta, "server", run+"-"+strings.Repeat("0", 40)).Err())
}

func (h hand) pass(code voucher.Code, d time.Duration) {
	h.t.Helper()
	const script = `
		for _, field in ipairs({'closed', 'lease'}) do
			local at = redis.call('HGET', KEYS[1], field)
			if at then redis.call('HSET', KEYS[1], field, string.format('%.0f', math.max(0, tonumber(at) - tonumber(ARGV[1])))) end
		end
		for _, order in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do redis.call('ZINCRBY', KEYS[2], -tonumber(ARGV[1]), order) end`
	err := h.c.Eval(h.t.Context(), script, []string{key(code, "meta"), key(code, "pending")}, d.Microseconds()).Err()
	if err != nil {
		require.ErrorIs(h.t, err, goredis.Nil)
	}
}
