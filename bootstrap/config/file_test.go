package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/bootstrap/config"
	"voucherd/domain/voucher"
)

func TestUnknownAndRepeatedKeys(t *testing.T) {
	for file, says := range map[string]string{
		"htp: {addr: x}":                                          `c.yaml:1: unknown key "htp"`,
		"http:\n  adr: x":                                         `c.yaml:2: unknown key "http.adr"`,
		"HTTP: {addr: 'x:1'}":                                     `unknown key "HTTP"`,
		"http.addr.x: 1":                                          `unknown key "http.addr.x"`,
		"http: 127.0.0.1:8080":                                    "http holds keys",
		"http: [a]":                                               "http holds keys",
		"log: {level: info}\nlog: {level: warn}":                  `c.yaml:2: the key "log" is given again`,
		"log:\n  level: info\n  level: warn":                      "log.level (c.yaml:3): the key is given again",
		"log: {level: info}\nlog.level: warn":                     "log.level (c.yaml:2): the key is given again",
		"vouchers: {modes: {A: standard, A: standard}}":           "vouchers.modes (c.yaml:1): the code A is given again",
		"vouchers:\n  modes:\n    a: standard\n    A: flash-sync": "vouchers.modes (c.yaml:4): the code A is given again",
		"kafka: {properties: {linger.ms: 1, linger.ms: 2}}":       "linger.ms is given again",
		"? [a]\n: b":                                              "not a plain word",
		"log: {level: &x info, format: json}":                     "log.level (c.yaml:1): the value is not plain text",
		"log: {level: [info]}":                                    "log.level (c.yaml:1): a list or a mapping",
		"log: {level: !!binary aW5mbw==}":                         "not plain text",
		"roles: [[api]]":                                          "roles (c.yaml:1): entry 1 is not plain text",
		"roles: {api: true}":                                      "roles (c.yaml:1): a mapping",
		"roles: []":                                               "roles (c.yaml:1): empty",
		"roles: [api, ~]":                                         "roles (c.yaml:1): entry 2 is blank",
		"vouchers: {modes: [A]}":                                  "vouchers.modes (c.yaml:1): a list",
		"vouchers: {modes: {A: ~}}":                               "entry 1 is blank",
		"log: {level: info}\n---\nlog: {}":                        "c.yaml: it holds more than one YAML document",
		"- a":                                                     "it is not a mapping",
		"log: {level: info":                                       "c.yaml: it is not valid YAML near line 1",
		"database:\n  url: memory:":                               "c.yaml: it is not valid YAML near line 2; look for indentation, an unclosed quote, or a value that needs quotes",
		"redis:\n  password: *hunter2":                            "it is not valid YAML",
		"redis: {addrs: [" + strings.Repeat("'h:1',", 101) + "]}": "101 entries",
	} {
		_, faults := parse(t, file)
		require.Contains(t, faults.Error(), says, file)
		require.NotContains(t, faults.Error(), "hunter2")
	}
}

func TestWhatIsEmptyAndNoFault(t *testing.T) {
	for _, file := range []string{"", "# nothing\n", "http:\n  # all commented out\nlog:\n", "---\n", "\ufefflog: {level: info}",
		"http: {admin_tokens: [], checkout_tokens: []}", "redis: {addrs: []}", "vouchers: {modes: {}}", "kafka: {brokers: [], properties: {}}"} {
		_, faults := parse(t, file)
		require.Empty(t, faults, file)
	}
}

func TestUnknownVariables(t *testing.T) {
	_, faults := parse(t, "", "VOUCHERD_HTTP_ADR=x", "VOUCHERD_=x", "VOUCHERD_CONFIG_FILE=x", "VOUCHERD_http_addr=x", "VOUCHERD_TEST_DATABASE_URL=x",
		"VOUCHERD_TEST=x", "VOUCHERD_CONFIG=x", "OTHER=x", "VOUCHERDX=1")
	var names []string
	for _, f := range faults {
		require.Equal(t, "unknown variable", f.Wrong)
		names = append(names, f.Source)
	}
	require.Equal(t, []string{"VOUCHERD_", "VOUCHERD_CONFIG_FILE", "VOUCHERD_HTTP_ADR", "VOUCHERD_TEST", "VOUCHERD_http_addr"}, names)
}

func TestAVariableBesideItsFile(t *testing.T) {
	src := config.Source{ServedModes: allModes, ReadFile: func(string) ([]byte, error) { return []byte("warn"), nil }}
	for _, environ := range [][]string{
		{"VOUCHERD_LOG_LEVEL=info", "VOUCHERD_LOG_LEVEL_FILE=x"}, {"VOUCHERD_LOG_LEVEL_FILE=x", "VOUCHERD_LOG_LEVEL=info"},
	} {
		_, faults := parseWith(t, src, "", environ...)
		oneFault(t, faults, "log.level", "VOUCHERD_LOG_LEVEL", "set beside VOUCHERD_LOG_LEVEL_FILE")
	}
}

func TestFaultsComeTogetherAndInOneOrder(t *testing.T) {
	const file = "zzz: 1\nlog: {level: x, format: y}\nreservation: {ttl: 0s}\nhttp: {addr: x}\naaa: 1\n"
	environ := []string{"VOUCHERD_ZZZ=1", "VOUCHERD_AAA=1", "VOUCHERD_ROLES=x"}
	_, first := parse(t, file, environ...)
	var keys []string
	for _, f := range first {
		keys = append(keys, f.Key+" "+f.Source)
	}
	require.Equal(t, []string{"http.addr c.yaml:4", "roles VOUCHERD_ROLES", "reservation.ttl c.yaml:3", "log.level c.yaml:2", "log.format c.yaml:2",
		" c.yaml:1", " c.yaml:5", " VOUCHERD_AAA", " VOUCHERD_ZZZ"}, keys)
	require.Equal(t, len(first)+1, strings.Count(first.Error(), "\n")+1, "a heading and one line for each")
	for range 20 {
		_, again := parse(t, file, environ...)
		require.Equal(t, first.Error(), again.Error())
	}
}

