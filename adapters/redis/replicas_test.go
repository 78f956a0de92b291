package redis_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/application/port"
	"voucherd/test/env"
	"voucherd/test/env/process"
)

// follow makes one server the replica of another and waits until it is in step.
func follow(t *testing.T, replica, master string) {
	t.Helper()
	host, number, err := net.SplitHostPort(master)
	require.NoError(t, err)
	c := client(t, replica)
	require.NoError(t, c.Do(t.Context(), "REPLICAOF", host, number).Err())
	require.True(t, process.Poll(20*time.Second, func() bool {
		return c.InfoMap(t.Context(), "replication").Item("Replication", "master_link_status") == "up"
	}))
}

// TestReplicas: with a replica asked for, no answer counts that it doesn't hold.
func TestReplicas(t *testing.T) {
	settings := map[string]string{"repl-diskless-sync-delay": "0"}
	master, replica := env.StartRedis(t, settings), env.StartRedis(t, settings)
	follow(t, replica.Addr(), master.Addr())
	g := gate(t, redis.Config{Addrs: []string{master.Addr()}, MinReplicas: 1, WaitTimeout: 200 * time.Millisecond})
	load(t, g, 1, 100)
	h := reserve(t, g, 1)
	record, err := client(t, replica.Addr()).HGet(t.Context(), "voucher:{SALE}:orders", "order-1").Result()
	require.NoError(t, err)
	require.Contains(t, record, "|2|5000|")

	replica.Freeze()
	for _, n := range []int{1, 2, 2} { // a duplicate, a new one, and that again
		_, err = g.Reserve(t.Context(), batch(100, request(n)))
		require.ErrorIs(t, err, port.ErrUnknown)
	}
	_, err = g.Acknowledge(t.Context(), code, ref(h))
	require.ErrorIs(t, err, port.ErrUnknown)
	_, err = g.Close(t.Context(), code, 2)
	require.ErrorIs(t, err, port.ErrUnknown)
	_, err = g.Close(t.Context(), code, 2)
	require.ErrorIs(t, err, port.ErrUnknown, "also when there is nothing left to do")
	_, err = g.Reserve(t.Context(), batch(100, request(1)))
	require.ErrorIs(t, err, port.ErrNotLoaded, "which nobody has to hold")
	replica.Thaw()
	load(t, g, 2, 100)
	reserve(t, g, 1)
}

// TestFailoverAndBack: a gate that was copied to another server is not that server's, and one that a server finds again
// after it had been a replica is not its own any more.
func TestFailoverAndBack(t *testing.T) {
	settings := map[string]string{"repl-diskless-sync-delay": "0"}
	first, second := env.StartRedis(t, settings), env.StartRedis(t, settings)
	follow(t, second.Addr(), first.Addr())
	g := gate(t, redis.Config{Addrs: []string{first.Addr()}, MinReplicas: 1})
	other := gate(t, redis.Config{Addrs: []string{second.Addr()}})
	load(t, g, 1, 100)
	reserve(t, g, 1)
	_, err := other.Reserve(t.Context(), batch(100, request(1)))
	require.ErrorIs(t, err, port.ErrUnavailable, "a replica takes no writes")
	_, _, err = other.Find(t.Context(), code, nil)
	require.ErrorIs(t, err, port.ErrNotLoaded, "nor is the copy believed")

	require.NoError(t, client(t, second.Addr()).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	_, err = other.Reserve(t.Context(), batch(100, request(1)))
	require.ErrorIs(t, err, port.ErrNotLoaded, "after the failover")
	load(t, other, 2, 100)
	reserve(t, other, 2)

	follow(t, first.Addr(), second.Addr())
	require.NoError(t, client(t, first.Addr()).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	back := gate(t, redis.Config{Addrs: []string{first.Addr()}})
	_, err = back.Reserve(t.Context(), batch(100, request(1)))
	require.ErrorIs(t, err, port.ErrNotLoaded, "after the failback")
	load(t, back, 3, 100)
}

// TestSentinel: the client follows a real failover by itself, and what the new master has copied is not believed.
func TestSentinel(t *testing.T) {
	s := env.StartRedisSentinel(t)
	g := gate(t, redis.Config{Addrs: []string{s.Addr()}, MasterName: env.RedisMasterName})
	load(t, g, 1, 100)
	h := reserve(t, g, 1)
	s.Master.Kill()
	s.AwaitMaster(s.Replica)
	var err error
	require.True(t, process.Poll(10*time.Second, func() bool {
		_, err = g.Acknowledge(t.Context(), code, ref(h))
		return errors.Is(err, port.ErrNotLoaded)
	}), "%v", err)
	load(t, g, 2, 100)
	reserve(t, g, 1)
}
