package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func newMigrate(a Actions, path *string) *cobra.Command {
	c := group(&cobra.Command{
		Use:   "migrate",
		Short: "Change the schema of the database, or look at it",
		Example: `  voucherd migrate status
  voucherd migrate up`,
	})
	c.AddCommand(newMigrateUp(a, path), newMigrateDown(a, path), newMigrateStatus(a, path))
	return c
}

func newMigrateUp(a Actions, path *string) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Apply pending migrations",
		Long: `Applies every pending migration, one after the other, under a lock: several processes may do so at once, and serve
does so by itself unless database.auto_migrate is false.`,
		Example: "  voucherd migrate up --config /etc/voucherd.yaml",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := a.MigrateUp(c.Context(), *path)
			return report(c, "applied", done, err)
		},
	}
}

func newMigrateDown(a Actions, path *string) *cobra.Command {
	var all, yes bool
	c := &cobra.Command{
		Use:   "down --yes",
		Short: "Undo the latest migration: data is lost",
		Long: `Undoes the latest migration, or with --all every one. What the undone migrations had made is dropped with the data in
it, so it wants --yes. Stop every serving process before.`,
		Example: `  voucherd migrate down --yes
  voucherd migrate down --all --yes`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !yes {
				return misuse(c, "this drops tables or columns with the data in them: say --yes")
			}
			undone, err := a.MigrateDown(c.Context(), *path, all)
			return report(c, "undone", undone, err)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "undo every migration")
	c.Flags().BoolVar(&yes, "yes", false, "drop the data")
	return c
}

func newMigrateStatus(a Actions, path *string) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "List the migrations and when they were applied",
		Example: "  voucherd migrate status",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := a.MigrateStatus(c.Context(), *path)
			if err != nil {
				return err
			}
			return status(c.OutOrStdout(), all)
		},
	}
}

// report prints what was done, also when err cut it short: each migration stands by itself.
func report(c *cobra.Command, verb string, done []Migration, err error) error {
	out := c.OutOrStdout()
	if len(done) == 0 && err == nil {
		_, err = fmt.Fprintln(out, "nothing to do")
	}
	for _, m := range done {
		if _, werr := fmt.Fprintf(out, "%s %d %s\n", verb, m.Version, m.Name); err == nil {
			err = werr
		}
	}
	return err
}

func status(out io.Writer, all []Migration) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	lines := []string{"VERSION\tNAME\tAPPLIED\n"}
	for _, m := range all {
		when := "pending"
		if !m.AppliedAt.IsZero() {
			when = m.AppliedAt.UTC().Format(time.RFC3339)
		}
		lines = append(lines, fmt.Sprintf("%d\t%s\t%s\n", m.Version, m.Name, when))
	}
	for _, line := range lines {
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return w.Flush()
}
