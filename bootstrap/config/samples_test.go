package config_test

import (
	"slices"
	"strings"
	"time"

	"voucherd/bootstrap/config"
	"voucherd/domain/voucher"
)

// sample is one key with a value for each way of giving it.
type sample struct {
	key  string
	yaml string            // the value as a file says it
	env  string            // the value as the environment says it
	with string            // further lines of the file that the value needs
	bad  map[string]string // env spelling → a part of what the fault says
	want func(config.Settings) any
	is   any
}

// What is wrong for many keys.
var (
	badDuration = map[string]string{"0s": "not above zero", "-5m": "not above zero", "abc": "not a duration", "15": "not a duration",
		"1us": "too short", "100000h": "too long", "9999999999h": "not a duration"}
	badBool  = map[string]string{"yes": "neither", "1": "neither", "True": "neither"}
	badAddrs = map[string]string{"h": "entry 1", "h:1,": "entry 2 is blank", ":6379": "entry 1", "h:0": "entry 1", "h:65536": "entry 1",
		"redis://:hunter2@h:1": "the value is not valid", "h:1,h:1": "repeats", "::1:6379": "entry 1"}
	badTopic = map[string]string{"a b": "not valid", "..": "not valid", strings.Repeat("x", 250): "not valid"}
)

// samples holds every key, in the published order.
func samples() []sample {
	return slices.Concat(servingSamples(), backendSamples(), ruleSamples())
}

func servingSamples() []sample {
	const tokens = "[\"ann:0123456789abcdef\", 'bob:f:/+=.~0123456789']"
	named := func(ts []config.Token) []string {
		var out []string
		for _, t := range ts {
			out = append(out, t.Name+" "+t.Value.Reveal())
		}
		return out
	}
	twoTokens := []string{"ann 0123456789abcdef", "bob f:/+=.~0123456789"}
	badTokens := map[string]string{
		"0123456789abcdef0": "no valid name", ":0123456789abcdef": "no valid name", "a b:0123456789abcdef": "no valid name",
		"ann:0123456789abcde": "no valid token", "ann:0123456789 abcdef": "no valid token", "ann:0123456789abcdé0": "no valid token",
		"ann:0123456789abcdef,": "entry 2 is blank", "ann:0123456789abcdef,ann:0123456789abcdeg": "has the name of",
		"ann:0123456789abcdef,bob:0123456789abcdef": "has the token of",
		"ann:" + strings.Repeat("x", 257):           "no valid token",
	}
	return []sample{
		{key: "http.addr", yaml: "'[::1]:0'", env: "[::1]:0", is: "[::1]:0", want: func(s config.Settings) any { return s.HTTP.Addr },
			bad: map[string]string{"8080": "not valid", "localhost": "not valid", "127.0.0.1:x": "not valid", "127.0.0.1:65536": "not valid",
				"[::1": "not valid", "a b:80": "not valid", "[127.0.0.1]:80": "not valid", "http://h:80": "not valid"}},
		{key: "http.request_timeout", yaml: "1500ms", env: "1500ms", is: 1500 * time.Millisecond, bad: badDuration,
			want: func(s config.Settings) any { return s.HTTP.RequestTimeout }},
		{key: "http.drain_delay", yaml: "5s", env: "5s", is: 5 * time.Second,
			bad:  map[string]string{"-1s": "too short", "abc": "not a duration", "0.5": "not a duration", "21s": "too long", "20001ms": "too long"},
			want: func(s config.Settings) any { return s.HTTP.DrainDelay }},
		{key: "http.admin_tokens", yaml: tokens, env: "ann:0123456789abcdef, bob:f:/+=.~0123456789", is: twoTokens, bad: badTokens,
			want: func(s config.Settings) any { return named(s.HTTP.AdminTokens) }},
		{key: "http.checkout_tokens", yaml: tokens, env: "ann:0123456789abcdef, bob:f:/+=.~0123456789", is: twoTokens, bad: badTokens,
			want: func(s config.Settings) any { return named(s.HTTP.CheckoutTokens) }},
		{key: "roles", yaml: "[jobs, api]", env: "jobs,api", with: "database: {url: 'postgres://h/db'}", is: config.Roles{"jobs", "api"},
			bad:  map[string]string{"api,api": "given again", "API": "is no role", "api,,jobs": "entry 2 is blank", "x": "is no role"},
			want: func(s config.Settings) any { return s.Roles }},
		{key: "database.url", yaml: "postgresql://u:p@h:5432/db?sslmode=disable", env: "postgresql://u:p@h:5432/db?sslmode=disable",
			is: "postgresql://u:p@h:5432/db?sslmode=disable", want: func(s config.Settings) any { return s.Database.URL.Reveal() },
			bad: map[string]string{"memory": "neither", "mysql://h/db": "neither", "POSTGRES://h/db": "neither", "postgres://": "no host",
				"postgres://u:pa/ss@h/db": "can be parsed", "postgres://u:1/2@h/db": "goes on", "postgres://u:1#2@h/db": "goes on",
				"postgres://u:1?2@h/db": "parameters", "postgres://u:%@h/db": "can be parsed", "host=h dbname=db": "neither",
				"postgres://h/db?x=%zz": "parameters"}},
		{key: "database.max_connections", yaml: "1000", env: "1000", is: 1000, want: func(s config.Settings) any { return s.Database.MaxConnections },
			bad: map[string]string{"0": "out of range", "1001": "out of range", "-1": "out of range", "1.5": "not a whole", "010": "not a whole",
				"+5": "not a whole", "1e2": "not a whole", "99999999999999999999": "out of range", "many": "not a whole"}},
		{key: "database.auto_migrate", yaml: "false", env: "false", is: false, bad: badBool,
			want: func(s config.Settings) any { return s.Database.AutoMigrate }},
	}
}

