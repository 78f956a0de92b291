// Command voucherd hands out the uses of vouchers during checkout, and never one too many. See README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"voucherd/bootstrap"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	// The second signal finds no handler and ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(bootstrap.Run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
