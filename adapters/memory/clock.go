package memory

import "time"

// SystemClock is the machine's clock: the only place where the product reads the time. Its readings carry Go's
// monotonic part away with the first cut to milliseconds.
type SystemClock struct{}

// Now returns the time.
func (SystemClock) Now() time.Time { return time.Now() }