func backendSamples() []sample {
	return []sample{
		{key: "redis.addrs", yaml: "['h:6379', '[::1]:6379']", env: "h:6379,[::1]:6379", is: []string{"h:6379", "[::1]:6379"}, bad: badAddrs,
			want: func(s config.Settings) any { return s.Redis.Addrs }},
		{key: "redis.master_name", yaml: "m", env: "m", with: "redis.addrs: 'h:1'", is: "m", bad: map[string]string{"a b": "not valid"},
			want: func(s config.Settings) any { return s.Redis.MasterName }},
		{key: "redis.username", yaml: "0123", env: "0123", is: "0123", bad: map[string]string{"a b": "not valid"},
			want: func(s config.Settings) any { return s.Redis.Username }},
		{key: "redis.password", yaml: "0123", env: "0123", is: "0123", want: func(s config.Settings) any { return s.Redis.Password.Reveal() }},
		{key: "redis.tls", yaml: "true", env: "true", is: true, bad: badBool, want: func(s config.Settings) any { return s.Redis.TLS }},
		{key: "redis.min_replicas", yaml: "2", env: "2", with: "redis.addrs: 'h:1'", is: 2, want: func(s config.Settings) any { return s.Redis.MinReplicas },
			bad: map[string]string{"11": "out of range", "-1": "out of range", "x": "not a whole"}},
		{key: "kafka.brokers", yaml: "['a:1', 'b:2']", env: "a:1,b:2", is: []string{"a:1", "b:2"}, bad: badAddrs,
			want: func(s config.Settings) any { return s.Kafka.Brokers }},
		{key: "kafka.topic", yaml: "t", env: "t", is: "t", bad: badTopic, want: func(s config.Settings) any { return s.Kafka.Topic }},
		{key: "kafka.dead_letter_topic", yaml: "t", env: "t", is: "t", bad: badTopic,
			want: func(s config.Settings) any { return s.Kafka.DeadLetterTopic }},
		{key: "kafka.group", yaml: "g", env: "g", is: "g", bad: map[string]string{"a b": "not valid"},
			want: func(s config.Settings) any { return s.Kafka.Group }},
		{key: "kafka.create_topics", yaml: "false", env: "false", is: false, bad: badBool,
			want: func(s config.Settings) any { return s.Kafka.CreateTopics }},
		{key: "kafka.partitions", yaml: "1", env: "1", is: 1, want: func(s config.Settings) any { return s.Kafka.Partitions },
			bad: map[string]string{"0": "out of range", "10001": "out of range", "1_000": "not a whole"}},
		{key: "kafka.replication_factor", yaml: "1", env: "1", is: 1, want: func(s config.Settings) any { return s.Kafka.ReplicationFactor },
			bad: map[string]string{"0": "out of range", "33": "out of range"}},
		{key: "kafka.properties", yaml: "{sasl.mechanism: PLAIN, linger.ms: 05, client.id: 'a,b'}",
			env: "sasl.mechanism=PLAIN, linger.ms=05,client.id=a=b", want: func(s config.Settings) any {
				return []string{s.Kafka.Properties["sasl.mechanism"].Reveal(), s.Kafka.Properties["linger.ms"].Reveal()}
			}, is: []string{"PLAIN", "05"},
			bad: map[string]string{"acks=0": "acks can't be set", "go.batch.producer=true": "can't be set", "partitioner=random": "can't be set",
				"linger.ms": "has no =", "linger.ms=": "is blank", "=x": "is blank", "a=1,a=2": "given again", "A B=1": "no valid name",
				"group.id=x": "it is kafka.group"}},
	}
}

