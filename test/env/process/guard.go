package process

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Guard kills frozen processes if the test process dies before it thaws them:
// a stopped process hears no other signal and would stay for ever.
type Guard struct {
	child *Child
	alive io.WriteCloser
}

func guard(processes []Info) (*Guard, error) {
	pids := make([]string, 0, len(processes))
	for _, p := range processes {
		pids = append(pids, strconv.Itoa(p.Pid))
	}
	// The pipe ends with us: then read fails, and the shell strikes.
	cmd := exec.Command("/bin/sh", "-c", "read -r thawed || kill -9 "+strings.Join(pids, " "))
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to the guard: %w", err)
	}
	// Signal 0 on our death: it is there to survive us for a moment.
	child, err := Start(cmd, syscall.Signal(0))
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &Guard{child: child, alive: alive}, nil
}

// Dismiss ends the guard's watch; on nil it does nothing.
func (g *Guard) Dismiss() error {
	if g == nil {
		return nil
	}
	if _, err := io.WriteString(g.alive, "thawed\n"); err != nil {
		return fmt.Errorf("dismiss the guard: %w", err)
	}
	<-g.child.Done()
	return nil
}
