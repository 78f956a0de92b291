package contract_test

import (
	"testing"

	"voucherd/adapters/memory"
	"voucherd/test/contract"
)

func TestMemory(t *testing.T) {
	contract.Ledger(t, func(_ testing.TB, clock *contract.Clock) contract.Stores {
		s := memory.New(clock)
		return contract.Stores{Ledger: s, Reader: s, Books: s, Clock: clock}
	})
}
