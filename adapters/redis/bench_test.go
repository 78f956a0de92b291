package redis_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/application/port"
	"voucherd/domain/voucher"
	"voucherd/test/env"
)

// BenchmarkReserve is one call of a batch, each request a new one: the time is that of the whole batch.
func BenchmarkReserve(b *testing.B) {
	for _, size := range []int{1, 64, port.GateBatchMax} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			g := gate(b, redis.Config{Addrs: []string{env.StartRedis(b, nil).Addr()}})
			load(b, g, 1, voucher.MaxLimit)
			reqs := make([]voucher.Request, size)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				for i := range reqs {
					n++
					reqs[i] = request(n)
				}
				_, err := g.Reserve(b.Context(), batch(voucher.MaxLimit, reqs...))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/request")
		})
	}
}

// BenchmarkRefuse is the answer to a sold-out batch, which is most of a flash sale.
func BenchmarkRefuse(b *testing.B) {
	g := gate(b, redis.Config{Addrs: []string{env.StartRedis(b, nil).Addr()}})
	load(b, g, 1, 1)
	reqs := make([]voucher.Request, port.GateBatchMax)
	for i := range reqs {
		reqs[i] = request(i)
	}
	for b.Loop() {
		_, err := g.Reserve(b.Context(), batch(1, reqs...))
		require.NoError(b, err)
	}
}
