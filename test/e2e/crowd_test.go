package e2e_test

import (
	"sync"
	"sync/atomic"
)

// tally counts answers.
type tally map[string]int

// together calls do n times at once, when all are ready to go, and counts the answers.
func together(n int, do func(i int) answer) tally {
	count := make(tally)
	for _, a := range gather(n, do) {
		count[a.String()]++
	}
	return count
}

// gather is together, with the answers themselves.
func gather(n int, do func(i int) answer) []answer {
	answers := make([]answer, n)
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			answers[i] = do(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return answers
}

// workers calls do for 0 … n-1, a bounded number at a time, and counts the answers.
func workers(n, atOnce int, do func(i int) answer) tally {
	var next atomic.Int64
	var mu sync.Mutex
	count := make(tally)
	gather(min(atOnce, n), func(int) answer {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return answer{}
			}
			a := do(i).String()
			mu.Lock()
			count[a]++
			mu.Unlock()
		}
	})
	return count
}
