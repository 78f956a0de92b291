package redis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

func TestNobodyListens(t *testing.T) {
	server := env.StartRedis(t, nil)
	server.Stop()
	g := gate(t, redis.Config{Addrs: []string{server.Addr()}})
	_, err := g.Reserve(t.Context(), batch(1, request(1)))
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.NotErrorIs(t, err, port.ErrUnknown)
}

func TestFrozen(t *testing.T) {
	server := env.StartRedis(t, nil)
	g := gate(t, redis.Config{Addrs: []string{server.Addr()}, Timeout: 200 * time.Millisecond})
	load(t, g, 1, 100)
	server.Freeze()
	began := time.Now()
	_, err := g.Reserve(t.Context(), batch(100, request(1)))
	require.ErrorIs(t, err, port.ErrUnknown)
	require.Less(t, time.Since(began), time.Second)
	server.Thaw()
	d, err := g.Reserve(t.Context(), batch(100, request(1)))
	require.NoError(t, err)
	// What was sent to the frozen server it does now, before or after; the use is taken once.
	require.Contains(t, []port.GateCode{port.GateReserved, port.GateDuplicate}, d.Replies[0].Code)
	require.Equal(t, int64(99), remaining(t, g))
}

// TestRestarts: what comes back after a restart, nothing or an older state, is never taken for the gate.
func TestRestarts(t *testing.T) {
	server := env.StartRedis(t, nil)
	g := gate(t, redis.Config{Addrs: []string{server.Addr()}})
	load(t, g, 1, 100)
	reserve(t, g, 1)
	server.Restart()
	_, err := g.Reserve(t.Context(), batch(100, request(1)))
	require.ErrorIs(t, err, port.ErrNotLoaded, "empty")

	load(t, g, 2, 100)
	require.NoError(t, client(t, server.Addr()).Save(t.Context()).Err())
	h := reserve(t, g, 2)
	server.Restart()
	require.Equal(t, int64(1), client(t, server.Addr()).Exists(t.Context(), "voucher:{SALE}:meta").Val())
	_, err = g.Reserve(t.Context(), batch(100, request(2)))
	require.ErrorIs(t, err, port.ErrNotLoaded, "an older state")
	_, err = g.GiveBack(t.Context(), code, 2, ref(h), false)
	require.ErrorIs(t, err, port.ErrNotLoaded)
	load(t, g, 3, 100)
	require.Equal(t, int64(100), remaining(t, g))

	require.NoError(t, client(t, server.Addr()).FlushAll(t.Context()).Err())
	_, err = g.Reserve(t.Context(), batch(100, request(2)))
	require.ErrorIs(t, err, port.ErrNotLoaded, "flushed")
}

// TestFullMemory: a full server reserves nothing, changes nothing and takes everything back.
func TestFullMemory(t *testing.T) {
	server := env.StartRedis(t, nil)
	g, c := gate(t, redis.Config{Addrs: []string{server.Addr()}}), client(t, server.Addr())
	load(t, g, 1, 100)
	a, b := reserve(t, g, 1), reserve(t, g, 2)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())

	_, err := g.Reserve(t.Context(), batch(100, request(3)))
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.ErrorContains(t, err, "OOM")
	require.Equal(t, int64(98), remaining(t, g))
	held, err := g.Acknowledge(t.Context(), code, ref(a))
	require.NoError(t, err)
	require.Equal(t, []bool{true}, held)
	held, err = g.GiveBack(t.Context(), code, 1, ref(a), false)
	require.NoError(t, err)
	require.Equal(t, []bool{true}, held)
	held, err = g.GiveBack(t.Context(), code, 1, ref(b), true)
	require.NoError(t, err)
	require.Equal(t, []bool{true}, held)
	require.Equal(t, int64(100), remaining(t, g))
	paused := standing(100)
	paused.Change, paused.Terms.Paused = 2, true
	_, err = g.Tell(t.Context(), code, paused)
	require.NoError(t, err)
	_, err = g.Lower(t.Context(), code, paused, 50)
	require.NoError(t, err)
	seal, err := g.Close(t.Context(), code, 2)
	require.NoError(t, err)
	require.ErrorIs(t, g.Fill(t.Context(), seal, []port.Hold{a}), port.ErrUnavailable)
	_, err = g.Open(t.Context(), seal, port.Opening{Standing: standing(100), Mode: voucher.FlashSync, Remaining: 100})
	require.ErrorIs(t, err, port.ErrUnavailable)

	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	load(t, g, 2, 100)
	reserve(t, g, 3)
}

