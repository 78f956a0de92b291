package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

const (
	// maxAttempts bounds how often one call is sent, redirections included.
	maxAttempts = 5
	// pause is how long a call waits before it bothers a server again that is busy with a failover or a slot's move.
	pause = 10 * time.Millisecond
)

// attempt is how the next try of a call is made.
type attempt struct {
	node   *redis.Client
	whole  bool // the server doesn't know the script: send its text
	asking bool // the slot is on its way to this node
}

// run sends one script and returns its answer. A lost reply leads to another attempt, which the scripts take for what it
// is; MOVED and ASK are followed here and not by the driver, since a WAIT proves nothing on another connection than the
// script's. Errors: the port's.
func (g *Gate) run(ctx context.Context, code voucher.Code, s script, args []any) (*answer, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", port.ErrOverloaded, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	var next attempt
	var last error
	uncertain := false // an attempt may have had its effect, whatever the later ones say
	for range maxAttempts {
		if next.node == nil {
			node, err := g.node(ctx, keys(code)[0])
			if err != nil {
				last = fmt.Errorf("%w: %w", port.ErrUnavailable, err)
				break
			}
			next.node = node
		}
		a, err := g.send(ctx, next, code, s, args)
		if err == nil {
			return a, nil
		}
		if last = err; errors.Is(err, port.ErrUnknown) {
			uncertain = true
		}
		var more bool
		if next, more = g.again(ctx, next, err); !more {
			break
		}
	}
	if uncertain && !errors.Is(last, port.ErrUnknown) {
		return nil, fmt.Errorf("%w: an earlier attempt broke off; then: %s", port.ErrUnknown, last.Error())
	}
	return nil, last
}

// again says how to try once more after err, if that makes sense.
func (g *Gate) again(ctx context.Context, was attempt, err error) (attempt, bool) {
	if moved, ok := redis.IsMovedError(err); ok {
		g.reload(ctx)
		return attempt{node: g.at(ctx, moved), whole: was.whole}, true
	}
	if asked, ok := redis.IsAskError(err); ok {
		node := g.at(ctx, asked)
		return attempt{node: node, whole: was.whole, asking: node != nil}, true
	}
	switch w := word(err); {
	case errors.Is(err, errReplicas), errors.Is(err, port.ErrOverloaded), slow(ctx, err):
		return was, false
	case w == "NOSCRIPT":
		was.whole = true
		return was, true
	case passing[w]:
		g.reload(ctx)
		return attempt{whole: was.whole}, rest(ctx)
	case w != "":
		return was, false
	case errors.Is(err, port.ErrUnavailable): // the connection could not be made
		g.reload(ctx)
		return attempt{whole: was.whole}, rest(ctx)
	default: // it broke
		g.reload(ctx)
		return attempt{whole: was.whole}, true
	}
}

// rest waits a little; false: the context ended first.
func rest(ctx context.Context) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

var errReplicas = errors.New("too few replicas hold the answer")

// send makes one attempt: the script and, where replicas have to hold the answer, WAIT, in one pipeline on one
// connection.
func (g *Gate) send(ctx context.Context, to attempt, code voucher.Code, s script, args []any) (*answer, error) {
	pipe := to.node.Pipeline()
	if to.asking {
		pipe.Do(ctx, "ASKING")
	}
	var cmd, held *redis.Cmd
	if to.whole {
		cmd = pipe.Eval(ctx, s.source, keys(code), args...)
	} else {
		cmd = pipe.EvalSha(ctx, s.digest, keys(code), args...)
	}
	if s.durable && g.replicas > 0 {
		held = pipe.Do(ctx, "WAIT", g.replicas, g.wait.Milliseconds())
	}
	if _, err := pipe.Exec(ctx); err != nil && cmd.Err() == nil && cmd.Val() == nil {
		return nil, judge(err) // it went wrong before the script's own answer came
	}
	values, err := cmd.StringSlice()
	if err != nil {
		return nil, judge(err)
	}
	a := &answer{script: s.name, values: values}
	if held == nil || a.refused() {
		return a, nil
	}
	if n, err := held.Int(); err != nil {
		return nil, fmt.Errorf("%w: WAIT: %w", port.ErrUnknown, err)
	} else if n < g.replicas {
		return nil, fmt.Errorf("%w: %w: %d of %d", port.ErrUnknown, errReplicas, n, g.replicas)
	}
	return a, nil
}
