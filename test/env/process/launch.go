package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// launcher starts every child from one thread that lives as long as this
// process wants it to: Linux ties the death signal to the thread which forked,
// not to the process, and Go may end other threads early.
var launcher struct {
	sync.Mutex
	requests chan launchRequest
	ended    chan struct{}
}

type launchRequest struct {
	cmd    *exec.Cmd
	result chan error
}

func launch(cmd *exec.Cmd) error {
	launcher.Lock()
	defer launcher.Unlock()
	if launcher.requests == nil {
		launcher.requests = make(chan launchRequest)
		launcher.ended = make(chan struct{})
		go runLauncher(launcher.requests, launcher.ended)
	}
	r := launchRequest{cmd: cmd, result: make(chan error, 1)}
	launcher.requests <- r
	return <-r.result
}

func runLauncher(requests <-chan launchRequest, ended chan<- struct{}) {
	defer close(ended)
	// Never unlocked: the thread ends with this goroutine, and what was started
	// from it and still runs ends too.
	runtime.LockOSThread()
	for r := range requests {
		r.result <- r.cmd.Start()
	}
}

// Shutdown ends the launching thread, for a check that no goroutine is left.
// Children that still run get their death signal.
func Shutdown() {
	launcher.Lock()
	defer launcher.Unlock()
	if launcher.requests == nil {
		return
	}
	close(launcher.requests)
	<-launcher.ended
	launcher.requests = nil
}