// TestEviction: a server that may throw keys away that carry no expiry is no place for a gate.
func TestEviction(t *testing.T) {
	server := env.StartRedis(t, nil)
	g, c := gate(t, redis.Config{Addrs: []string{server.Addr()}}), client(t, server.Addr())
	for i, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		require.NoError(t, c.ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
		err := tryLoad(t.Context(), g, int64(i+1), 1)
		require.ErrorIs(t, err, port.ErrUnfit)
		require.ErrorContains(t, err, policy)
		_, err = g.Reserve(t.Context(), batch(1, request(1)))
		require.ErrorIs(t, err, port.ErrNotLoaded)
	}
	for i, policy := range []string{"noeviction", "volatile-lru", "volatile-ttl", "volatile-random"} {
		require.NoError(t, c.ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
		load(t, g, int64(i+10), 1)
	}
	for _, key := range c.Keys(t.Context(), "*").Val() {
		require.Equal(t, time.Duration(-1), c.TTL(t.Context(), key).Val(), "%s carries no expiry", key)
	}
}

func TestAPasswordIsAskedFor(t *testing.T) {
	server := env.StartRedis(t, map[string]string{"requirepass": "secret"})
	for _, wrong := range []redis.Config{{}, {Password: "other"}, {Username: "nobody", Password: "secret"}} {
		wrong.Addrs = []string{server.Addr()}
		_, err := gate(t, wrong).Reserve(t.Context(), batch(1, request(1)))
		require.ErrorIs(t, err, port.ErrUnavailable)
		require.NotContains(t, err.Error(), "secret")
	}
	load(t, gate(t, redis.Config{Addrs: []string{server.Addr()}, Password: "secret"}), 1, 100)
	load(t, gate(t, redis.Config{Addrs: []string{server.Addr()}, Username: "default", Password: "secret"}), 2, 100)
}

// TestErrorInsideAScript: what went wrong on the way may have had an effect.
func TestErrorInsideAScript(t *testing.T) {
	server := env.StartRedis(t, nil)
	g, c := gate(t, redis.Config{Addrs: []string{server.Addr()}}), client(t, server.Addr())
	load(t, g, 1, 100)
	require.NoError(t, c.Set(t.Context(), "voucher:{SALE}:orders", "no hash", 0).Err())
	_, err := g.Reserve(t.Context(), batch(100, request(1)))
	require.ErrorIs(t, err, port.ErrUnknown)
	require.ErrorContains(t, err, "WRONGTYPE")
}

func TestNoAddress(t *testing.T) {
	_, err := redis.Open(redis.Config{})
	require.Error(t, err)
}

// TestALoadDoesNotOutliveItsServer: a closed gate that comes back with another server can't be filled or opened.
func TestALoadDoesNotOutliveItsServer(t *testing.T) {
	server := env.StartRedis(t, nil)
	g := gate(t, redis.Config{Addrs: []string{server.Addr()}})
	seal, err := g.Close(t.Context(), code, 1)
	require.NoError(t, err)
	require.NoError(t, client(t, server.Addr()).Save(t.Context()).Err())
	server.Restart()
	require.Equal(t, "closed", client(t, server.Addr()).HGet(t.Context(), "voucher:{SALE}:meta", "state").Val())
	require.ErrorIs(t, g.Fill(t.Context(), seal, nil), port.ErrSuperseded)
	_, err = g.Open(t.Context(), seal, port.Opening{Standing: standing(1), Mode: voucher.FlashSync, Remaining: 1})
	require.ErrorIs(t, err, port.ErrSuperseded)
	load(t, g, 1, 1) // the same loader may begin again under its epoch
}

// TestLeaseInRealTime: what is given back during a lease can be had when it is over, and not before any process that was
// told of it may still refuse by itself.
func TestLeaseInRealTime(t *testing.T) {
	server := env.StartRedis(t, nil)
	g := gate(t, redis.Config{Addrs: []string{server.Addr()}})
	load(t, g, 1, 1)
	d, err := g.Reserve(t.Context(), batch(1, request(1)))
	require.NoError(t, err)
	h := d.Replies[0].Hold
	sent := time.Now()
	d, err = g.Reserve(t.Context(), batch(1, request(2)))
	require.NoError(t, err)
	require.Equal(t, port.GateOutOfStock, d.Replies[0].Code)
	until := sent.Add(d.Lease)
	_, err = g.GiveBack(t.Context(), code, 1, ref(h), false)
	require.NoError(t, err)
	for {
		d, err = g.Reserve(t.Context(), batch(1, request(2)))
		require.NoError(t, err)
		if d.Replies[0].Code == port.GateReserved {
			break
		}
	}
	require.False(t, time.Now().Before(until), "granted while a process might still refuse")
	require.Less(t, time.Since(sent), 2*time.Second)
}
