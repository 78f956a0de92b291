package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// longestFile is what a reader holds in mind; contract suites are lists of
// cases and may be longer.
const longestFile = 300

func TestFilesFitAReader(t *testing.T) {
	for name, text := range goFiles(t) {
		if strings.HasPrefix(name, "test/contract/") {
			continue
		}
		lines := bytes.Count(text, []byte("\n"))
		require.LessOrEqual(t, lines, longestFile, "%s has too many lines: split it", name)
	}
}

// TestTimeComesFromTheClock: only adapters/…/clock.go may ask for it, and only
// tests may sleep.
func TestTimeComesFromTheClock(t *testing.T) {
	clock := regexp.MustCompile(`^adapters/([a-z]+/)?clock\.go$`)
	for name, text := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") || clock.MatchString(name) {
			continue
		}
		require.Empty(t, clockCalls(t, name, text), "%s: time is passed in", name)
	}
}

func TestClockCallsAreFound(t *testing.T) {
	const text = `package p
import when "time"
import "voucherd/time"
var a, b, c = when.Now, when.Sleep, time.Now
var d = when.Second`
	require.Equal(t, []string{"Now", "Sleep"}, clockCalls(t, "p.go", []byte(text)))
}

// clockCalls lists what a file uses of package time that reads or waits for
// the machine's clock.
func clockCalls(t *testing.T, name string, text []byte) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	local := ""
	for _, spec := range file.Imports {
		if spec.Path.Value != `"time"` {
			continue
		}
		local = "time"
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	require.NotEqual(t, ".", local, "%s imports time as its own", name)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, ok := selector.X.(*ast.Ident)
		forbidden := []string{"Now", "Since", "Until", "Sleep", "After", "Tick"}
		if ok && local != "" && from.Name == local && slices.Contains(forbidden, selector.Sel.Name) {
			found = append(found, selector.Sel.Name)
		}
		return true
	})
	return found
}

// TestNoFileKnowsAMachine: a path of somebody's computer means nothing on
// another one.
func TestNoFileKnowsAMachine(t *testing.T) {
	machine := regexp.MustCompile("(^|[\\s\"'`=(:<])/(home|root|work|Users)(/|\\s|[\"'`)]|$)")
	for name, text := range files(t) {
		require.Empty(t, machine.FindString(printable(text)), "in %s", name)
	}
}

// printable leaves binary files out.
func printable(text []byte) string {
	if bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return string(text)
}

func goFiles(t *testing.T) map[string][]byte {
	t.Helper()
	found := make(map[string][]byte)
	for name, text := range files(t) {
		if path.Ext(name) == ".go" {
			found[name] = text
		}
	}
	require.NotEmpty(t, found)
	return found
}

// files reads what belongs to the repository, tracked or about to be. Without
// git (an unpacked archive) that is all there is, hidden directories aside.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if err != nil {
		names = walk(t)
	}
	found := make(map[string][]byte, len(names))
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		found[name] = text
	}
	return found
}

func walk(t *testing.T) []string {
	t.Helper()
	var names []string
	require.NoError(t, fs.WalkDir(os.DirFS(root(t)), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Type().IsRegular():
			names = append(names, name)
		}
		return nil
	}))
	return names
}
