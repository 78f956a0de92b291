package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// settleLimit bounds how long signalled processes may take to stop or to end.
const settleLimit = 10 * time.Second

var errUnsettled = errors.New("processes did not react to a signal in time")

// Info is one process of the system's table.
type Info struct {
	Pid, Parent int
	// State is the kernel's letter: T stopped, Z ended but not waited for.
	State byte
	// Started tells a process from a later one with the same id.
	Started string
}

// Descendants lists the children of pid, their children and so on, without
// pid itself.
func Descendants(pid int) ([]Info, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	var found []Info
	for parents := []int{pid}; len(parents) > 0; {
		var next []int
		for _, parent := range parents {
			for _, p := range all {
				if p.Parent == parent {
					found = append(found, p)
					next = append(next, p.Pid)
				}
			}
		}
		parents = next
	}
	return found, nil
}

// FreezeTree stops the child and all of its descendants: nothing answers, no
// connection is closed. The child goes first, so it can't start another one.
// The guard must be dismissed after they run again or are gone.
func FreezeTree(c *Child) (*Guard, error) {
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	tree := []Info{{Pid: c.Pid()}}
	if err := settle(tree, stopped); err != nil {
		return nil, err
	}
	below, err := signalDescendants(c, syscall.SIGSTOP)
	if err != nil {
		return nil, err
	}
	tree = append(tree, below...)
	if err := settle(tree, stopped); err != nil {
		return nil, err
	}
	return guard(tree)
}

// ThawTree lets a frozen tree run again.
func ThawTree(c *Child) error {
	if _, err := signalDescendants(c, syscall.SIGCONT); err != nil {
		return err
	}
	return c.Signal(syscall.SIGCONT)
}

// KillTree ends the child and all of its descendants at once, as a power cut
// would, and returns when all are gone.
func KillTree(c *Child) error {
	// Stopped first: it neither sees its children die nor replaces them, and no
	// process id is used again while it doesn't wait for them.
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	below, err := signalDescendants(c, syscall.SIGKILL)
	if err != nil {
		return err
	}
	if err := c.Kill(); err != nil {
		return err
	}
	return settle(below, ended)
}

func signalDescendants(c *Child, s syscall.Signal) ([]Info, error) {
	below, err := Descendants(c.Pid())
	if err != nil {
		return nil, err
	}
	for _, p := range below {
		if err := syscall.Kill(p.Pid, s); err != nil && !isEnded(err) {
			return nil, fmt.Errorf("signal %v to process %d: %w", s, p.Pid, err)
		}
	}
	return below, nil
}

func stopped(p Info, exists bool) bool { return !exists || p.State == 'T' || p.State == 'Z' }

func ended(p Info, exists bool) bool { return !exists || p.State == 'Z' }

// AwaitEnd waits until none of the processes is left.
func AwaitEnd(processes []Info) error { return settle(processes, ended) }

func settle(processes []Info, settled func(p Info, exists bool) bool) error {
	var failure error
	ok := Poll(settleLimit, func() bool {
		all, err := table()
		if err != nil {
			failure = err
			return true
		}
		for _, p := range processes {
			now, exists := all[p.Pid]
			if p.Started != "" && now.Started != p.Started {
				exists = false
			}
			if !settled(now, exists) {
				return false
			}
		}
		return true
	})
	if !ok {
		return errUnsettled
	}
	return failure
}
