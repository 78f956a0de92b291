// Package cli is the command line of voucherd: it reads arguments, calls what it was given for each command, and
// prints the outcome. It decides nothing else, and knows neither settings nor stores.
//
// The exit status is part of the interface: 0 done; 1 it failed, or a difference was found; 2 it was called wrongly,
// and nothing was done. What was asked for goes to stdout, everything else to stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"voucherd/domain/audit"
	"voucherd/domain/voucher"
)

// The exit statuses.
const (
	ExitDone   = 0
	ExitFailed = 1 // or a difference was found
	ExitUsage  = 2
)

// Actions are what the commands do. Each gets the path that --config gave, "" when it was left out; an error is
// printed as it is, so it holds no secret.
type Actions struct {
	// Version is what `version` prints.
	Version string
	// Serve runs until ctx ends and everything is closed; that is no error.
	Serve func(ctx context.Context, configPath string) error
	// MigrateUp applies what is pending and returns it, in the order in which it was applied.
	MigrateUp func(ctx context.Context, configPath string) ([]Migration, error)
	// MigrateDown undoes the latest migration, or all of them, and returns what it undid, in that order.
	MigrateDown func(ctx context.Context, configPath string, all bool) ([]Migration, error)
	// MigrateStatus returns every known migration, in ascending order.
	MigrateStatus func(ctx context.Context, configPath string) ([]Migration, error)
	// Audit recomputes a voucher's books from its history; a difference is in the report and no error.
	Audit func(ctx context.Context, configPath string, code voucher.Code) (audit.Report, error)
	// ConfigCheck returns the settings in force, secrets hidden; its error holds every fault.
	ConfigCheck func(ctx context.Context, configPath string) (string, error)
}

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt time.Time // zero while it is pending
}

// Run runs the command that args name (without the program's own name) and returns the exit status. Commands end when
// ctx does.
func Run(ctx context.Context, a Actions, args []string, stdout, stderr io.Writer) (exit int) {
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take the process's own
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	if !errors.Is(err, errDifference) { // the verdict said it already
		_, _ = fmt.Fprintln(stderr, "voucherd: "+err.Error()) // there is nobody else to tell
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitFailed
}

func newRoot(a Actions) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "voucherd",
		Short: "Voucher redemption that never oversells",
		Long: `voucherd keeps vouchers with a limited number of uses and gives them to orders: reserve, confirm, release.

Settings come from a YAML file (--config, or the variable VOUCHERD_CONFIG) and from the environment, which wins.
Exit status: 0 done; 1 failed, or a difference was found; 2 called wrongly.`,
		Example: `  voucherd serve
  VOUCHERD_DATABASE_URL=postgres://shop:secret@localhost/vouchers voucherd serve
  voucherd config check --config /etc/voucherd.yaml`,
		SilenceErrors: true, // Run prints them
		SilenceUsage:  true,
	})
	path := root.PersistentFlags().String("config", "", "YAML `FILE` with settings (default: the one that VOUCHERD_CONFIG names, if it is set)")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		// An empty variable in a script must not make a process run on defaults.
		if f := c.Flag("config"); f.Changed && *path == "" {
			return misuse(c, "--config is blank")
		}
		return nil
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return misuse(c, err.Error()) })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newServe(a, path), newMigrate(a, path), newAudit(a, path), newConfig(a, path), newVersion(a))
	return root
}
