package config_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"voucherd/bootstrap/config"
)

const secretFile = `
http:
  admin_tokens: ["ann:hunter2-hunter2-hunter2"]
  checkout_tokens: "bob:hunter2-hunter2-hunter3, eve:hunter2-hunter2-hunter4"
database:
  url: "postgres://shop:hunter2@db:5432/vouchers?sslmode=require&sslpassword=hunter2&password=a&hunter2=1"
redis:
  addrs: h:1
  password: hunter2
kafka:
  properties: {sasl.password: hunter2, ssl.key.pem: hunter2, some.new.thing: hunter2, linger.ms: 5, security.protocol: SASL_SSL}
`

func requireNoSecret(t *testing.T, printed string) {
	t.Helper()
	require.NotContains(t, printed, "hunter2")
	require.NotContains(t, printed, "68756e74657232", "in hexadecimal")
	require.NotContains(t, printed, "104 117 110 116", "as bytes")
}

func TestNoSecretIsPrinted(t *testing.T) {
	s, faults := parse(t, secretFile)
	require.Empty(t, faults)
	require.Equal(t, "hunter2", s.Redis.Password.Reveal())

	type wrapper struct{ inner config.Secret } // fmt calls no methods on what it finds here
	type settingsWrapper struct{ inner config.Settings }
	values := []any{s, &s, s.HTTP, &s.HTTP.AdminTokens, s.Database, s.Redis, s.Kafka, s.Redis.Password, &s.Redis.Password, s.Kafka.Properties,
		wrapper{s.Redis.Password}, settingsWrapper{s}, []any{s.Redis.Password}, map[config.Secret]int{s.Redis.Password: 1}}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%30v", "%t"} {
			requireNoSecret(t, fmt.Sprintf(verb, v))
		}
		if out, err := json.Marshal(v); err == nil {
			requireNoSecret(t, string(out))
		}
	}
	requireNoSecret(t, s.Redacted())
	requireNoSecret(t, s.String())
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal, xml.Marshal} {
		out, err := marshal(s.Database)
		require.NoError(t, err)
		requireNoSecret(t, string(out))
		require.Contains(t, string(out), "***")
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("settings", "all", s, "redis", s.Redis, "one", s.Redis.Password)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("settings", "all", s, "redis", s.Redis, "one", s.Redis.Password)
	requireNoSecret(t, logged.String())
}

func TestASecretShowsOnlyWhetherItIsSet(t *testing.T) {
	set, unset := config.NewSecret("hunter2"), config.NewSecret("")
	require.Equal(t, "***", set.String())
	require.True(t, set.IsSet())
	require.Equal(t, `config.Secret("***")`, fmt.Sprintf("%#v", set))
	require.Empty(t, unset.String())
	require.False(t, unset.IsSet())
	require.Empty(t, unset.Reveal())
	require.Equal(t, config.Secret{}, unset)
}

// Whatever is wrong elsewhere in the settings, and whatever is wrong with the secret itself, it is not in a fault.
func TestNoSecretIsInAFault(t *testing.T) {
	unreadable := func(string) ([]byte, error) { return nil, fmt.Errorf("open hunter2: no such file") }
	for _, environ := range [][]string{
		{"VOUCHERD_ZZZ=hunter2"},
		{"VOUCHERD_DATABASE_URL=postgres://u:hunter2/@h/db"},
		{"VOUCHERD_DATABASE_URL=postgres://u:1/hunter2@h/db"},
		{"VOUCHERD_DATABASE_URL=postgres://u:1?hunter2@h/db"},
		{"VOUCHERD_DATABASE_URL=postgres://u:1#hunter2@h/db"},
		{"VOUCHERD_DATABASE_URL=postgres://u:hunter2%@h/db"},
		{"VOUCHERD_DATABASE_URL=hunter2"},
		{"VOUCHERD_DATABASE_URL_FILE=hunter2"},
		{"VOUCHERD_HTTP_ADMIN_TOKENS=hunter2"},
		{"VOUCHERD_HTTP_ADMIN_TOKENS=hunter2-hunter2-hunter2"},
		{"VOUCHERD_HTTP_ADMIN_TOKENS=ann:hunter2"},
		{"VOUCHERD_HTTP_ADMIN_TOKENS=ann:hunter2-hunter2-hunter2,bob:hunter2-hunter2-hunter2"},
		{"VOUCHERD_HTTP_CHECKOUT_TOKENS=eve:hunter2 hunter2 hunter2", "VOUCHERD_HTTP_ADMIN_TOKENS=x"},
		{"VOUCHERD_REDIS_PASSWORD=hunter2", "VOUCHERD_REDIS_PASSWORD_FILE=hunter2"},
		{"VOUCHERD_REDIS_ADDRS=redis://:hunter2@h:6379"},
		{"VOUCHERD_HTTP_ADDR=u:hunter2@h:80"},
		{"VOUCHERD_KAFKA_PROPERTIES=sasl.password=x,hunter2"},
		{"VOUCHERD_KAFKA_PROPERTIES=sasl.password=x,HUNTER2hunter2=1"},
		{"VOUCHERD_KAFKA_PROPERTIES=sasl.password=hunter2,sasl.password=hunter2"},
	} {
		src := config.Source{Path: "c.yaml", ServedModes: allModes, ReadFile: unreadable}
		for _, file := range []string{"", secretFile, secretFile + "reservation: {ttl: 0s}"} {
			_, faults := parseWith(t, src, file, environ...)
			require.NotEmpty(t, faults, environ)
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				requireNoSecret(t, fmt.Sprintf(verb, faults))
			}
			requireNoSecret(t, faults.Error())
		}
	}
}

func TestRedactedShowsWhatIsInForce(t *testing.T) {
	s, faults := parse(t, secretFile, "VOUCHERD_VOUCHERS_MODES=b=standard,a=standard")
	require.Empty(t, faults)
	out := s.Redacted()
	for _, line := range []string{"admin_tokens: ['ann:***']", "checkout_tokens: ['bob:***', 'eve:***']",
		"url: postgres://shop:***@db:5432/vouchers?***&***&sslmode=require&***", "password: '***'", "sasl.password: '***'", `linger.ms: "5"`,
		"security.protocol: SASL_SSL", "roles: [api, writer, jobs]", "ttl: 15m", "        A: standard\n        B: standard\n", `replication_factor: ""`} {
		require.Contains(t, out, line)
	}
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(out), &tree))
	require.Len(t, tree, 9)

	s, faults = parse(t, "")
	require.Empty(t, faults)
	require.Contains(t, s.Redacted(), "url: 'memory:'")
	require.Contains(t, s.Redacted(), "modes: {}")
}
