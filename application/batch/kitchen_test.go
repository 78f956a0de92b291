package batch_test

import (
	"context"
	"testing/synctest"

	"voucherd/application/batch"
)

// kitchen serves batches on command: each waits at the hatch until the test lets it go.
type kitchen struct {
	batches map[string][][]int    // what was taken, by key
	hatch   map[string]chan error // a batch of the key ends with what comes through here
}

func newKitchen(keys ...string) *kitchen {
	k := &kitchen{batches: map[string][][]int{}, hatch: map[string]chan error{}}
	for _, key := range keys {
		k.hatch[key] = make(chan error)
	}
	return k
}

// serve answers each request with ten times itself.
func (k *kitchen) serve(key string, reqs []int) []batch.Result[int] {
	k.batches[key] = append(k.batches[key], reqs)
	err := <-k.hatch[key]
	out := make([]batch.Result[int], len(reqs))
	for i, q := range reqs {
		out[i] = batch.Result[int]{Answer: 10 * q, Err: err}
	}
	return out
}

// order is one request under way.
type order struct {
	answer int
	err    error
	done   bool
	cancel context.CancelFunc
}

// send starts Do and returns when it waits for somebody else, or is done.
func send(c *batch.Combiner[string, int, int], key string, req int) *order {
	ctx, cancel := context.WithCancel(context.Background())
	o := &order{cancel: cancel}
	go func() {
		defer cancel()
		o.answer, o.err = c.Do(ctx, key, req)
		o.done = true
	}()
	synctest.Wait()
	return o
}

func (k *kitchen) finish(key string, err error) {
	k.hatch[key] <- err
	synctest.Wait()
}

var wide = batch.Limits{Batch: 100, PerKey: 100, Total: 100}
