package contract_test

import (
	"testing"

	"voucherd/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }
