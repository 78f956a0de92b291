package model_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"voucherd/application/upkeep"
	"voucherd/domain/voucher"
)

func (h *history) find(t *rapid.T) {
	code, order := h.known(t)
	var want redemption
	refusal := ""
	switch v := h.model.vouchers[code]; {
	case v == nil:
		refusal = "VOUCHER_NOT_FOUND"
	case v.orders[order] == nil:
		refusal = "RESERVATION_NOT_FOUND"
	default:
		want = h.model.seen(v.orders[order])
	}
	r, err := h.service.Find(h.ctx, voucher.Code(code), voucher.OrderID(order))
	require.Equal(t, refusal, told(err))
	if err == nil {
		require.Equal(t, want, shown(r))
	}
}

// list pages through the redemptions of a voucher.
func (h *history) list(t *rapid.T) {
	code, status := h.code(t), anyStatus.Draw(t, "status")
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	refusal, want := h.model.list(code, status)
	var got []redemption
	var before *voucher.Version
	for {
		rs, more, err := h.service.List(h.ctx, voucher.Code(code), voucher.Status(status), before, limit)
		require.Equal(t, refusal, told(err))
		require.LessOrEqual(t, len(rs), limit)
		for _, r := range rs {
			got = append(got, shown(r))
		}
		require.Equal(t, len(got) < len(want), more)
		if !more {
			break
		}
		before = new(rs[len(rs)-1].Record().Version)
	}
	require.Equal(t, want, got)
}

// vouchers pages through all vouchers, and reads each alone.
func (h *history) vouchers(t *rapid.T) {
	limit := rapid.IntRange(1, 3).Draw(t, "limit")
	var codes, got []string
	for code := range h.model.vouchers {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	after := voucher.Code(h.prefix)
	for {
		vs, more, err := h.catalog.List(h.ctx, after, limit)
		require.NoError(t, err)
		for _, v := range vs {
			code := string(v.Code())
			require.Contains(t, codes, code)
			require.Equal(t, h.model.page(code), read(v))
			alone, err := h.catalog.Find(h.ctx, v.Code())
			require.NoError(t, err)
			require.Equal(t, read(v), read(alone))
			got, after = append(got, code), v.Code()
		}
		require.Equal(t, len(got) < len(codes), more)
		if !more {
			break
		}
		require.Len(t, vs, limit)
	}
	require.Equal(t, codes, got)
	unknown := h.code(t)
	if !slices.Contains(codes, unknown) {
		_, err := h.catalog.Find(h.ctx, voucher.Code(unknown))
		require.Equal(t, "VOUCHER_NOT_FOUND", told(err))
	}
}

// check compares everything that is stored with the model, and the store with its own history.
func (h *history) check(t *rapid.T) {
	h.service.Wait()
	for code, v := range h.model.vouchers {
		found, err := h.catalog.Find(h.ctx, voucher.Code(code))
		require.NoError(t, err)
		require.Equal(t, h.model.page(code), read(found))
		require.LessOrEqual(t, found.Used(), found.Terms().TotalLimit)
		require.Equal(t, v.sequence, found.Snapshot().Sequence)

		stored := &books{rows: map[string]redemption{}, uses: map[int64]int64{}}
		require.NoError(t, h.stores.Books.Read(h.ctx, voucher.Code(code), stored))
		rows, uses := map[string]redemption{}, map[int64]int64{}
		for order, o := range v.orders {
			rows[order] = *o
			if n := v.live(o.customer); n != 0 {
				uses[o.customer] = n
			}
		}
		require.Equal(t, rows, stored.rows)
		require.Equal(t, uses, stored.uses)

		report, err := upkeep.Audit(h.ctx, h.stores.Books, voucher.Code(code))
		require.NoError(t, err)
		require.True(t, report.OK(), "%v", report.Differences)
	}
}
