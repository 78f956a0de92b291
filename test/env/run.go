package env

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"voucherd/test/env/process"
)

// Run runs voucherd until it ends and returns what it wrote and its exit code,
// -1 after a death by signal. No address is set for it.
func Run(t testing.TB, o ProcOptions) (stdout, stderr string, exit int) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	cmd := command(t, o)
	var out, errs output
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(o.Stdin), &out, &errs
	child, err := process.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("run voucherd: %v", err)
	}
	limit := orElse(o.Timeout, runLimit)
	code, ok := child.Wait(limit)
	if !ok {
		_ = child.Kill()
		t.Fatalf("voucherd %v did not end within %v\nstdout:\n%s\nstderr:\n%s",
			o.Args, limit, lastLines(out.String()), lastLines(errs.String()))
	}
	return out.String(), errs.String(), code
}

func command(t testing.TB, o ProcOptions) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(Build(t), o.Args...)
	cmd.Dir = o.Dir
	cmd.Env = []string{
		// A race ends the process at once, with a code of its own.
		"GORACE=halt_on_error=1 exitcode=" + strconv.Itoa(raceExitCode),
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range o.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func orElse(limit, otherwise time.Duration) time.Duration {
	if limit > 0 {
		return limit
	}
	return otherwise
}

// lastLines keeps a failure's report readable.
func lastLines(text string) string {
	const most = 200
	lines := strings.Split(text, "\n")
	if len(lines) > most {
		lines = append([]string{"[…]"}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, "\n")
}
