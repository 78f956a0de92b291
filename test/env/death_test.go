//go:build linux

package env

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/test/env/process"
)

// deathVariable tells this test binary to start one of everything, write down
// the process ids and die.
const deathVariable = "ENV_TEST_DIE"

func TestNothingSurvivesTheTestProcess(t *testing.T) {
	report := os.Getenv(deathVariable)
	if report != "" {
		startEverythingAndDie(t, report)
	}
	// Not t.TempDir: that is private to us, and the server's account must reach it.
	dir, err := os.MkdirTemp("", "voucherd-death-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	report = dir + "/processes"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), deathVariable+"="+report, "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	require.ErrorContains(t, err, "killed", string(out))
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	var started map[int]string
	require.NoError(t, json.Unmarshal(text, &started))
	var processes []process.Info
	for pid, at := range started {
		processes = append(processes, process.Info{Pid: pid, Started: at})
	}
	require.NoError(t, process.AwaitEnd(processes))
}

func startEverythingAndDie(t *testing.T, report string) {
	t.Helper()
	useFake(t)
	running, frozen := StartPostgres(t), StartPostgres(t)
	frozen.Freeze()
	StartProc(t, ProcOptions{Args: []string{"serve", "stubbornly"}})
	below, err := process.Descendants(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, len(below), 10, "two servers with their children, one voucherd, one guard")
	require.NotEqual(t, running.Pid(), frozen.Pid())
	started := make(map[int]string)
	for _, p := range below {
		started[p.Pid] = p.Started
	}
	text, err := json.Marshal(started)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(report, text, 0o600))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
}
