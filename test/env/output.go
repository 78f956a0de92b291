package env

import "sync"

// outputLimit is how much of a process's output is kept: far more than a test
// should make, and a bound on one that runs wild.
const outputLimit = 16 << 20

// output collects what a process writes; safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text)+len(p) > outputLimit {
		// The end tells more than the beginning.
		o.text = append([]byte("[…]\n"), o.text[len(o.text)/2:]...)
	}
	o.text = append(o.text, p...)
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
