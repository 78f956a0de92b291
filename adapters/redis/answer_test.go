package redis

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"voucherd/application/port"
	"voucherd/domain/voucher"
)

// TestRecordRoundTrip: a loaded hold comes back as it was.
func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instant := rapid.Custom(func(t *rapid.T) time.Time {
			return time.UnixMilli(rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "ms")).UTC()
		})
		n := rapid.Int64Min(0)
		h := port.Hold{
			Order: "order", Customer: voucher.CustomerID(n.Draw(t, "customer")), OrderAmount: n.Draw(t, "amount"),
			DiscountAmount: n.Draw(t, "discount"), PerUserLimit: n.Draw(t, "limit"),
			Version:   voucher.Version{Epoch: n.Draw(t, "epoch"), Sequence: n.Draw(t, "sequence")},
			CreatedAt: instant.Draw(t, "created"), ExpiresAt: instant.Draw(t, "expires"),
			Actor: rapid.String().Draw(t, "actor"), Conflicted: rapid.Bool().Draw(t, "conflicted"),
		}
		back, err := decode("order", encode(h))
		require.NoError(t, err)
		require.Equal(t, h, back)
	})
}

func TestMisfitsAreUnknown(t *testing.T) {
	for _, record := range []string{"", "L|1|2", "L|x|1|1|1|1|1|1|1|", "L|99999999999999999999|1|1|1|1|1|1|1|"} {
		_, err := decode("order", record)
		require.Error(t, err, record)
	}
	for _, values := range [][]string{nil, {""}, {"7"}, {"1", "x"}, {"1"}} {
		a := &answer{script: "reserve", values: values}
		err := a.status()
		if err == nil {
			a.number()
			err = a.err()
		}
		require.ErrorIs(t, err, port.ErrUnknown, "%q", values)
	}
}

// said is an error as a server words it.
type said string

func (s said) Error() string { return string(s) }
func (said) RedisError()     {}

var _ redis.Error = said("")

func TestErrorsAreJudged(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	read := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for want, errs := range map[error][]error{
		port.ErrUnavailable: {
			said("OOM allow-oom flag is not set"), said("MISCONF can't save"), said("READONLY replica"), said("LOADING"),
			said("NOAUTH Authentication required."), said("NOPERM no"), said("BUSY script"), said("NOREPLICAS not enough"),
			said("CLUSTERDOWN"), said("TRYAGAIN keys"), said("ERR Protocol error: unauthenticated multibulk length"),
			dial, fmt.Errorf("wrapped: %w", dial), redis.ErrClosed,
		},
		port.ErrUnknown:    {said("WRONGTYPE of a key"), said("ERR user_script:1"), read, errors.New("EOF"), redis.Nil},
		port.ErrOverloaded: {redis.ErrPoolTimeout, redis.ErrPoolExhausted},
	} {
		for _, err := range errs {
			judged := judge(err)
			require.ErrorIs(t, judged, want, "%v", err)
			require.ErrorIs(t, judged, err)
			for _, other := range []error{port.ErrUnavailable, port.ErrUnknown, port.ErrOverloaded} {
				require.Equal(t, errors.Is(want, other), errors.Is(judged, other), "exactly one kind: %v", err)
			}
		}
	}
}

func TestEveryScriptIsComplete(t *testing.T) {
	for _, s := range []script{
		reserveScript, acknowledgeScript, giveBackScript, findScript, pendingScript, liveScript, inspectScript, closeScript,
		fillScript, openScript, tellScript, lowerScript, retireScript,
	} {
		require.Regexp(t, `^#!lua( flags=(allow-oom|no-writes))?\n-- What all scripts share`, s.source, s.name)
		require.Len(t, s.digest, 40)
	}
}
