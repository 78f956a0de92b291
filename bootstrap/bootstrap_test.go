package bootstrap

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"voucherd/bootstrap/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func settings(t *testing.T, environ ...string) config.Settings {
	t.Helper()
	s, err := process{environ: append(environ, "VOUCHERD_HTTP_ADDR=127.0.0.1:0")}.settings("")
	require.NoError(t, err)
	return s
}

func TestTheGraphIsComplete(t *testing.T) {
	for name, environ := range map[string][]string{
		"memory":    nil,
		"postgres":  {"VOUCHERD_DATABASE_URL=postgres://user@127.0.0.1:1/none"},
		"jobs only": {"VOUCHERD_DATABASE_URL=postgres://user@127.0.0.1:1/none", "VOUCHERD_ROLES=jobs"},
		"api only":  {"VOUCHERD_DATABASE_URL=postgres://user@127.0.0.1:1/none", "VOUCHERD_ROLES=api"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, fx.ValidateApp(graph(settings(t, environ...), zap.NewNop(), make(failure, 1))))
		})
	}
}

func TestStartAndStopInAnyOrder(t *testing.T) {
	ctx := context.Background()
	build := func() *fx.App { return fx.New(graph(settings(t), zap.NewNop(), make(failure, 1))) }

	t.Run("stop before start", func(t *testing.T) { require.NoError(t, build().Stop(ctx)) })
	t.Run("stop twice", func(t *testing.T) {
		app := build()
		require.NoError(t, app.Start(ctx))
		require.NoError(t, app.Stop(ctx))
		require.NoError(t, app.Stop(ctx))
	})
	t.Run("again and again", func(t *testing.T) {
		for range 20 {
			app := build()
			require.NoError(t, app.Start(ctx))
			require.NoError(t, app.Stop(ctx))
		}
	})
}

func TestServeEndsWithItsContext(t *testing.T) {
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := process{environ: []string{"VOUCHERD_HTTP_ADDR=127.0.0.1:0"}, stdout: &log, stderr: &log}
	require.NoError(t, p.serve(ctx, ""))
}

func TestServeFailsOnAnAddressThatIsTaken(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	var out, log bytes.Buffer
	require.Equal(t, 1, Run(t.Context(), []string{"serve"}, []string{"VOUCHERD_HTTP_ADDR=" + taken.Addr().String()}, &out, &log))
	require.Contains(t, log.String(), taken.Addr().String())
}

func TestCommandsOnADatabaseRefuseMemory(t *testing.T) {
	for _, args := range [][]string{{"audit", "HELLO"}, {"migrate", "up"}, {"migrate", "down", "--yes"}, {"migrate", "status"}} {
		var out, log bytes.Buffer
		require.Equal(t, 1, Run(context.Background(), args, nil, &out, &log), strings.Join(args, " "))
		require.Contains(t, log.String(), "database.url")
	}
}

// In the tests of loops below time is synctest's: a sleep takes no time and is exact.

func TestALoopRunsAtOnceAndThenAfterEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		l := newLoop(time.Minute, zap.NewNop(), func(context.Context) { runs.Add(1) })
		require.NoError(t, l.Start(t.Context()))
		synctest.Wait()
		require.EqualValues(t, 1, runs.Load())
		time.Sleep(3*time.Minute + time.Second)
		require.EqualValues(t, 4, runs.Load())
		require.NoError(t, l.Stop(t.Context()))
		time.Sleep(time.Hour)
		require.EqualValues(t, 4, runs.Load())
	})
}

func TestStoppingALoopEndsTheRunInHandAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		l := newLoop(time.Minute, zap.NewNop(), func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Second) // what can't be broken off
			ended = true
		})
		require.NoError(t, l.Start(t.Context()))
		synctest.Wait()
		require.NoError(t, l.Stop(t.Context()))
		require.True(t, ended)
	})
}

func TestStoppingALoopGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		l := newLoop(time.Minute, zap.NewNop(), func(context.Context) { <-free })
		require.NoError(t, l.Start(t.Context()))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, l.Stop(ctx), context.DeadlineExceeded)
		close(free)
		require.NoError(t, l.Stop(t.Context()))
	})
}

func TestALoopSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.ErrorLevel)
		var runs atomic.Int64
		l := newLoop(time.Minute, zap.New(core), func(context.Context) { runs.Add(1); panic("odd data") })
		require.NoError(t, l.Start(t.Context()))
		time.Sleep(90 * time.Second)
		require.NoError(t, l.Stop(t.Context()))
		require.EqualValues(t, 2, runs.Load())
		require.Equal(t, 2, logs.Len())
		require.Equal(t, "odd data", logs.All()[0].ContextMap()["panic"])
	})
}

func TestALoopThatNeverStartedStops(t *testing.T) {
	require.NoError(t, newLoop(time.Minute, zap.NewNop(), nil).Stop(t.Context()))
}

func TestTheLogIsBoundedForEachMessage(t *testing.T) {
	var out bytes.Buffer
	log, err := newLogger(config.Log{Level: "info", Format: "json"}, &out)
	require.NoError(t, err)
	for range 100_000 {
		log.Warn("the store is unavailable")
	}
	log.Info("another message")
	require.Less(t, strings.Count(out.String(), "unavailable"), 2000)
	require.Contains(t, out.String(), "another message")
	log.Debug("too fine")
	require.NotContains(t, out.String(), "too fine")
}
