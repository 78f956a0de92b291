// Package batch takes concurrent requests for one thing together (group commit): while one batch is under way, those
// that come meanwhile wait and become the next one. There is no timer, so that a lone request is a batch of one and
// waits for nobody.
package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"voucherd/application/port"
)

// Result is the answer to one request of a batch.
type Result[A any] struct {
	Answer A
	Err    error
}

// Func serves a batch: one result for each request, in their order. It bounds its own time.
type Func[K comparable, Q, A any] func(key K, reqs []Q) []Result[A]

// Limits bound a Combiner; all are at least 1.
type Limits struct {
	Batch  int // requests in one batch
	PerKey int // requests that wait for one key
	Total  int // requests that wait for all keys together
}

// Combiner runs at most one batch for each key at a time. Keys that are idle cost nothing. Safe for concurrent use.
type Combiner[K comparable, Q, A any] struct {
	serve  Func[K, Q, A]
	limits Limits

	mu      sync.Mutex
	queues  map[K]*queue[Q, A] // a queue exists while a goroutine serves it
	waiting int
	turned  uint64     // away, since a bound was reached
	idle    *sync.Cond // signalled when queues becomes empty
}

type queue[Q, A any] struct{ items []*item[Q, A] }

// item is a waiting request. Under the combiner's lock it is either still waiting, or given up, or taken.
type item[Q, A any] struct {
	ctx    context.Context //nolint:containedctx // the caller's: whoever has gone is left out of the batch
	req    Q
	taken  bool
	result Result[A]
	done   chan struct{}
}

// NewCombiner returns a combiner that serves batches with serve.
func NewCombiner[K comparable, Q, A any](limits Limits, serve Func[K, Q, A]) *Combiner[K, Q, A] {
	c := &Combiner[K, Q, A]{serve: serve, limits: limits, queues: map[K]*queue[Q, A]{}}
	c.idle = sync.NewCond(&c.mu)
	return c
}

// Do has req served in some batch of key and returns its result. When a bound is reached, or ctx ends while req still
// waits, the error is port.ErrOverloaded and req is never served. When ctx ends while req is being served, it is
// port.ErrUnknown and the batch goes on.
func (c *Combiner[K, Q, A]) Do(ctx context.Context, key K, req Q) (A, error) {
	it := &item[Q, A]{ctx: ctx, req: req, done: make(chan struct{})}
	if !c.enqueue(key, it) {
		return it.result.Answer, port.ErrOverloaded
	}
	select {
	case <-it.done:
		return it.result.Answer, it.result.Err
	case <-ctx.Done():
	}
	var none A
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-it.done: // both at once: the answer is the better one
		return it.result.Answer, it.result.Err
	default:
	}
	if it.taken {
		return none, port.ErrUnknown
	}
	return none, port.ErrOverloaded
}

// Stats returns the number of requests that wait, those in hand not counted, and how many were turned away so far
// because a bound was reached.
func (c *Combiner[K, Q, A]) Stats() (waiting int, turnedAway uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting, c.turned
}

// Wait returns when nothing waits and no batch is under way.
func (c *Combiner[K, Q, A]) Wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queues) > 0 {
		c.idle.Wait()
	}
}

func (c *Combiner[K, Q, A]) enqueue(key K, it *item[Q, A]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	if c.waiting >= c.limits.Total || q != nil && len(q.items) >= c.limits.PerKey {
		c.turned++
		return false
	}
	c.waiting++
	if q == nil {
		q = &queue[Q, A]{}
		c.queues[key] = q
		go c.run(key, q)
	}
	q.items = append(q.items, it)
	return true
}

// run serves the queue of one key until it is empty.
func (c *Combiner[K, Q, A]) run(key K, q *queue[Q, A]) {
	for {
		items := c.take(key, q)
		if items == nil {
			return
		}
		if len(items) == 0 {
			continue // all of them had gone
		}
		reqs := make([]Q, len(items))
		for i, it := range items {
			reqs[i] = it.req
		}
		results := c.protected(key, reqs)
		c.mu.Lock()
		for i, it := range items {
			it.result = results[i]
			close(it.done)
		}
		c.mu.Unlock()
	}
}

// protected serves a batch and survives its panic: a defect in one voucher's data must not end the process for all.
// What such a batch did is unknown.
func (c *Combiner[K, Q, A]) protected(key K, reqs []Q) (results []Result[A]) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		err := fmt.Errorf("%w: panic: %v\n%s", port.ErrUnknown, p, debug.Stack())
		results = make([]Result[A], len(reqs))
		for i := range results {
			results[i].Err = err
		}
	}()
	return c.serve(key, reqs)
}

// take removes the next batch from the queue, without those whose caller has gone; nil when the queue is empty, and
// then it is gone.
func (c *Combiner[K, Q, A]) take(key K, q *queue[Q, A]) []*item[Q, A] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(q.items) == 0 {
		delete(c.queues, key)
		if len(c.queues) == 0 {
			c.idle.Broadcast()
		}
		return nil
	}
	n := min(c.limits.Batch, len(q.items))
	items := make([]*item[Q, A], 0, n)
	for i, it := range q.items[:n] {
		q.items[i] = nil
		if it.ctx.Err() == nil {
			it.taken = true
			items = append(items, it)
		}
	}
	q.items = q.items[n:]
	c.waiting -= n
	return items
}
