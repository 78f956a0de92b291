package env

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// useFake lets Build return the stand-in: these tests are about the
// environment, and don't wait for the product to compile.
func useFake(t *testing.T) {
	t.Helper()
	binary.once.Do(func() { binary.path, binary.err = build("./test/env/testdata/fake") })
	require.NoError(t, binary.err)
}

func TestAProcessIsReadyAndStopsInOrder(t *testing.T) {
	useFake(t)
	one, two := StartProc(t, ProcOptions{}), StartProc(t, ProcOptions{})
	require.NotEqual(t, one.URL(), two.URL())
	require.True(t, one.Ready())
	require.Equal(t, 0, one.Stop())
	require.Contains(t, one.Logs(), "drained")
	require.False(t, one.Ready())
	require.True(t, two.Ready())
}

func TestAKilledProcessHasASuccessorOnItsAddress(t *testing.T) {
	useFake(t)
	first := StartProc(t, ProcOptions{})
	_, ended := first.Wait(0)
	require.False(t, ended)
	first.Kill()
	code, ended := first.Wait(soon)
	require.True(t, ended)
	require.Equal(t, -1, code)
	second := StartProc(t, ProcOptions{Env: map[string]string{"VOUCHERD_HTTP_ADDR": first.Addr()}})
	require.Equal(t, first.URL(), second.URL())
	second.Signal(syscall.SIGTERM)
	code, ended = second.Wait(soon)
	require.True(t, ended)
	require.Equal(t, 0, code)
}

func TestAStoppedProcessIsKilledWithItsTest(t *testing.T) {
	useFake(t)
	var p *Proc
	t.Run("", func(t *testing.T) {
		p = StartProc(t, ProcOptions{Args: []string{"serve", "stubbornly"}})
		p.Signal(syscall.SIGSTOP)
	})
	_, ended := p.Wait(0)
	require.True(t, ended)
}

func TestACommandRuns(t *testing.T) {
	useFake(t)
	stdout, stderr, exit := Run(t, ProcOptions{Args: []string{"echo"}, Stdin: "hello"})
	require.Equal(t, "hello", stdout)
	require.Equal(t, "failed\n", stderr)
	require.Equal(t, 3, exit)
}

func TestTheCallersSettingsDoNotLeak(t *testing.T) {
	useFake(t)
	t.Setenv("VOUCHERD_DATABASE_URL", "postgres://leak")
	stdout, _, exit := Run(t, ProcOptions{Args: []string{"env"}, Env: map[string]string{"GIVEN": "yes"}})
	require.Equal(t, 0, exit)
	for line := range strings.Lines(stdout) {
		name, _, _ := strings.Cut(line, "=")
		require.Contains(t, []string{"PATH", "HOME", "TMPDIR", "GORACE", "GIVEN", "PWD"}, name)
	}
}
