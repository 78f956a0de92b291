package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// pipeGrace bounds how long a dead child's output is awaited when a grandchild
// still holds the pipe.
const pipeGrace = 2 * time.Second

// Child is a started process that is always waited for. Its methods are safe
// for concurrent use.
type Child struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts cmd. On Linux it gets the signal death when this process ends,
// however that comes about.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr, death)
	cmd.WaitDelay = pipeGrace
	if err := launch(cmd); err != nil {
		return nil, err
	}
	c := &Child{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		// The outcome is read from ProcessState: an exit status isn't a failure here.
		_ = cmd.Wait()
	}()
	return c, nil
}

// Pid is the child's process id, also after its end.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done is closed once the child has ended and its output is complete.
func (c *Child) Done() <-chan struct{} { return c.done }

// Signal sends s; a child that has ended already is no error.
func (c *Child) Signal(s syscall.Signal) error {
	err := c.cmd.Process.Signal(s)
	if isEnded(err) {
		return nil
	}
	return err
}

// Wait waits up to limit for the end. The exit code is -1 after a death by
// signal; ok is false when the child still runs.
func (c *Child) Wait(limit time.Duration) (code int, ok bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		// Both may be ready, and select picks either.
		if !c.Exited() {
			return 0, false
		}
	}
	return c.cmd.ProcessState.ExitCode(), true
}

// Exited says whether the child has ended.
func (c *Child) Exited() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Kill ends the child at once and waits for it, also when it is stopped.
func (c *Child) Kill() error {
	if err := c.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-c.done
	return nil
}

// State describes how the child ended, for messages: "exit status 1".
func (c *Child) State() string {
	if !c.Exited() {
		return "running"
	}
	return c.cmd.ProcessState.String()
}

// Poll calls ready until it says true, about a hundred times a second, and
// reports whether it did within limit.
func Poll(limit time.Duration, ready func() bool) bool {
	const pause = 10 * time.Millisecond
	for deadline := time.Now().Add(limit); ; time.Sleep(pause) {
		if ready() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

func isEnded(err error) bool {
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone)
}
