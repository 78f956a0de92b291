// Package bootstrap puts the house together: it reads the settings, fills each port with an adapter (wire.go holds the
// whole map), and starts and stops what a process does. Nothing else knows fx.
package bootstrap

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"voucherd/adapters/cli"
	"voucherd/bootstrap/config"
	"voucherd/domain/voucher"
)

// Bounds of a process's start and end.
const (
	startTimeout = 10 * time.Minute // what migrations may take; a database that is not up has databaseWait
	stopTimeout  = 30 * time.Second
)

// served are the modes that this build can decide in.
var served = []voucher.Mode{voucher.Standard}

// version is set when a release is built (-ldflags "-X voucherd/bootstrap.version=…").
var version = ""

// process is what the operating system gave.
type process struct {
	environ        []string
	stdout, stderr io.Writer
}

// Run runs the command line and returns the exit status: 0 done, 1 failed or a difference was found, 2 called wrongly.
// ctx ends when the process is told to stop.
func Run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	p := process{environ, stdout, stderr}
	return cli.Run(ctx, cli.Actions{
		Version:       Version(),
		Serve:         p.serve,
		MigrateUp:     p.migrateUp,
		MigrateDown:   p.migrateDown,
		MigrateStatus: p.migrateStatus,
		Audit:         p.audit,
		ConfigCheck: func(_ context.Context, path string) (string, error) {
			s, err := p.settings(path)
			if err != nil {
				return "", err
			}
			return s.Redacted(), nil
		},
	}, args, stdout, stderr)
}

// Version names the build: the release, or else what the toolchain knows of it.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (p process) settings(path string) (config.Settings, error) {
	return config.Load(config.Source{Path: path, Environ: p.environ, ServedModes: served, Terminal: isTerminal(p.stderr)})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// serve runs the roles of the settings until ctx ends, and then closes everything in the opposite order.
func (p process) serve(ctx context.Context, path string) error {
	s, err := p.settings(path)
	if err != nil {
		return err
	}
	log, err := newLogger(s.Log, p.stderr)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // a terminal can't be synced, and nobody is left to tell
	failure := make(chan error, 1)
	app := fx.New(graph(s, log, failure), fx.StartTimeout(startTimeout), fx.StopTimeout(stopTimeout))
	if err := app.Err(); err != nil {
		return dig.RootCause(err) // not the way there
	}
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := app.Start(startCtx); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before it was up: that is no failure
		}
		return err
	}
	// fx's own Wait would listen for signals as well, and then the second one could not end the process at once.
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case err = <-failure:
		log.Error("stopping", zap.Error(err))
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := errors.Join(err, app.Stop(stopCtx)); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}