var exampleKey = regexp.MustCompile(`^( *)#?([a-z_]+):( .*)?$`)

// exampleKeys returns the dotted keys of the example file, commented out or not.
func exampleKeys(example string) []string {
	var keys []string
	section := ""
	for line := range strings.Lines(example) {
		m := exampleKey.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch {
		case m == nil:
		case m[1] == "" && m[3] == "":
			section = m[2] + "."
		case m[1] == "":
			keys = append(keys, m[2])
		default:
			keys = append(keys, section+m[2])
		}
	}
	return keys
}

func TestTheExampleIsTheDefaults(t *testing.T) {
	content, err := os.ReadFile("../../config.example.yaml")
	require.NoError(t, err)
	example := string(content)

	var want []string
	for _, c := range samples() {
		want = append(want, c.key)
	}
	require.Equal(t, want, exampleKeys(example), "every key, in the published order")

	defaults, faults := parse(t, "")
	require.Empty(t, faults)
	s, faults := parse(t, example)
	require.Empty(t, faults)
	require.Equal(t, defaults, s)

	all := regexp.MustCompile(`(?m)^( *)#([a-z_]+:)`).ReplaceAllString(example, "$1$2")
	s, faults = parse(t, all)
	require.Empty(t, faults, "what is commented out is valid too")
	require.Equal(t, "mymaster", s.Redis.MasterName)
}

func TestAModeThatIsNotServedStopsTheStart(t *testing.T) {
	src := config.Source{Path: "c.yaml", ServedModes: []voucher.Mode{voucher.Standard}}
	_, faults := parseWith(t, src, "vouchers:\n  default_mode: flash-sync\n  modes: {B: flash-async, A: flash-sync, C: standard}\n")
	require.Len(t, faults, 3)
	require.Equal(t, "vouchers.default_mode (c.yaml:2): flash-sync is not served by this build; it serves standard", faults[0].String())
	require.Equal(t, "vouchers.modes (c.yaml:3): voucher A: flash-sync is not served by this build; it serves standard", faults[1].String())
	require.Contains(t, faults[2].Wrong, "voucher B: flash-async")
}

func TestImpossibleCombinations(t *testing.T) {
	const pg, tok = "database.url: 'postgres://h/db'\n", "http.admin_tokens: 'a:0123456789abcdef'\n"
	for file, key := range map[string]string{
		"http.addr: ':8080'":                                                               "http.addr",
		"http.addr: '0.0.0.0:8080'":                                                        "http.addr",
		"http.addr: '[::]:8080'":                                                           "http.addr",
		"http.addr: 'shop:8080'":                                                           "http.addr",
		"http.addr: '127.0.0.1:1'":                                                         "",
		"http.addr: '127.9.9.9:1'":                                                         "",
		"http.addr: '[::1]:1'":                                                             "",
		"http.addr: 'localhost:1'":                                                         "",
		"http.addr: '[::ffff:127.0.0.1]:1'":                                                "",
		tok + "http.addr: ':8080'":                                                         "",
		"http.checkout_tokens: 'a:0123456789abcdef'\nhttp.addr: ':1'":                      "",
		tok + "http.checkout_tokens: 'b:0123456789abcdef'":                                 "http.checkout_tokens",
		tok + "http.checkout_tokens: 'a:0123456789abcdeg'":                                 "http.checkout_tokens",
		tok + "http.checkout_tokens: 'b:0123456789abcdeg'":                                 "",
		"http.addr: ':8080'\nhttp.admin_tokens: 'a:short'":                                 "http.admin_tokens",
		"http: {request_timeout: 15s, drain_delay: 10001ms}":                               "http.drain_delay",
		"http: {request_timeout: 15s, drain_delay: 10s}":                                   "",
		"roles: api,jobs":                                                                  "roles",
		"roles: jobs,writer,api":                                                           "",
		pg + "roles: api":                                                                  "",
		"redis.master_name: m":                                                             "redis.master_name",
		"redis.min_replicas: 1":                                                            "redis.min_replicas",
		"kafka: {topic: t, dead_letter_topic: t}":                                          "kafka.dead_letter_topic",
		"vouchers.default_mode: flash-async":                                               "",
		pg + "vouchers.default_mode: flash-sync":                                           "vouchers.default_mode",
		pg + "vouchers.modes: A=flash-sync":                                                "vouchers.modes",
		pg + "redis.addrs: 'h:1'\nvouchers.modes: A=flash-sync":                            "",
		pg + "redis.addrs: 'h:1'\nvouchers.modes: A=flash-async":                           "vouchers.modes",
		pg + "redis.addrs: 'h:1'\nkafka.brokers: 'h:2'\nvouchers.modes: A=flash-async":     "",
		pg + "redis.addrs: 'h:1,i:1'\nkafka.brokers: 'h:2'\nvouchers.modes: A=flash-async": "vouchers.modes",
		pg + "redis.addrs: 'h:1'\nredis.master_name: m\nkafka.brokers: 'h:2'\nvouchers.modes: A=flash-async":      "vouchers.modes",
		pg + "redis.addrs: 'h:1,i:1'\nredis.min_replicas: 1\nkafka.brokers: 'h:2'\nvouchers.modes: A=flash-async": "",
	} {
		_, faults := parse(t, file)
		if key == "" {
			require.Empty(t, faults, file)
			continue
		}
		require.Len(t, faults, 1, file)
		require.Equal(t, key, faults[0].Key, file)
	}
}
