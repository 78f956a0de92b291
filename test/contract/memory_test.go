package contract_test

import (
	"testing"
	"time"

	"voucherd/adapters/memory"
	"voucherd/domain/voucher"
	"voucherd/test/clock"
	"voucherd/test/contract"
)

func TestMemory(t *testing.T) {
	contract.Ledger(t, func(_ testing.TB, clock *clock.Clock) contract.Stores {
		s := memory.New(clock)
		return contract.Stores{Ledger: s, Reader: s, Books: s, Clock: clock}
	})
}

func TestGateMemory(t *testing.T) {
	contract.Gate(t, func(testing.TB) contract.Gates {
		clock := clock.At(contract.Start)
		g := memory.NewGate(clock)
		return contract.Gates{
			Gate: g, GateWatch: g, GateKeeper: g, GateLoader: g,
			Pass:    func(_ voucher.Code, d time.Duration) { clock.Advance(d) },
			Lose:    func(voucher.Code) { g.Lose() },
			Replace: func(voucher.Code) { g.Replace() },
			// No Damage: it keeps a gate in one piece.
		}
	})
}
