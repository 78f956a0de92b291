package config

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"voucherd/domain/voucher"
)

// combination judges what is right by itself and wrong together. A rule is skipped where one of its keys has a fault
// of its own, since what the rule would say then rests on a value that nobody gave.
type combination struct {
	s      Settings
	served []voucher.Mode
	faults *collector
	given  map[string]any
}

func (c *combination) check() {
	c.listening()
	c.tokens()
	c.stopping()
	c.inOneProcess()
	c.withoutServers()
	c.modes()
}

func (c *combination) fault(key, wrong, right string) {
	source := "default"
	if r, ok := c.given[key].(*raw); ok {
		source = r.Source
	}
	c.faults.add(Fault{Key: key, Source: source, Wrong: wrong, Right: right})
}

// listening: without tokens everybody who reaches the port may do everything, so only this machine may.
func (c *combination) listening() {
	if !c.faults.sound("http.addr", "http.admin_tokens", "http.checkout_tokens") || !c.s.HTTP.Open() {
		return
	}
	if host, _, _ := splitHostPort(c.s.HTTP.Addr); !isLoopback(host) {
		c.fault("http.addr", echo(c.s.HTTP.Addr)+" can be reached from elsewhere and no token is set",
			"set http.admin_tokens or http.checkout_tokens, or listen on a loopback address such as 127.0.0.1:8080")
	}
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// tokens: a name stands for one holder in the history, and a token decides what its holder may do.
func (c *combination) tokens() {
	if !c.faults.sound("http.admin_tokens", "http.checkout_tokens") {
		return
	}
	names, values := map[string]string{}, map[string]string{}
	see := func(key string, list []Token) {
		for i, t := range list {
			here := entry(i) + " of " + key
			if first, twice := names[t.Name]; twice {
				c.fault(key, entry(i)+" has the name of "+first, "give each token a name of its own")
			}
			if first, twice := values[t.Value.Reveal()]; twice {
				c.fault(key, entry(i)+" has the token of "+first, "give each name a token of its own")
			}
			names[t.Name], values[t.Value.Reveal()] = here, here
		}
	}
	see("http.admin_tokens", c.s.HTTP.AdminTokens)
	see("http.checkout_tokens", c.s.HTTP.CheckoutTokens)
}

// stopping: SIGTERM ends the process within 30 s.
func (c *combination) stopping() {
	if !c.faults.sound("http.request_timeout", "http.drain_delay") {
		return
	}
	if sum := c.s.HTTP.RequestTimeout + c.s.HTTP.DrainDelay; sum > longestStop {
		c.fault("http.drain_delay", fmt.Sprintf("together with http.request_timeout it makes %s", compact(sum)),
			fmt.Sprintf("keep both within %s, so that a stop ends within 30s", compact(longestStop)))
	}
}

// inOneProcess: nobody else can do the roles that a process with its data in memory leaves out.
func (c *combination) inOneProcess() {
	if c.faults.sound("roles", "database.url") && c.s.Database.InMemory() && len(c.s.Roles) < 3 {
		c.fault("roles", "memory: keeps the data in this process, and no other could do the roles that are missing",
			"give api,writer,jobs, or a postgres:// database.url")
	}
}

// withoutServers: settings that claim what the gate and the stream in memory can't give.
func (c *combination) withoutServers() {
	if c.faults.sound("redis.addrs", "redis.master_name", "redis.min_replicas") && len(c.s.Redis.Addrs) == 0 {
		const wrong, right = "set without redis.addrs: the gate is in memory then", "set redis.addrs, or leave it out"
		if c.s.Redis.MasterName != "" {
			c.fault("redis.master_name", wrong, right)
		}
		if c.s.Redis.MinReplicas > 0 {
			c.fault("redis.min_replicas", wrong, right)
		}
	}
	if c.faults.sound("kafka.topic", "kafka.dead_letter_topic") && c.s.Kafka.Topic == c.s.Kafka.DeadLetterTopic {
		c.fault("kafka.dead_letter_topic", "the same as kafka.topic", "give each a topic of its own")
	}
}

// modes: what the settings name must be served by this build, over the servers that are set.
func (c *combination) modes() {
	if c.faults.sound("vouchers.default_mode") {
		if wrong, right := c.mode(c.s.Vouchers.DefaultMode); wrong != "" {
			c.fault("vouchers.default_mode", wrong, right)
		}
	}
	if !c.faults.sound("vouchers.modes") {
		return
	}
	for _, code := range slices.Sorted(maps.Keys(c.s.Vouchers.Modes)) {
		if wrong, right := c.mode(c.s.Vouchers.Modes[code]); wrong != "" {
			c.fault("vouchers.modes", "voucher "+string(code)+": "+wrong, right)
		}
	}
}

// mode says why m can't be served, if it can't.
func (c *combination) mode(m voucher.Mode) (wrong, right string) {
	if !slices.Contains(c.served, m) {
		var names []string
		for _, s := range c.served {
			names = append(names, string(s))
		}
		return string(m) + " is not served by this build", "it serves " + strings.Join(names, ", ")
	}
	flash := m == voucher.FlashSync || m == voucher.FlashAsync
	ready := c.faults.sound("database.url", "redis.addrs", "redis.master_name", "redis.min_replicas", "kafka.brokers")
	r := c.s.Redis
	switch {
	case !flash || !ready || c.s.Database.InMemory():
		return "", ""
	case len(r.Addrs) == 0:
		return string(m) + " over a durable database needs a gate outside this process", "set redis.addrs"
	case m != voucher.FlashAsync:
		return "", ""
	case len(c.s.Kafka.Brokers) == 0:
		return string(m) + " over a durable database needs an event stream outside this process", "set kafka.brokers"
	case r.MinReplicas == 0 && (r.MasterName != "" || len(r.Addrs) > 1):
		return string(m) + " on Sentinel or Cluster with redis.min_replicas 0: an isolated old master would go on granting",
			"set redis.min_replicas to all nodes of a shard but one"
	}
	return "", ""
}
