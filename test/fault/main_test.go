package fault_test

import (
	"testing"
	"time"

	"voucherd/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

// Bounds that the tests hold the service to.
const (
	requestTimeout = 2 * time.Second // voucherd's own, by default
	// slack is what an answer may take beyond that on a machine that is busy with other things as well.
	slack = time.Second
	// backWithin is how soon after the end of a fault the service must serve again by itself.
	backWithin = 5 * time.Second
	// quietWithin bounds the wait for what must come by itself when nobody asks for anything any more.
	quietWithin = 10 * time.Second
)

// eventually polls until the condition holds and fails the test with its last complaint ("" means that it holds).
func eventually(t *testing.T, limit time.Duration, condition func() string) {
	t.Helper()
	const pause = 20 * time.Millisecond
	for deadline := time.Now().Add(limit); ; time.Sleep(pause) {
		complaint := condition()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", limit, complaint)
		}
	}
}
