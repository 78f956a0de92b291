package redis_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/application/port"
	"voucherd/test/env"
)

var allKeys = []string{
	"voucher:{SALE}:remaining", "voucher:{SALE}:users", "voucher:{SALE}:orders", "voucher:{SALE}:meta", "voucher:{SALE}:pending",
}

// move moves the slot of the voucher from one node to another, and calls between after each step.
func move(t *testing.T, from, to *goredis.Client, between func(step string)) {
	t.Helper()
	ctx := t.Context()
	slot := from.ClusterKeySlot(ctx, allKeys[0]).Val()
	id := func(c *goredis.Client) string { return c.Do(ctx, "CLUSTER", "MYID").Val().(string) } //nolint:errcheck,forcetypeassert // a test
	require.NoError(t, to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", id(from)).Err())
	require.NoError(t, from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", id(to)).Err())
	between("announced")
	host, number, err := net.SplitHostPort(to.Options().Addr)
	require.NoError(t, err)
	for _, key := range from.ClusterGetKeysInSlot(ctx, int(slot), 100).Val() {
		require.NoError(t, from.Do(ctx, "MIGRATE", host, number, key, 0, 5000).Err())
		between("moved " + key)
	}
	require.NoError(t, to.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", id(to)).Err())
	require.NoError(t, from.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", id(to)).Err())
	between("done")
}

// owner returns clients of the node that holds the voucher's slot and of another one.
func owner(t *testing.T, c *env.RedisCluster) (holder, other *goredis.Client) {
	t.Helper()
	for _, addr := range c.Addrs() {
		node := client(t, addr)
		if node.Exists(t.Context(), allKeys[0]).Err() == nil {
			holder = node
		} else {
			other = node
		}
	}
	require.NotNil(t, holder)
	require.NotNil(t, other)
	return holder, other
}

func TestKeysShareASlot(t *testing.T) {
	node := client(t, env.StartRedisCluster(t).Addrs()[0])
	for _, key := range allKeys {
		require.Equal(t, node.ClusterKeySlot(t.Context(), allKeys[0]).Val(), node.ClusterKeySlot(t.Context(), key).Val())
	}
}

// TestSlotMove: a gate that moves to another node is another server's there. On the way each call either has its whole
// effect or none: Redis refuses a script whose keys are partly here and partly there, or not all in existence.
func TestSlotMove(t *testing.T) {
	c := env.StartRedisCluster(t)
	g := gate(t, redis.Config{Addrs: c.Addrs()})
	load(t, g, 1, 100)
	reserve(t, g, 0) // from here on all keys exist
	from, to := owner(t, c)
	var answers []string
	move(t, from, to, func(step string) {
		d, err := g.Reserve(t.Context(), batch(100, request(len(answers)+1)))
		switch {
		case err == nil:
			require.Equal(t, port.GateReserved, d.Replies[0].Code, step)
			answers = append(answers, "reserved")
		case errors.Is(err, port.ErrNotLoaded):
			answers = append(answers, "not loaded")
		default:
			require.ErrorIs(t, err, port.ErrUnavailable, step)
			require.ErrorContains(t, err, "TRYAGAIN")
			answers = append(answers, "try again")
		}
	})
	require.Equal(t, []string{
		"reserved", // by the old node
		"try again", "try again", "try again", "try again",
		"not loaded", // said by the new node, by way of ASK
		"not loaded", // by way of MOVED
	}, answers)
	load(t, g, 2, 100)
	reserve(t, g, 1)
}

// TestSlotMovesUnderLoad: nothing but a refusal that says what it is comes of it, and the cluster serves again.
func TestSlotMovesUnderLoad(t *testing.T) {
	c := env.StartRedisCluster(t)
	g := gate(t, redis.Config{Addrs: c.Addrs()})
	load(t, g, 1, 1000)
	from, to := owner(t, c)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for b := range 4 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_, err := g.Reserve(t.Context(), batch(1000, request(10_000*b+n)))
				if err != nil && !errors.Is(err, port.ErrUnavailable) && !errors.Is(err, port.ErrNotLoaded) {
					t.Errorf("reserve: %v", err)
					return
				}
			}
		})
	}
	for epoch := int64(2); epoch < 6; epoch++ {
		move(t, from, to, func(string) { time.Sleep(10 * time.Millisecond) }) // a slot in two places for a while
		load(t, g, epoch, 1000)
		from, to = to, from
	}
	close(stop)
	wg.Wait()
	s, err := g.Summary(t.Context(), code)
	require.NoError(t, err)
	require.Equal(t, int64(1000), s.Remaining+s.Orders)
}
