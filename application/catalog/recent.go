package catalog

import "sync"

// recent remembers the entries that were added or asked for last: at least size of them, never more than twice as
// many. Two generations take turns: when the young one is full it becomes the old one, and what nobody asks for is
// gone with the next turn. Safe for concurrent use.
type recent[K comparable, V any] struct {
	size int

	mu         sync.RWMutex
	young, old map[K]V
}

func newRecent[K comparable, V any](size int) *recent[K, V] {
	return &recent[K, V]{size: size, young: map[K]V{}}
}

// Get returns the entry of k, if it is remembered.
func (r *recent[K, V]) Get(k K) (V, bool) {
	r.mu.RLock()
	v, ok := r.young[k]
	_, aged := r.old[k]
	r.mu.RUnlock()
	if ok || !aged {
		return v, ok
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Looked up once more: it may have been replaced or removed meanwhile, and what is gone must not come back.
	if v, ok = r.young[k]; ok {
		return v, ok
	}
	if v, ok = r.old[k]; ok {
		r.add(k, v)
	}
	return v, ok
}

// Add remembers v as the entry of k.
func (r *recent[K, V]) Add(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(k, v)
}

// add is Add under the lock.
func (r *recent[K, V]) add(k K, v V) {
	if _, ok := r.young[k]; !ok && len(r.young) >= r.size {
		r.old, r.young = r.young, map[K]V{}
	}
	r.young[k] = v
}

// Remove forgets the entry of k.
func (r *recent[K, V]) Remove(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, k)
	delete(r.old, k)
}
