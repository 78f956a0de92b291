package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newConfig(a Actions, path *string) *cobra.Command {
	c := group(&cobra.Command{
		Use:     "config",
		Short:   "Look at the settings",
		Example: "  voucherd config check",
	})
	c.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the settings and print those in force",
		Long: `Reads the settings as serve does, and starts nothing. Prints those in force as YAML, with *** for every secret; or
every fault, and exits 1.`,
		Example: `  voucherd config check --config /etc/voucherd.yaml
  VOUCHERD_RESERVATION_TTL=10m voucherd config check`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			settings, err := a.ConfigCheck(c.Context(), *path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), strings.TrimRight(settings, "\n"))
			return err
		},
	})
	return c
}
