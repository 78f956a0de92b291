package env

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"voucherd/test/env/process"
)

const (
	// addrVariable is voucherd's own setting.
	addrVariable = "VOUCHERD_HTTP_ADDR"

	readyLimit   = 45 * time.Second // a start waits up to 30 s for its database
	stopLimit    = 40 * time.Second // a drain takes up to 30 s
	runLimit     = 60 * time.Second
	portAttempts = 5
	raceExitCode = 66
)

// ProcOptions says how a voucherd is started. The zero value is "serve" on a
// free loopback port with default settings.
type ProcOptions struct {
	// Args are the command line, "serve" if empty.
	Args []string
	// Env are variables beside PATH, HOME and TMPDIR. Nothing else of the test
	// process's environment is passed on. VOUCHERD_HTTP_ADDR is a free loopback
	// port unless it is given here.
	Env map[string]string
	// Dir is the working directory, a fresh empty one if empty.
	Dir string
	// Stdin is what Run gives the command to read.
	Stdin string
	// Timeout replaces the time that a start or a Run may take.
	Timeout time.Duration
	// Unready returns from StartProc at once instead of waiting for /readyz.
	Unready bool
}

// Proc is a running voucherd. It is killed when its test ends.
type Proc struct {
	t     testing.TB
	child *process.Child
	addr  string
	out   *output
}

// StartProc starts a voucherd and waits until it says that it is ready.
func StartProc(t testing.TB, o ProcOptions) *Proc {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	for range portAttempts {
		p, portTaken := startProc(t, o)
		if !portTaken {
			return p
		}
	}
	t.Fatalf("voucherd: no free port in %d attempts", portAttempts)
	return nil
}

// startProc says portTaken when a stranger was quicker to listen on our port.
func startProc(t testing.TB, o ProcOptions) (p *Proc, portTaken bool) {
	t.Helper()
	p = &Proc{t: t, addr: o.Env[addrVariable], out: &output{}}
	chosen := p.addr == ""
	if chosen {
		port, err := process.ReservePort()
		if err != nil {
			t.Fatalf("port of voucherd: %v", err)
		}
		t.Cleanup(port.Release)
		p.addr = port.Address()
	}
	if len(o.Args) == 0 {
		o.Args = []string{"serve"}
	}
	cmd := command(t, o)
	cmd.Env = append(cmd.Env, addrVariable+"="+p.addr)
	cmd.Stdout, cmd.Stderr = p.out, p.out
	child, err := process.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("start voucherd: %v", err)
	}
	p.child = child
	t.Cleanup(p.finish)
	if o.Unready || p.awaitReady(orElse(o.Timeout, readyLimit)) {
		return p, false
	}
	if chosen && child.Exited() && strings.Contains(p.Logs(), "address already in use") {
		return nil, true
	}
	t.Fatalf("voucherd is not ready: %s (its output follows)", child.State())
	return nil, false
}

func (p *Proc) awaitReady(limit time.Duration) bool {
	ready := false
	process.Poll(limit, func() bool {
		ready = p.Ready()
		return ready || p.child.Exited()
	})
	return ready
}

// Ready asks /readyz once.
func (p *Proc) Ready() bool {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	// No connection is kept: it would be a goroutine left over.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// finish kills what still runs, and tells what there is to tell.
func (p *Proc) finish() {
	if err := p.child.Kill(); err != nil {
		p.t.Errorf("kill voucherd: %v", err)
	}
	if strings.Contains(p.Logs(), "WARNING: DATA RACE") {
		p.t.Errorf("voucherd %d has a data race (its output follows)", p.Pid())
	}
	if p.t.Failed() {
		p.t.Logf("end of the output of voucherd %d on %s (%s):\n%s",
			p.Pid(), p.addr, p.child.State(), lastLines(p.Logs()))
	}
}

// URL is the address of its API, without a slash at the end.
func (p *Proc) URL() string { return "http://" + p.addr }

// Addr is its host:port, for VOUCHERD_HTTP_ADDR of a successor.
func (p *Proc) Addr() string { return p.addr }

// Pid is its process id.
func (p *Proc) Pid() int { return p.child.Pid() }

// Logs is what it has written to stdout and stderr so far.
func (p *Proc) Logs() string { return p.out.String() }

// Signal sends it a signal; one that has ended hears nothing.
func (p *Proc) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.child.Signal(s); err != nil {
		p.t.Errorf("signal to voucherd: %v", err)
	}
}

// Kill ends it as kill -9 does, and waits for the end.
func (p *Proc) Kill() {
	p.t.Helper()
	if err := p.child.Kill(); err != nil {
		p.t.Errorf("kill voucherd: %v", err)
	}
}

// Stop sends SIGTERM, waits for the end and returns the exit code. A process
// that doesn't end in time fails the test and is killed: -1.
func (p *Proc) Stop() int {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	code, ok := p.child.Wait(stopLimit)
	if !ok {
		p.t.Errorf("voucherd did not stop within %v of SIGTERM", stopLimit)
		p.Kill()
		return -1
	}
	return code
}

// Wait waits up to limit for its end; ok is false if it still runs. The exit
// code is -1 after a death by signal.
func (p *Proc) Wait(limit time.Duration) (code int, ok bool) { return p.child.Wait(limit) }
