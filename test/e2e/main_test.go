package e2e_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"voucherd/adapters/postgres"
	"voucherd/test/env"
)

// atOnce is how many tests run at a time unless the command line says another number: most of their time they wait
// for deadlines and servers, and not for a processor.
const atOnce = "3"

func TestMain(m *testing.M) {
	const name = "test.parallel"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		if err := flag.Set(name, atOnce); err != nil {
			panic(err)
		}
	}
	env.Main(m)
}

// longVariable set to 1 runs the cases that need volume with the numbers that they were written for.
const longVariable = "VOUCHERD_TEST_LONG"

// soon bounds what should happen at once, on a busy machine.
const soon = 30 * time.Second

// size is how much of something a test does: long in the long run, else quick.
func size(quick, long int) int {
	if os.Getenv(longVariable) == "1" {
		return long
	}
	return quick
}

func migrate(ctx context.Context, url string) error {
	_, err := postgres.MigrateUp(ctx, url)
	return err
}
