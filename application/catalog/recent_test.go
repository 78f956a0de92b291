package catalog

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecentRemembersTheLastOnes(t *testing.T) {
	r := newRecent[int, string](3)
	_, ok := r.Get(1)
	require.False(t, ok)
	for i := range 100 {
		r.Add(i, "v")
		for j := max(0, i-2); j <= i; j++ {
			_, ok := r.Get(j)
			require.True(t, ok, "the last three, %d at %d", j, i)
		}
		require.LessOrEqual(t, len(r.young)+len(r.old), 6)
	}
	_, ok = r.Get(0)
	require.False(t, ok, "nobody asked for it any more")
}

func TestRecentKeepsWhatIsAskedFor(t *testing.T) {
	r := newRecent[int, string](3)
	r.Add(-1, "kept")
	for i := range 100 {
		r.Add(i, "v")
		v, ok := r.Get(-1)
		require.True(t, ok, i)
		require.Equal(t, "kept", v)
	}
}

func TestRecentReplacesAndRemoves(t *testing.T) {
	r := newRecent[int, string](1)
	r.Add(1, "first")
	r.Add(2, "v") // 1 is of the old generation now
	r.Add(1, "second")
	v, _ := r.Get(1)
	require.Equal(t, "second", v)
	r.Remove(1)
	_, ok := r.Get(1)
	require.False(t, ok, "gone from both generations")
	r.Add(1, "third")
	r.Add(1, "fourth")
	v, _ = r.Get(1)
	require.Equal(t, "fourth", v)
	r.Remove(9)
}

// One caller replaces, another reads: a reader that lifts an aging entry must not bring an older value back.
func TestRecentNeverGoesBack(t *testing.T) {
	r := newRecent[int, int](2)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.Get(0)
				}
			}
		})
	}
	for i := range 3_000 {
		r.Add(0, i)
		r.Add(1+2*i, i) // two more make it age
		r.Add(2+2*i, i)
		v, ok := r.Get(0)
		require.True(t, ok && v == i || !ok, "%d is not %d", v, i)
	}
	close(stop)
	wg.Wait()
}
