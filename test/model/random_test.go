package model_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"voucherd/adapters/memory"
	"voucherd/adapters/postgres"
	"voucherd/application/upkeep"
	"voucherd/test/clock"
	"voucherd/test/contract"
	"voucherd/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

func TestMemory(t *testing.T) {
	run(t, 10, func() contract.Stores {
		clock := clock.At(contract.Start)
		store := memory.New(clock)
		return contract.Stores{Ledger: store, Reader: store, Books: store, Clock: clock}
	})
}

func TestPostgres(t *testing.T) {
	clock := clock.At(contract.Start)
	url := env.Database(t, func(ctx context.Context, url string) error {
		_, err := postgres.MigrateUp(ctx, url)
		return err
	})
	db, err := postgres.Open(postgres.Config{URL: url, MaxConnections: 4}, clock)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	// One database for all histories: each has codes and orders of its own, and none leaves a hold behind that another
	// one's expiry would find.
	run(t, 2, func() contract.Stores {
		clock.Advance(1000 * time.Hour)
		_, err := upkeep.NewExpirer(db, db, clock).Run(t.Context())
		require.NoError(t, err)
		clock.Advance(contract.Start.Sub(clock.Now()))
		return contract.Stores{Ledger: db, Reader: db, Books: db, Clock: clock}
	})
}

// run runs rounds of 100 random histories, each on what open gives. On a failure rapid prints the shortest history that
// it finds and the seed that leads there.
func run(t *testing.T, rounds int, open func() contract.Stores) {
	t.Helper()
	histories := 0
	for range rounds {
		rapid.Check(t, func(rt *rapid.T) {
			histories++
			h := begin(t.Context(), open(), fmt.Sprintf("H%06d-", histories))
			// Most histories are of vouchers that sell; the others come by Repeat.
			for _, code := range []string{"A", "B"} {
				h.opens(rt, h.prefix+code)
			}
			for range 2 {
				rt.Repeat(h.commands())
				h.check(rt)
			}
		})
	}
}

func (h *history) commands() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"create": h.create, "amend": h.amend, "reserve": h.reserve, "reserve another": h.reserve, "repeat": h.repeat,
		"batch": h.batch, "confirm": h.confirm, "release": h.release, "expire": h.expire, "pass": h.pass,
		"find": h.find, "list": h.list, "vouchers": h.vouchers,
	}
}
