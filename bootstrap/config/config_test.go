package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/bootstrap/config"
	"voucherd/domain/voucher"
)

// allModes is a build that serves everything, so that keys can be judged alone.
var allModes = voucher.Modes()

func parse(t *testing.T, file string, environ ...string) (config.Settings, config.Faults) {
	t.Helper()
	return parseWith(t, config.Source{Path: "c.yaml", ServedModes: allModes}, file, environ...)
}

func parseWith(t *testing.T, src config.Source, file string, environ ...string) (config.Settings, config.Faults) {
	t.Helper()
	src.Environ = environ
	s, err := config.Parse([]byte(file), src)
	if err == nil {
		return s, nil
	}
	require.Equal(t, config.Settings{}, s, "no half-read settings beside an error")
	var faults config.Faults
	require.ErrorAs(t, err, &faults)
	require.NotEmpty(t, faults)
	return s, faults
}

// The published table of keys and defaults, and what Settings hold for each.
func TestDefaultsAreThePublishedOnes(t *testing.T) {
	s, faults := parse(t, "")
	require.Empty(t, faults)
	want := config.Settings{
		HTTP:     config.HTTP{Addr: "127.0.0.1:8080", RequestTimeout: 2 * time.Second},
		Roles:    config.Roles{"api", "writer", "jobs"},
		Database: config.Database{URL: config.NewSecret("memory:"), MaxConnections: 16, AutoMigrate: true},
		Kafka: config.Kafka{Topic: "voucher-reserved", DeadLetterTopic: "voucher-reserved-dlt", Group: "voucher-writer",
			CreateTopics: true, Partitions: 12, Properties: map[string]config.Secret{}},
		Reservation: config.Reservation{TTL: 15 * time.Minute},
		Jobs:        config.Jobs{ExpireInterval: time.Minute, ReconcileInterval: time.Minute},
		Vouchers:    config.Vouchers{DefaultMode: voucher.Standard, Modes: map[voucher.Code]voucher.Mode{}},
		Log:         config.Log{Level: "info", Format: "json"},
	}
	require.Equal(t, want, s)
	require.True(t, s.Database.InMemory())
	require.True(t, s.HTTP.Open())

	s, faults = parseWith(t, config.Source{ServedModes: allModes, Terminal: true}, "")
	require.Empty(t, faults)
	require.Equal(t, "console", s.Log.Format)
	s, _ = parseWith(t, config.Source{ServedModes: allModes, Terminal: true}, "log: {format: json}")
	require.Equal(t, "json", s.Log.Format)
}

func variable(key string) string {
	return "VOUCHERD_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func nested(key, yaml string) string {
	if group, name, ok := strings.Cut(key, "."); ok {
		return group + ":\n  " + name + ": " + yaml + "\n"
	}
	return key + ": " + yaml + "\n"
}

func TestEveryKeyIsRead(t *testing.T) {
	for _, c := range samples() {
		t.Run(c.key, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "value")
			require.NoError(t, os.WriteFile(path, []byte(c.env+"\n"), 0o600))
			ways := map[string]func() (config.Settings, config.Faults){
				"nested in the file": func() (config.Settings, config.Faults) { return parse(t, c.with+"\n"+nested(c.key, c.yaml)) },
				"dotted in the file": func() (config.Settings, config.Faults) { return parse(t, c.with+"\n"+c.key+": "+c.yaml) },
				"environment":        func() (config.Settings, config.Faults) { return parse(t, c.with, variable(c.key)+"="+c.env) },
				"environment over the file": func() (config.Settings, config.Faults) {
					return parse(t, c.with+"\n"+nested(c.key, "?bad"), variable(c.key)+"="+c.env)
				},
				"file named by a variable":    func() (config.Settings, config.Faults) { return parse(t, c.with, variable(c.key)+"_FILE="+path) },
				"as the environment, in file": func() (config.Settings, config.Faults) { return parse(t, c.with+"\n"+nested(c.key, "'"+c.env+"'")) },
			}
			for way, read := range ways {
				s, faults := read()
				require.Empty(t, faults, way)
				require.Equal(t, c.is, c.want(s), way)
			}
		})
	}
}

func TestEveryBadValueIsAFault(t *testing.T) {
	for _, c := range samples() {
		blanks := map[string]string{"": "blank", " \t": "blank"}
		for _, values := range []map[string]string{c.bad, blanks} {
			for value, says := range values {
				t.Run(c.key+" "+value, func(t *testing.T) {
					byEnv := variable(c.key) + "=" + value
					read := func(string) ([]byte, error) { return []byte(value + "\n"), nil }
					src := config.Source{ServedModes: allModes, ReadFile: read, Path: "c.yaml"}
					_, faults := parseWith(t, src, c.with, byEnv)
					oneFault(t, faults, c.key, variable(c.key), says)
					_, faults = parseWith(t, src, c.with, variable(c.key)+"_FILE=x")
					oneFault(t, faults, c.key, variable(c.key)+"_FILE", says)
					_, faults = parseWith(t, src, c.with+"\n"+c.key+": '"+value+"'")
					oneFault(t, faults, c.key, "c.yaml:2", says)
				})
			}
		}
		t.Run(c.key+" null", func(t *testing.T) {
			for _, null := range []string{"", "null", "~", "# a remark"} {
				_, faults := parse(t, nested(c.key, null))
				require.Len(t, faults, 1)
				require.Equal(t, c.key, faults[0].Key)
				require.Equal(t, "blank", faults[0].Wrong)
			}
		})
	}
}

