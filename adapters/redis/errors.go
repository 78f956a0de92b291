package redis

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"voucherd/application/port"
)

// Every error of the driver is judged here. Only the server's own word that it refused to begin, or a request that
// never left, is certain; whatever else breaks may have had its effect.

// refusals are what a server answers before a script begins, by the first word. An error from inside a script begins
// with ERR or the name of the command that failed, and is none of them.
var refusals = map[string]bool{
	"OOM": true, "MISCONF": true, "NOREPLICAS": true, "READONLY": true, "LOADING": true, "BUSY": true, "MASTERDOWN": true,
	"CLUSTERDOWN": true, "TRYAGAIN": true, "CROSSSLOT": true, "NOAUTH": true, "WRONGPASS": true, "NOPERM": true,
	"NOSCRIPT": true, "MOVED": true, "ASK": true,
}

// passing are the refusals that are worth another try at once: a failover or the move of a slot is under way.
var passing = map[string]bool{"READONLY": true, "TRYAGAIN": true, "MASTERDOWN": true, "CLUSTERDOWN": true, "LOADING": true}

// word returns the first word of what the server said, or "" when the error is none of the server's.
func word(err error) string {
	var said redis.Error
	if !errors.As(err, &said) {
		return ""
	}
	text := said.Error()
	for i := range len(text) {
		if text[i] == ' ' {
			return text[:i]
		}
	}
	return text
}

// judge says what an error of one attempt means.
func judge(err error) error {
	var op *net.OpError
	switch w := word(err); {
	// The second is what a server with a password says to a long request without one.
	case refusals[w], redis.HasErrorPrefix(err, "ERR Protocol error"), redis.HasErrorPrefix(err, "Protocol error"):
		return fmt.Errorf("%w: %w", port.ErrUnavailable, err)
	case w != "":
		return fmt.Errorf("%w: %w", port.ErrUnknown, err)
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return fmt.Errorf("%w: %w", port.ErrOverloaded, err)
	case errors.Is(err, redis.ErrClosed), errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %w", port.ErrUnavailable, err)
	default: // a connection that broke or was too slow, or a context that ended on the way
		return fmt.Errorf("%w: %w", port.ErrUnknown, err)
	}
}

// slow reports whether the time of the call is used up, so that another attempt has none.
func slow(ctx context.Context, err error) bool {
	var timed net.Error
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timed) && timed.Timeout()
}
