package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(a Actions) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  voucherd version",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "voucherd "+a.Version)
			return err
		},
	}
}
