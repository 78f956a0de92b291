package batch_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/application/batch"
	"voucherd/application/port"
)

// fleet is a server that holds the combiner to its word while many callers come and go.
type fleet struct {
	inHand [8]atomic.Int32
	served []atomic.Int32 // by request
	broken atomic.Pointer[string]
}

func (f *fleet) breaks(rule string) { f.broken.CompareAndSwap(nil, &rule) }

const fleetBatch = 16

func (f *fleet) serve(key int, reqs []int) []batch.Result[int] {
	if f.inHand[key].Add(1) != 1 {
		f.breaks("two batches of one key at a time")
	}
	if len(reqs) == 0 || len(reqs) > fleetBatch {
		f.breaks("a batch out of bounds")
	}
	runtime.Gosched()
	out := make([]batch.Result[int], len(reqs))
	for i, q := range reqs {
		f.served[q].Add(1)
		out[i].Answer = 10 * q
	}
	f.inHand[key].Add(-1)
	return out
}

func TestManyCallersComeAndGo(t *testing.T) {
	const callers, each = 64, 200
	f := &fleet{served: make([]atomic.Int32, callers*each)}
	c := batch.NewCombiner(batch.Limits{Batch: fleetBatch, PerKey: 24, Total: 48}, f.serve)
	var turned, unknown, answered atomic.Int32
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for n := range each {
				req := caller*each + n
				ctx, cancel := context.WithCancel(t.Context())
				if req%3 == 0 {
					go cancel() // somewhere in the middle
				}
				answer, err := c.Do(ctx, req%len(f.inHand), req)
				cancel()
				switch {
				case err == nil && answer == 10*req:
					answered.Add(1)
				case errors.Is(err, port.ErrOverloaded):
					turned.Add(1)
					if f.served[req].Load() != 0 {
						f.breaks("served, and told that certainly nothing happened")
					}
				case errors.Is(err, port.ErrUnknown):
					unknown.Add(1)
				default:
					f.breaks("an answer of another request")
				}
			}
		})
	}
	wg.Wait()
	c.Wait()
	if rule := f.broken.Load(); rule != nil {
		require.Fail(t, *rule)
	}
	served := int32(0)
	for i := range f.served {
		n := f.served[i].Load()
		require.LessOrEqual(t, n, int32(1), "served once at most")
		served += n
	}
	require.Equal(t, served, answered.Load()+unknown.Load(), "told or unknown, and nothing else was served")
	require.Equal(t, int32(callers*each), served+turned.Load())
	waiting, _ := c.Stats()
	require.Zero(t, waiting)
}