func ruleSamples() []sample {
	return []sample{
		{key: "reservation.ttl", yaml: "1h30m", env: "1h30m", is: 90 * time.Minute, bad: badDuration,
			want: func(s config.Settings) any { return s.Reservation.TTL }},
		{key: "jobs.expire_interval", yaml: "50ms", env: "50ms", is: 50 * time.Millisecond, bad: badDuration,
			want: func(s config.Settings) any { return s.Jobs.ExpireInterval }},
		{key: "jobs.reconcile_interval", yaml: "24h", env: "24h", is: 24 * time.Hour, bad: badDuration,
			want: func(s config.Settings) any { return s.Jobs.ReconcileInterval }},
		{key: "jobs.reconcile_repair", yaml: "true", env: "true", is: true, bad: badBool,
			want: func(s config.Settings) any { return s.Jobs.ReconcileRepair }},
		{key: "vouchers.default_mode", yaml: "flash-sync", env: "flash-sync", is: voucher.FlashSync,
			bad:  map[string]string{"Standard": "is no mode", "flash": "is no mode"},
			want: func(s config.Settings) any { return s.Vouchers.DefaultMode }},
		{key: "vouchers.modes", yaml: "{1e5: standard, 2024-11-11: flash-sync, no: flash-async}",
			env: "1E5=standard, 2024-11-11=flash-sync,No=flash-async", want: func(s config.Settings) any { return s.Vouchers.Modes },
			is: map[voucher.Code]voucher.Mode{"1E5": "standard", "2024-11-11": "flash-sync", "NO": "flash-async"},
			bad: map[string]string{"A=fast": "is no mode", "A B=standard": "no voucher code", "a=standard,A=standard": "A is given again",
				"A": "has no =", "A=": "is blank", "A=standard,": "entry 2 has no =", "{}": "has no ="}},
		{key: "log.level", yaml: "warn", env: "warn", is: "warn", bad: map[string]string{"INFO": "not valid", "trace": "not valid"},
			want: func(s config.Settings) any { return s.Log.Level }},
		{key: "log.format", yaml: "console", env: "console", is: "console", bad: map[string]string{"text": "not valid"},
			want: func(s config.Settings) any { return s.Log.Format }},
	}
}
