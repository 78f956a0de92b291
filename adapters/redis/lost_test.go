package redis_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/application/port"
	"voucherd/test/env"
)

// TestLostReplies: whatever answer gets lost after the script has run, the call is sent again and tells the truth, and
// nothing is taken or given back twice.
func TestLostReplies(t *testing.T) {
	server := env.StartRedis(t, nil)
	p := newProxy(t, server.Addr(), func(n int) bool { return n%3 == 0 })
	g := gate(t, redis.Config{Addrs: []string{p.addr}})
	const total, buyers = 50, 8
	load(t, g, 1, total)
	var granted, refused atomic.Int64
	var wg sync.WaitGroup
	for b := range buyers {
		wg.Go(func() {
			for n := range 20 {
				var d port.GateDecision
				err := insist(func() (err error) {
					d, err = g.Reserve(t.Context(), batch(total, request(100*b+n)))
					return err
				})
				if err != nil {
					t.Errorf("reserve: %v", err)
					return
				}
				switch d.Replies[0].Code {
				case port.GateReserved, port.GateDuplicate: // its own, sent again
					granted.Add(1)
				case port.GateOutOfStock:
					refused.Add(1)
				default:
					t.Errorf("reserve: %v", d.Replies[0].Code)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int64{total, buyers*20 - total}, []int64{granted.Load(), refused.Load()})
	require.Zero(t, remaining(t, g))

	live, err := g.Live(t.Context(), code)
	require.NoError(t, err)
	found, _, err := g.Find(t.Context(), code, live.Orders)
	require.NoError(t, err)
	for _, h := range found {
		held, err := g.Acknowledge(t.Context(), code, ref(h))
		require.NoError(t, err)
		require.Equal(t, []bool{true}, held)
		_, err = g.GiveBack(t.Context(), code, 1, ref(h), false)
		require.NoError(t, err)
	}
	s, err := g.Summary(t.Context(), code)
	require.NoError(t, err)
	require.Equal(t, []int64{total, 0, 0, 0}, []int64{s.Remaining, s.Orders, s.Customers, s.Pending})
	require.Greater(t, p.lost, 50)
}

// insist sends again what may have happened, as a client does after a 503: a call can lose all of its attempts.
func insist(call func() error) error {
	for {
		if err := call(); !errors.Is(err, port.ErrUnknown) {
			return err
		}
	}
}

// TestLostForGood: a call whose first attempt broke off never claims that nothing happened.
func TestLostForGood(t *testing.T) {
	server := env.StartRedis(t, nil)
	direct := gate(t, redis.Config{Addrs: []string{server.Addr()}})
	load(t, direct, 1, 100)
	reserve(t, direct, 1) // the server knows the script from here on
	for name, shut := range map[string]bool{"every answer is lost": false, "nobody listens after the first": true} {
		var p *proxy
		p = newProxy(t, server.Addr(), func(int) bool {
			if shut {
				p.shut()
			}
			return true
		})
		_, err := gate(t, redis.Config{Addrs: []string{p.addr}}).Reserve(t.Context(), batch(100, request(2)))
		require.ErrorIs(t, err, port.ErrUnknown, name)
		require.NotErrorIs(t, err, port.ErrUnavailable, name)
		d, err := direct.Reserve(t.Context(), batch(100, request(2)))
		require.NoError(t, err)
		require.Equal(t, port.GateDuplicate, d.Replies[0].Code, "the use is held")
	}
}
