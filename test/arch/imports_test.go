package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "voucherd"

// listed is what "go list" says about a package.
type listed struct {
	ImportPath string   `json:"ImportPath"`
	Imports    []string `json:"Imports"`
	Standard   bool     `json:"Standard"`
}

// arrows are the rules: the first room that holds a package says what its
// product code may import. domain <- application <- adapters <- bootstrap.
var arrows = []struct {
	room string
	may  func(importer, imported string, standard bool) bool
}{
	{"domain", func(_, to string, standard bool) bool {
		return standard || in(to, "domain")
	}},
	{"application", func(_, to string, standard bool) bool {
		return standard || in(to, "domain", "application")
	}},
	{"migrations", func(_, to string, _ bool) bool { return to == "embed" }},
	{"adapters", func(from, to string, _ bool) bool {
		return !ours(to) && !isFx(to) || in(to, "domain", "application", "migrations", technology(from))
	}},
	// Settings are read and judged before anything is wired.
	{"bootstrap/config", func(_, to string, _ bool) bool { return !in(to, "test") && !isFx(to) }},
	{"bootstrap", func(_, to string, _ bool) bool { return !in(to, "test") }},
	{"test", func(_, _ string, _ bool) bool { return true }},
	// main.go
	{"", func(_, to string, standard bool) bool { return standard || in(to, "bootstrap") }},
}

func TestArrowsPointOneWay(t *testing.T) {
	packages := list(t, "./...")
	standard := make(map[string]bool)
	for _, p := range list(t, "-deps", "./...") {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range packages {
		for _, imported := range p.Imports {
			require.True(t, allowed(p.ImportPath, imported, standard[imported]),
				"%s must not import %s", p.ImportPath, imported)
		}
	}
}

func TestTheRulesForbid(t *testing.T) {
	for _, bad := range [][2]string{
		{"domain/voucher", "github.com/x/y"},
		{"domain/voucher", "voucherd/application/port"},
		{"application/reservation", "voucherd/adapters/memory"},
		{"application/reservation", "go.uber.org/zap"},
		{"adapters/rest", "voucherd/adapters/memory"},
		{"adapters/rest", "voucherd/bootstrap"},
		{"adapters/rest", "go.uber.org/fx"},
		{"adapters/rest", "voucherd/test/contract"},
		{"bootstrap", "voucherd/test/env"},
		{"bootstrap/config", "go.uber.org/fx"},
		{"migrations", "voucherd/domain/voucher"},
		{"", "voucherd/adapters/rest"},
	} {
		require.False(t, allowed(strings.TrimSuffix(module+"/"+bad[0], "/"), bad[1], false), "%v", bad)
	}
	for _, good := range [][2]string{
		{"adapters/rest", "voucherd/adapters/rest/openapi"},
		{"adapters/postgres", "voucherd/migrations"},
		{"bootstrap", "go.uber.org/fx"},
		{"test/contract", "voucherd/adapters/memory"},
	} {
		require.True(t, allowed(module+"/"+good[0], good[1], false), "%v", good)
	}
}

func allowed(importer, imported string, standard bool) bool {
	for _, rule := range arrows {
		if in(importer, rule.room) {
			return rule.may(importer, imported, standard)
		}
	}
	return false
}

// in says whether a package is in one of the rooms; the room "" is the module.
func in(path string, rooms ...string) bool {
	for _, room := range rooms {
		root := strings.TrimSuffix(module+"/"+room, "/")
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

func ours(path string) bool { return in(path, "") }

func isFx(path string) bool { return strings.HasPrefix(path+"/", "go.uber.org/fx/") }

// technology is the adapter that a package belongs to: "adapters/rest".
func technology(path string) string {
	parts := strings.Split(path, "/")
	const depth = 3
	return strings.Join(parts[1:min(depth, len(parts))], "/")
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Imports,Standard"}, args...)...)
	cmd.Dir = root(t)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, complaints.String())
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

// root is the repository: a test runs in its package's directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return dir
}
