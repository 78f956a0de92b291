package env

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"voucherd/test/env/process"
	"voucherd/test/env/redisserver"
)

// RedisMasterName is the name under which the sentinel of StartRedisSentinel
// knows its master.
const RedisMasterName = "gates"

const (
	sentinelLimit = 30 * time.Second
	// sentinelDown is how long a master is silent before the sentinel replaces it.
	sentinelDown = 500 * time.Millisecond
)

// RedisSentinel is a master, a replica, and a sentinel that replaces the one by
// the other.
type RedisSentinel struct {
	Master, Replica *Redis // as they were at the start
	t               testing.TB
	sentinel        *Redis
}

// StartRedisSentinel starts the three for this test and returns when the replica
// is in step and the sentinel knows it.
func StartRedisSentinel(t testing.TB) *RedisSentinel {
	t.Helper()
	quick := map[string]string{"repl-diskless-sync-delay": "0"}
	s := &RedisSentinel{t: t, Master: StartRedis(t, quick), Replica: StartRedis(t, quick)}
	server, err := redisserver.StartSentinel()
	if err != nil {
		t.Fatalf("private Sentinel: %v", err)
	}
	s.sentinel = own(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), sentinelLimit)
	defer cancel()
	if err := s.join(ctx); err != nil {
		t.Fatalf("private Sentinel: %v", err)
	}
	return s
}

func (s *RedisSentinel) join(ctx context.Context) error {
	host, port, err := net.SplitHostPort(s.Master.Addr())
	if err != nil {
		return err
	}
	err = do(ctx, s.Replica.Addr(), func(c *redis.Client) error {
		return c.Do(ctx, "REPLICAOF", host, port).Err()
	})
	if err != nil {
		return err
	}
	return do(ctx, s.Addr(), func(c *redis.Client) error {
		if err := c.Do(ctx, "SENTINEL", "MONITOR", RedisMasterName, host, port, 1).Err(); err != nil {
			return err
		}
		err := c.Do(ctx, "SENTINEL", "SET", RedisMasterName, "down-after-milliseconds", sentinelDown.Milliseconds(),
			"failover-timeout", 2*sentinelDown.Milliseconds()).Err()
		if err != nil {
			return err
		}
		seen := process.Poll(sentinelLimit, func() bool {
			text := fmt.Sprint(c.Do(ctx, "SENTINEL", "REPLICAS", RedisMasterName).Val())
			return strings.Contains(text, "master-link-status:ok")
		})
		if !seen {
			return errors.New("the sentinel doesn't see the replica in step")
		}
		return nil
	})
}

// Addr is the sentinel's host:port.
func (s *RedisSentinel) Addr() string { return s.sentinel.Addr() }

// AwaitMaster returns when the sentinel names the server as the master.
func (s *RedisSentinel) AwaitMaster(r *Redis) {
	s.t.Helper()
	err := do(s.t.Context(), s.Addr(), func(c *redis.Client) error {
		_, port, err := net.SplitHostPort(r.Addr())
		if err != nil {
			return err
		}
		named := process.Poll(sentinelLimit, func() bool {
			return strings.Contains(fmt.Sprint(c.Do(s.t.Context(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", RedisMasterName).Val()), port)
		})
		if !named {
			return fmt.Errorf("the sentinel never named %s", r.Addr())
		}
		return nil
	})
	if err != nil {
		s.t.Fatalf("private Sentinel: %v", err)
	}
}
