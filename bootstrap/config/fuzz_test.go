package config_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/bootstrap/config"
)

// Whatever stands in the file or a variable: settings or faults, never a panic; and what was accepted can be printed.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("../../config.example.yaml")
	require.NoError(f, err)
	f.Add(example, "VOUCHERD_HTTP_ADDR=localhost:1")
	f.Add([]byte(secretFile), "VOUCHERD_KAFKA_PROPERTIES=a=b,c=d")
	f.Add([]byte("a: &a [*a]\n? {b: c}\n: <<: d"), "VOUCHERD_DATABASE_URL=postgres://u:p@h/d?x=y")
	f.Add([]byte("roles: !x [api]\n---\n"), "VOUCHERD_VOUCHERS_MODES=A=standard")
	f.Fuzz(func(t *testing.T, file []byte, variable string) {
		s, err := config.Parse(file, config.Source{ServedModes: allModes, Environ: []string{variable},
			ReadFile: func(string) ([]byte, error) { return file, nil }})
		if err == nil {
			require.NotEmpty(t, s.Redacted())
			return
		}
		var faults config.Faults
		require.ErrorAs(t, err, &faults)
		require.NotEmpty(t, faults.Error())
	})
}
