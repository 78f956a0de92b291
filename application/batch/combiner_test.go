package batch_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"voucherd/application/batch"
	"voucherd/application/port"
)

func TestALoneRequestIsABatchOfOneAndWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a")
		c := batch.NewCombiner(wide, k.serve)
		o := send(c, "a", 1)
		require.Equal(t, [][]int{{1}}, k.batches["a"], "taken at once: no timer runs in this bubble")
		require.False(t, o.done)
		k.finish("a", nil)
		require.Equal(t, 10, o.answer)
		require.NoError(t, o.err)
		require.True(t, o.done)
	})
}

func TestWhoeverComesMeanwhileIsTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a")
		c := batch.NewCombiner(batch.Limits{Batch: 3, PerKey: 100, Total: 100}, k.serve)
		orders := []*order{}
		for i := range 6 {
			orders = append(orders, send(c, "a", i))
		}
		require.Equal(t, [][]int{{0}}, k.batches["a"], "one batch of a key at a time")
		waiting, turned := c.Stats()
		require.Equal(t, 5, waiting)
		require.Zero(t, turned)
		k.finish("a", nil)
		require.Equal(t, [][]int{{0}, {1, 2, 3}}, k.batches["a"], "in their order, up to the bound")
		require.True(t, orders[0].done)
		require.False(t, orders[1].done)
		k.finish("a", nil)
		k.finish("a", nil)
		require.Equal(t, [][]int{{0}, {1, 2, 3}, {4, 5}}, k.batches["a"])
		for i, o := range orders {
			require.True(t, o.done)
			require.NoError(t, o.err)
			require.Equal(t, 10*i, o.answer, "each has its own answer")
		}
		waiting, _ = c.Stats()
		require.Zero(t, waiting)
	})
}

func TestEachRequestHasItsOwnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := errors.New("odd")
		c := batch.NewCombiner(wide, func(_ string, reqs []int) []batch.Result[int] {
			out := make([]batch.Result[int], len(reqs))
			for i, q := range reqs {
				if out[i].Answer = q; q%2 == 1 {
					out[i].Err = odd
				}
			}
			return out
		})
		for i := range 4 {
			o := send(c, "a", i)
			require.Equal(t, i, o.answer)
			require.Equal(t, i%2 == 1, errors.Is(o.err, odd))
		}
	})
}

func TestTheQueueOfAKeyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a", "b")
		c := batch.NewCombiner(batch.Limits{Batch: 10, PerKey: 2, Total: 100}, k.serve)
		send(c, "a", 0) // in hand: it waits no longer
		send(c, "a", 1)
		send(c, "a", 2)
		o := send(c, "a", 3)
		require.ErrorIs(t, o.err, port.ErrOverloaded)
		require.Zero(t, o.answer)
		_, turned := c.Stats()
		require.Equal(t, uint64(1), turned)

		b := send(c, "b", 4)
		require.False(t, b.done, "another key has its own bound")
		k.finish("b", nil)
		require.NoError(t, b.err)
		k.finish("a", nil)
		again := send(c, "a", 5)
		require.False(t, again.done, "there is room again")
		k.finish("a", nil)
		k.finish("a", nil)
		require.Equal(t, [][]int{{0}, {1, 2}, {5}}, k.batches["a"], "what was turned away is never served")
	})
}

func TestTheQueuesOfAllKeysTogetherAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a", "b", "c")
		c := batch.NewCombiner(batch.Limits{Batch: 10, PerKey: 10, Total: 2}, k.serve)
		send(c, "a", 0)
		send(c, "b", 1)
		send(c, "a", 2)
		send(c, "b", 3)
		for _, key := range []string{"a", "b", "c"} {
			require.ErrorIs(t, send(c, key, 9).err, port.ErrOverloaded)
		}
		k.finish("a", nil) // takes 2 out of the queue
		o := send(c, "c", 4)
		require.False(t, o.done)
		k.finish("c", nil)
		require.NoError(t, o.err)
		k.finish("a", nil)
		k.finish("b", nil)
		k.finish("b", nil)
		c.Wait()
		_, turned := c.Stats()
		require.Equal(t, uint64(3), turned)
	})
}

