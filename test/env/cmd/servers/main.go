// Command servers runs a command with real servers for tests beside it:
//
//	servers -- go test ./...
//
// It starts one private PostgreSQL for all test processes, names it to the
// command in VOUCHERD_TEST_DATABASE_URL (an address that is set already is
// left alone), stops it when the command has ended, and exits as that did. A
// Redis starts in no time, so each test process has its own.
//
//	servers -check [postgres|redis]
//
// only says whether that would work: exit 0, or 1 and what to install.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"voucherd/test/env/pgserver"
	"voucherd/test/env/process"
	"voucherd/test/env/redisserver"
)

const (
	urlVariable   = "VOUCHERD_TEST_DATABASE_URL"
	redisVariable = "VOUCHERD_TEST_REDIS_ADDRS"

	exitFailed = 1
	exitUsage  = 2
	// signalBase plus its number is how shells report a death by signal.
	signalBase = 128

	// grace is what an interrupted command has before it is killed.
	grace = 10 * time.Second

	// maxConnections is ample for test packages that run in parallel, each with
	// several processes and pools.
	maxConnections = "300"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 && args[0] == "-check" {
		return check(args[1:])
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: servers -- COMMAND [ARG]...\n       servers -check [postgres|redis]")
		return exitUsage
	}
	// From here on a signal ends the command first, then the server.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	environment := os.Environ()
	if os.Getenv(urlVariable) == "" {
		server, err := pgserver.Start(map[string]string{"max_connections": maxConnections})
		if err != nil {
			fmt.Fprintln(os.Stderr, "servers:", err)
			return exitFailed
		}
		defer stop(server)
		environment = append(environment, urlVariable+"="+server.URL())
	}
	return runCommand(args, environment, signals)
}

// found says of each server whether tests would find one.
var found = map[string]func() error{
	"postgres": func() error { return look(urlVariable, pgserver.Find) },
	"redis":    func() error { return look(redisVariable, redisserver.Find) },
}

func look(variable string, find func() (string, error)) error {
	if os.Getenv(variable) != "" {
		return nil
	}
	_, err := find()
	return err
}

// check looks for the named servers, or for all of them.
func check(names []string) int {
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(found))
	}
	code := 0
	for _, name := range names {
		find, ok := found[name]
		if !ok {
			return exitUsage
		}
		if err := find(); err != nil {
			fmt.Fprintln(os.Stderr, "servers:", err)
			code = exitFailed
		}
	}
	return code
}

func stop(server *pgserver.Server) {
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
	}
}

func runCommand(args, environment []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = environment
	// A group of its own: "go test" doesn't pass SIGTERM on to what it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child, err := process.Start(cmd, syscall.SIGKILL)
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		return exitFailed
	}
	select {
	case <-child.Done():
		return exitCode(child)
	case s := <-signals:
		number, ok := s.(syscall.Signal)
		if !ok {
			number = syscall.SIGTERM
		}
		interrupt(child, number)
		return signalBase + int(number)
	}
}

// interrupt ends the command and all that is in its group.
func interrupt(child *process.Child, s syscall.Signal) {
	report(syscall.Kill(-child.Pid(), s))
	child.Wait(grace)
	report(syscall.Kill(-child.Pid(), syscall.SIGKILL))
	<-child.Done()
}

func report(err error) {
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		fmt.Fprintln(os.Stderr, "servers:", err)
	}
}

func exitCode(child *process.Child) int {
	code, _ := child.Wait(0)
	if code < 0 {
		return exitFailed // a death by signal has no code
	}
	return code
}
