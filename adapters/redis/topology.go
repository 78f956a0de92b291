package redis

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// node returns the server that decides about the key: the only one, the master that the sentinels name, or the master of
// the key's slot as far as is known.
func (g *Gate) node(ctx context.Context, key string) (*redis.Client, error) {
	switch c := g.client.(type) {
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, key)
	case *redis.Client:
		return c, nil
	default:
		return nil, errNoAddress
	}
}

// at returns the cluster's master at the address; nil if it is not known yet.
func (g *Gate) at(ctx context.Context, addr string) *redis.Client {
	c, ok := g.client.(*redis.ClusterClient)
	if !ok {
		return nil
	}
	var found atomic.Pointer[redis.Client]
	// An error leaves it unknown: the next attempt goes where the slot is said to be.
	_ = c.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		if node.Options().Addr == addr {
			found.Store(node)
		}
		return nil
	})
	return found.Load()
}

// reload has a cluster's map read anew, beside what goes on.
func (g *Gate) reload(ctx context.Context) {
	if c, ok := g.client.(*redis.ClusterClient); ok {
		c.ReloadState(ctx)
	}
}
