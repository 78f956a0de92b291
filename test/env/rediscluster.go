package env

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"voucherd/test/env/process"
	"voucherd/test/env/redisserver"
)

// RedisCluster is a Redis Cluster of masters without replicas that one test has
// to itself.
type RedisCluster struct {
	Nodes []*Redis
	buses []*process.Port
}

const (
	clusterNodes = 3
	clusterSlots = 16384
	clusterLimit = 30 * time.Second
)

// StartRedisCluster starts a cluster of three masters, with the slots spread
// evenly, and returns when it serves; it is removed when the test ends.
func StartRedisCluster(t testing.TB) *RedisCluster {
	t.Helper()
	if _, err := redisserver.Find(); err != nil {
		t.Fatalf("private Redis Cluster: %v", err)
	}
	c := &RedisCluster{}
	t.Cleanup(func() {
		for _, p := range c.buses {
			p.Release()
		}
	})
	for range clusterNodes {
		bus, err := process.ReservePort()
		if err != nil {
			t.Fatalf("private Redis Cluster: %v", err)
		}
		c.buses = append(c.buses, bus)
		c.Nodes = append(c.Nodes, StartRedis(t, map[string]string{
			"cluster-enabled": "yes", "cluster-port": strconv.Itoa(bus.Number), "cluster-node-timeout": "2000",
		}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), clusterLimit)
	defer cancel()
	if err := c.join(ctx); err != nil {
		t.Fatalf("private Redis Cluster: %v", err)
	}
	return c
}

// Addrs are the nodes' addresses.
func (c *RedisCluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// join gives each node its slots, makes them known to each other, and waits
// until all of them call the cluster whole.
func (c *RedisCluster) join(ctx context.Context) error {
	for i, n := range c.Nodes {
		first, last := i*clusterSlots/clusterNodes, (i+1)*clusterSlots/clusterNodes-1
		host, port, err := net.SplitHostPort(c.Nodes[0].Addr())
		if err != nil {
			return err
		}
		err = do(ctx, n.Addr(), func(node *redis.Client) error {
			if err := node.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
				return err
			}
			if err := node.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, last).Err(); err != nil {
				return err
			}
			return node.Do(ctx, "CLUSTER", "MEET", host, port, c.buses[0].Number).Err()
		})
		if err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := awaitWhole(ctx, n.Addr()); err != nil {
			return err
		}
	}
	return nil
}

func awaitWhole(ctx context.Context, addr string) error {
	return do(ctx, addr, func(node *redis.Client) error {
		var info string
		whole := process.Poll(clusterLimit, func() bool {
			info = node.ClusterInfo(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(clusterNodes))
		})
		if !whole {
			return fmt.Errorf("%s doesn't find the cluster whole: %s", addr, info)
		}
		return nil
	})
}

func do(ctx context.Context, addr string, what func(*redis.Client) error) error {
	node := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = node.Close() }()
	if err := what(node); err != nil {
		return fmt.Errorf("%s: %w", addr, err)
	}
	return ctx.Err()
}