func oneFault(t *testing.T, faults config.Faults, key, source, says string) {
	t.Helper()
	require.Len(t, faults, 1, "%v", faults)
	require.Equal(t, key, faults[0].Key)
	require.Equal(t, source, faults[0].Source)
	require.Contains(t, faults[0].Wrong, says)
	require.NotEmpty(t, faults[0].Right)
	require.NotContains(t, faults[0].String(), "\n")
}

// F52: a hold time of zero turns nothing off, it stops the start, and every fault is told at once.
func TestF52AHoldTimeOfZeroStopsTheStart(t *testing.T) {
	for _, ttl := range []string{"0s", "-5m", "", "abc"} {
		_, faults := parse(t, "reservation:\n  ttl: "+ttl+"\njobs:\n  expire_interval: 0s\n")
		require.Len(t, faults, 2, "%q", ttl)
		require.Contains(t, faults.Error(), "reservation.ttl (c.yaml:2)")
		require.Contains(t, faults.Error(), "jobs.expire_interval (c.yaml:4)")

		_, faults = parse(t, "jobs:\n  expire_interval: 0s\n", "VOUCHERD_RESERVATION_TTL="+ttl)
		require.Len(t, faults, 2, "%q", ttl)
		require.Contains(t, faults.Error(), "reservation.ttl (VOUCHERD_RESERVATION_TTL)")
		require.Contains(t, faults.Error(), "jobs.expire_interval (c.yaml:2)")
	}
}

func TestTheNewlineOfAFileIsDroppedOnce(t *testing.T) {
	for content, want := range map[string]string{"s3\n": "s3", "s3\r\n": "s3", "s3": "s3", "s3\n\n": "s3\n", " s3 \n": " s3 "} {
		src := config.Source{ServedModes: allModes, ReadFile: func(string) ([]byte, error) { return []byte(content), nil }}
		s, faults := parseWith(t, src, "", "VOUCHERD_REDIS_PASSWORD_FILE=/run/p")
		require.Empty(t, faults)
		require.Equal(t, want, s.Redis.Password.Reveal())
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for cause, says := range map[error]string{fs.ErrNotExist: "there is none", fs.ErrPermission: "no permission", errors.New("s3cret"): "not a readable file"} {
		src := config.Source{ServedModes: allModes, Path: "c.yaml", ReadFile: func(string) ([]byte, error) { return nil, cause }}
		_, faults := parseWith(t, src, "", "VOUCHERD_REDIS_PASSWORD_FILE=s3cret")
		oneFault(t, faults, "redis.password", "VOUCHERD_REDIS_PASSWORD_FILE", says)
		require.NotContains(t, faults.Error(), "s3cret")

		src.Environ = []string{"VOUCHERD_LOG_LEVEL=loud"}
		_, err := config.Load(src)
		require.ErrorAs(t, err, &faults)
		require.Len(t, faults, 2, "the file's fault and the environment's")
		require.Contains(t, faults[0].Wrong, says)
	}
}

func TestLoadReadsTheDisk(t *testing.T) {
	dir := t.TempDir()
	path, large := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "large")
	require.NoError(t, os.WriteFile(path, []byte("log: {level: warn}"), 0o600))
	require.NoError(t, os.WriteFile(large, make([]byte, 1<<20+1), 0o600))

	s, err := config.Load(config.Source{ServedModes: allModes, Path: path, Environ: []string{"VOUCHERD_CONFIG=" + large, "PATH=/bin"}})
	require.NoError(t, err, "a path that is given wins over VOUCHERD_CONFIG")
	require.Equal(t, "warn", s.Log.Level)
	s, err = config.Load(config.Source{ServedModes: allModes, Environ: []string{"VOUCHERD_CONFIG=" + path, "VOUCHERD_TEST_X=1"}})
	require.NoError(t, err)
	require.Equal(t, "warn", s.Log.Level)

	for _, bad := range []string{large, dir, filepath.Join(dir, "none"), " "} {
		_, err = config.Load(config.Source{ServedModes: allModes, Environ: []string{"VOUCHERD_CONFIG=" + bad}})
		require.ErrorAs(t, err, new(config.Faults), bad)
	}
}
