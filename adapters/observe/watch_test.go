package observe_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"voucherd/adapters/observe"
	"voucherd/application/port"
)

func TestWatch(t *testing.T) {
	m := observe.New("v")
	core, logs := observer.New(zap.DebugLevel)
	var skew time.Duration
	var failed error
	w := observe.NewWatch(func(ctx context.Context) (time.Duration, error) {
		_, bounded := ctx.Deadline()
		require.True(t, bounded)
		return skew, failed
	}, m, zap.New(core))
	require.True(t, w.Up())
	for _, c := range []struct {
		skew      time.Duration
		err       error
		shown, up string
		lines     int
	}{
		{500 * time.Millisecond, nil, "0.5", "1", 0},
		{-500 * time.Millisecond, nil, "-0.5", "1", 0},
		{501 * time.Millisecond, nil, "0.501", "1", 1},
		{-501 * time.Millisecond, nil, "-0.501", "1", 2},
		{time.Hour, port.ErrUnavailable, "-0.501", "0", 3}, // not measured
		{time.Hour, port.ErrUnavailable, "-0.501", "0", 3}, // told once
		{0, nil, "0", "1", 4},
	} {
		skew, failed = c.skew, c.err
		w.Run(t.Context())
		require.Contains(t, scrape(t, m), "voucherd_clock_skew_seconds "+c.shown+"\n")
		require.Contains(t, scrape(t, m), `voucherd_dependency_up{name="postgres"} `+c.up+"\n")
		require.Equal(t, c.err == nil, w.Up())
		require.Equal(t, c.lines, logs.Len())
	}
}

// A look that the end of the process breaks off says nothing about the database.
func TestWatchAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := observe.NewWatch(func(ctx context.Context) (time.Duration, error) { return 0, ctx.Err() }, observe.New("v"), zap.NewNop())
	w.Run(ctx)
	require.True(t, w.Up())
}
