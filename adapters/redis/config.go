// Package redis keeps the gates of flash sales in Redis: one server, a master found through Sentinel, or a cluster.
//
// Each call is one Lua script on one server, sent in one round trip; the scripts are in the folder of that name and
// are the other half of this package. They need Redis 7 (or a successor that keeps its scripts), for the flags in
// their first lines, and a user who may run INFO, TIME, WAIT and the commands on the keys voucher:*.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says how to reach Redis. A zero field but Addrs takes its default.
type Config struct {
	// Addrs is one server, or several nodes of a cluster, or with MasterName the sentinels; at least one host:port.
	Addrs      []string
	MasterName string // the name under which sentinels know the master
	Username   string
	Password   string // of the servers; sentinels are asked without one
	// TLS encrypts connections; nil: none. ServerName should be empty where there are several servers.
	TLS *tls.Config
	// MinReplicas is how many replicas must hold an answer before it counts, 0 or more.
	MinReplicas int
	// MaxConnections is the most connections to one server; default 32.
	MaxConnections int
	// Timeout bounds every call, its repetitions included; default 1.5 s.
	Timeout time.Duration
	// WaitTimeout bounds the wait for replicas, within Timeout; default 500 ms.
	WaitTimeout time.Duration
}

const (
	defaultConnections = 32
	defaultTimeout     = 1500 * time.Millisecond
	defaultWait        = 500 * time.Millisecond
	dialTimeout        = time.Second
	// poolTimeout is how long a call may wait for a free connection.
	poolTimeout = 500 * time.Millisecond
	idleTimeout = 5 * time.Minute
)

// silent keeps the driver from writing to stderr on its own: what goes wrong reaches the caller as an error.
type silent struct{}

// Printf drops the line.
func (silent) Printf(context.Context, string, ...any) {}

var errNoAddress = errors.New("no address of a Redis server")

// Open returns the gates in the Redis that c names. It connects when it is first needed, so it succeeds without a
// server. Errors: a configuration that names none.
func Open(c Config) (*Gate, error) {
	if len(c.Addrs) == 0 {
		return nil, errNoAddress
	}
	redis.SetLogger(silent{})
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: c.Addrs, MasterName: c.MasterName, Username: c.Username, Password: c.Password, TLSConfig: c.TLS,
		// Repetition is this package's: only so it knows whether an earlier attempt may have had an effect.
		MaxRetries: -1, DialerRetries: 1,
		DialTimeout: min(dialTimeout, timeout), ReadTimeout: timeout, WriteTimeout: timeout, ContextTimeoutEnabled: true,
		PoolSize: cmp.Or(c.MaxConnections, defaultConnections), MaxActiveConns: cmp.Or(c.MaxConnections, defaultConnections),
		PoolTimeout: min(poolTimeout, timeout), ConnMaxIdleTime: idleTimeout, PipelinePoolSize: -1,
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	return &Gate{
		client: client, timeout: timeout,
		replicas: c.MinReplicas, wait: cmp.Or(c.WaitTimeout, defaultWait),
	}, nil
}
