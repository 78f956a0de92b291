package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// RaceVariable set to 1 builds the voucherd under test with the race detector.
const RaceVariable = "VOUCHERD_TEST_RACE"

const buildLimit = 10 * time.Minute

var errNoModule = errors.New("go.mod not found")

var binary struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// Build returns the path of a voucherd binary, built once per test process.
func Build(t testing.TB) string {
	t.Helper()
	binary.once.Do(func() { binary.path, binary.err = build(".") })
	if binary.err != nil {
		t.Fatalf("build voucherd: %v", binary.err)
	}
	return binary.path
}

// build builds the main package of that directory, counted from the root.
func build(dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	binary.dir, err = os.MkdirTemp("", "voucherd-binary-")
	if err != nil {
		return "", fmt.Errorf("directory of the binary: %w", err)
	}
	path := filepath.Join(binary.dir, "voucherd")
	// No version control stamp: it needs a repository that git trusts.
	args := []string{"build", "-buildvcs=false", "-o", path}
	if os.Getenv(RaceVariable) == "1" {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, dir)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}

// moduleRoot finds the repository: tests run in their package's directory.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errNoModule
	}
	return filepath.Dir(file), nil
}

func removeBinary() error {
	if binary.dir == "" {
		return nil
	}
	return os.RemoveAll(binary.dir)
}