func TestWhoeverGivesUpWhileWaitingIsNeverServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a")
		c := batch.NewCombiner(wide, k.serve)
		send(c, "a", 0)
		gone, stays := send(c, "a", 1), send(c, "a", 2)
		gone.cancel()
		synctest.Wait()
		require.True(t, gone.done, "at once")
		require.ErrorIs(t, gone.err, port.ErrOverloaded)
		k.finish("a", nil)
		k.finish("a", nil)
		require.Equal(t, [][]int{{0}, {2}}, k.batches["a"])
		require.NoError(t, stays.err)
		waiting, turned := c.Stats()
		require.Zero(t, waiting)
		require.Zero(t, turned, "it went by itself")
	})
}

func TestABatchOfWhichAllHaveGoneIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a")
		c := batch.NewCombiner(batch.Limits{Batch: 2, PerKey: 100, Total: 100}, k.serve)
		send(c, "a", 0)
		for i := range 5 {
			send(c, "a", i).cancel()
		}
		last := send(c, "a", 9)
		k.finish("a", nil)
		require.Equal(t, [][]int{{0}, {9}}, k.batches["a"])
		k.finish("a", nil)
		require.Equal(t, 90, last.answer)
	})
}

func TestWhoeverHasGoneBeforehandIsNeverServed(t *testing.T) {
	c := batch.NewCombiner(wide, func(string, []int) []batch.Result[int] { panic("served") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		_, err := c.Do(ctx, "a", 1)
		require.ErrorIs(t, err, port.ErrOverloaded)
	}
	c.Wait()
}

func TestWhoeverGoesWhileBeingServedLearnsThatItIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a")
		c := batch.NewCombiner(wide, k.serve)
		first := send(c, "a", 0)
		gone, stays := send(c, "a", 1), send(c, "a", 2)
		k.finish("a", nil)
		require.NoError(t, first.err)
		gone.cancel()
		synctest.Wait()
		require.True(t, gone.done)
		require.ErrorIs(t, gone.err, port.ErrUnknown)
		require.Zero(t, gone.answer)
		require.False(t, stays.done, "the batch goes on")
		k.finish("a", nil)
		require.Equal(t, 20, stays.answer)
		require.Equal(t, [][]int{{0}, {1, 2}}, k.batches["a"])
	})
}

func TestABusyKeyHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := []string{"hot", "b", "c", "d"}
		k := newKitchen(keys...)
		c := batch.NewCombiner(batch.Limits{Batch: 1, PerKey: 50, Total: 100}, k.serve)
		for i := range 50 {
			send(c, "hot", i)
		}
		for _, key := range keys[1:] {
			o := send(c, key, 7)
			k.finish(key, nil)
			require.Equal(t, 70, o.answer)
		}
		require.Len(t, k.batches["hot"], 1, "which is still at its first")
		for range 50 {
			k.finish("hot", nil)
		}
	})
}

func TestIdleKeysCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := batch.NewCombiner(wide, func(_ int, reqs []int) []batch.Result[int] { return make([]batch.Result[int], len(reqs)) })
		before := runtime.NumGoroutine()
		for key := range 1000 {
			_, err := c.Do(t.Context(), key, 1)
			require.NoError(t, err)
		}
		synctest.Wait()
		// The runtime has a few of its own that come and go; a thousand keys would be a thousand.
		require.Less(t, runtime.NumGoroutine(), before+10)
	})
}

func TestWaitReturnsWhenNothingIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKitchen("a", "b")
		c := batch.NewCombiner(wide, k.serve)
		c.Wait() // nothing was ever under way
		send(c, "a", 0)
		send(c, "a", 1)
		send(c, "b", 2)
		waited := false
		go func() { c.Wait(); waited = true }()
		for _, key := range []string{"a", "b"} {
			k.finish(key, nil)
			require.False(t, waited)
		}
		k.finish("a", errors.New("also a failed batch ends"))
		require.True(t, waited)
	})
}

// A defect that one key's data run into ends neither the process nor the key.
func TestAPanicIsTheBatchsAlone(t *testing.T) {
	c := batch.NewCombiner(batch.Limits{Batch: 8, PerKey: 8, Total: 8}, func(_ string, reqs []int) []batch.Result[int] {
		if reqs[0] < 0 {
			panic("odd data")
		}
		return make([]batch.Result[int], len(reqs))
	})
	_, err := c.Do(t.Context(), "a", -1)
	require.ErrorIs(t, err, port.ErrUnknown)
	require.ErrorContains(t, err, "odd data")
	_, err = c.Do(t.Context(), "a", 1)
	require.NoError(t, err)
	c.Wait()
}
