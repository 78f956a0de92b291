package config

import (
	"slices"
	"time"

	"voucherd/domain/voucher"
)

// key is one row of the table of settings.
type key struct {
	name   string
	preset string // the default, as the environment would say it; "" leaves the zero value
	// read puts what was given into s and says what is wrong with it.
	read func(s *Settings, r raw) []problem
	// show returns the value for printing, secrets hidden: a string, int, bool, list or sorted pairs.
	show func(s *Settings) any
}

// problem is a fault that doesn't know its key yet.
type problem struct {
	wrong, right string
	source       string // "" is the source of the whole value
}

func bad(wrong, right string) []problem { return []problem{{wrong: wrong, right: right}} }

// Bounds. A process must stop within 30 s of SIGTERM, 5 of which are kept for what comes after the last request.
const (
	shortest      = time.Millisecond // times are whole milliseconds: anything shorter is none
	longestAnswer = 20 * time.Second
	longestStop   = 25 * time.Second
	longestHold   = 90 * 24 * time.Hour
	longestPause  = 24 * time.Hour

	maxEntries    = 100    // of a list
	maxModes      = 10_000 // of vouchers.modes
	maxProperties = 200
)

// table holds every key, in the order in which they are published.
var table = slices.Concat(serving(), backends(), rules())

func serving() []key {
	return []key{
		text("http.addr", "127.0.0.1:8080", func(s *Settings) *string { return &s.HTTP.Addr }, checkListen),
		span("http.request_timeout", "2s", func(s *Settings) *time.Duration { return &s.HTTP.RequestTimeout }, shortest, longestAnswer),
		span("http.drain_delay", "0s", func(s *Settings) *time.Duration { return &s.HTTP.DrainDelay }, 0, longestAnswer),
		tokens("http.admin_tokens", func(s *Settings) *[]Token { return &s.HTTP.AdminTokens }),
		tokens("http.checkout_tokens", func(s *Settings) *[]Token { return &s.HTTP.CheckoutTokens }),
		roles("roles", "api,writer,jobs"),
		databaseURL("database.url", inMemory),
		number("database.max_connections", "16", func(s *Settings) *int { return &s.Database.MaxConnections }, 1, 1000),
		flag("database.auto_migrate", "true", func(s *Settings) *bool { return &s.Database.AutoMigrate }),
	}
}

func backends() []key {
	return []key{
		list("redis.addrs", func(s *Settings) *[]string { return &s.Redis.Addrs }, checkHostPort),
		text("redis.master_name", "", func(s *Settings) *string { return &s.Redis.MasterName }, checkName),
		text("redis.username", "", func(s *Settings) *string { return &s.Redis.Username }, checkName),
		secret("redis.password", func(s *Settings) *Secret { return &s.Redis.Password }),
		flag("redis.tls", "false", func(s *Settings) *bool { return &s.Redis.TLS }),
		number("redis.min_replicas", "0", func(s *Settings) *int { return &s.Redis.MinReplicas }, 0, 10),
		list("kafka.brokers", func(s *Settings) *[]string { return &s.Kafka.Brokers }, checkHostPort),
		text("kafka.topic", "voucher-reserved", func(s *Settings) *string { return &s.Kafka.Topic }, checkTopic),
		text("kafka.dead_letter_topic", "voucher-reserved-dlt", func(s *Settings) *string { return &s.Kafka.DeadLetterTopic }, checkTopic),
		text("kafka.group", "voucher-writer", func(s *Settings) *string { return &s.Kafka.Group }, checkName),
		flag("kafka.create_topics", "true", func(s *Settings) *bool { return &s.Kafka.CreateTopics }),
		number("kafka.partitions", "12", func(s *Settings) *int { return &s.Kafka.Partitions }, 1, 10_000),
		number("kafka.replication_factor", "", func(s *Settings) *int { return &s.Kafka.ReplicationFactor }, 1, 32),
		properties("kafka.properties"),
	}
}

func rules() []key {
	return []key{
		span("reservation.ttl", "15m", func(s *Settings) *time.Duration { return &s.Reservation.TTL }, shortest, longestHold),
		span("jobs.expire_interval", "60s", func(s *Settings) *time.Duration { return &s.Jobs.ExpireInterval }, shortest, longestPause),
		span("jobs.reconcile_interval", "60s", func(s *Settings) *time.Duration { return &s.Jobs.ReconcileInterval }, shortest, longestPause),
		flag("jobs.reconcile_repair", "false", func(s *Settings) *bool { return &s.Jobs.ReconcileRepair }),
		defaultMode("vouchers.default_mode", string(voucher.Standard)),
		modes("vouchers.modes"),
		oneOf("log.level", "info", func(s *Settings) *string { return &s.Log.Level }, "debug", "info", "warn", "error"),
		oneOf("log.format", "", func(s *Settings) *string { return &s.Log.Format }, "console", "json"),
	}
}

// rankOf returns the place of a key in the table, -1 for an unknown one.
func rankOf(name string) int {
	for i := range table {
		if table[i].name == name {
			return i
		}
	}
	return -1
}

// report reads one value into s and adds what is wrong with it.
func (c *collector) report(k *key, r *raw, s *Settings) {
	if r.Broken {
		return
	}
	problems := k.read(s, *r)
	if r.Kind == kindText && isBlank(r.Text) {
		problems = bad("blank", "give a value, or leave the key out for its default")
	}
	for _, p := range problems {
		source := p.source
		if source == "" {
			source = r.Source
		}
		c.add(Fault{Key: k.name, Source: source, Wrong: p.wrong, Right: p.right})
	}
}
