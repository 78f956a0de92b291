package cli

import "github.com/spf13/cobra"

func newServe(a Actions, path *string) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the service until it is told to stop",
		Long: `Runs the roles that the settings name until SIGTERM or SIGINT; then it turns unready, answers the requests in hand,
closes everything and exits 0 within 30 seconds.

Without settings it serves on 127.0.0.1:8080 and keeps everything in memory. On Postgres it first applies pending
migrations, unless database.auto_migrate is false.`,
		Example: `  voucherd serve
  voucherd serve --config /etc/voucherd.yaml`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.Serve(c.Context(), *path) },
	}
}
