package model_test

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"voucherd/application/catalog"
	"voucherd/application/reservation"
	"voucherd/application/upkeep"
	"voucherd/domain/voucher"
	"voucherd/test/contract"
)

// history is one run: the same commands go to the product and to the model, and their answers are compared.
type history struct {
	ctx      context.Context //nolint:containedctx // a history is one test
	stores   contract.Stores
	catalog  *catalog.Catalog
	service  *reservation.Service
	standard reservation.Standard
	expirer  *upkeep.Expirer
	model    *shop
	prefix   string // of all codes and orders: histories may share a database
}

func begin(ctx context.Context, s contract.Stores, prefix string) *history {
	h := &history{
		ctx: ctx, stores: s, prefix: prefix,
		standard: reservation.Standard{Ledger: s.Ledger},
		expirer:  upkeep.NewExpirer(s.Ledger, s.Reader, s.Clock),
		model:    &shop{now: s.Clock.Now(), vouchers: map[string]*sheet{}},
	}
	directory := catalog.NewDirectory(s.Reader, s.Clock)
	h.catalog = catalog.New(s.Ledger, s.Reader, directory, s.Clock, catalog.Settings{
		DefaultMode: voucher.Standard, Served: []voucher.Mode{voucher.Standard},
		Configured: map[voucher.Code]voucher.Mode{voucher.Code(prefix + configured): voucher.Standard},
	})
	h.service = reservation.New(s.Ledger, s.Reader, directory,
		map[voucher.Mode]reservation.Decider{voucher.Standard: h.standard}, s.Clock, ttl)
	return h
}

// A world small enough that everything meets: three vouchers of few uses, few orders and customers.
var (
	anyCode     = rapid.SampledFrom([]string{"A", "B", configured})
	anyOrder    = rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
	anyCustomer = rapid.Int64Range(1, 3)
	anyAmount   = rapid.SampledFrom([]int64{1, 499, 500, 1000, 5000})
	anyLimit    = rapid.SampledFrom([]int64{1, 2, 2, 3, 4, 2147483647})
	anyStatus   = rapid.SampledFrom([]string{"", "RESERVED", "CONFIRMED", "RELEASED"})
	anyMode     = rapid.SampledFrom([]string{"standard", "standard", "standard", "flash-sync", "flash-async", "none"})
)

// mostly draws from g, and from rare one time in eight.
func mostly[T any](g *rapid.Generator[T], rare ...T) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T {
		if rapid.IntRange(0, 7).Draw(t, "rare") == 7 {
			return rapid.SampledFrom(rare).Draw(t, "value")
		}
		return g.Draw(t, "value")
	})
}

// sometimes draws nil three times in four.
func sometimes[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		if rapid.IntRange(0, 3).Draw(t, "given") != 3 {
			return nil
		}
		v := g.Draw(t, "value")
		return &v
	})
}

// around draws an instant within some hours of now, sometimes not on a whole millisecond.
func (h *history) around() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		d := time.Duration(rapid.IntRange(-120, 120).Draw(t, "minutes")) * time.Minute
		return h.model.now.Add(d + rapid.SampledFrom([]time.Duration{0, 0, 1, 999_999}).Draw(t, "rest"))
	})
}

func (h *history) code(t *rapid.T) string  { return h.prefix + anyCode.Draw(t, "code") }
func (h *history) order(t *rapid.T) string { return h.prefix + anyOrder.Draw(t, "order") }

// known draws a voucher and an order, mostly such that belong together.
func (h *history) known(t *rapid.T) (code, order string) {
	code = h.code(t)
	if _, rs := h.model.list(code, ""); len(rs) > 0 && rapid.IntRange(0, 3).Draw(t, "known") != 3 {
		return code, rapid.SampledFrom(rs).Draw(t, "its order").order
	}
	return code, h.order(t)
}

func (h *history) create(t *rapid.T) {
	code := h.code(t)
	m := terms{
		discount: mostly(anyAmount, 0, -1, 1<<53).Draw(t, "discount"),
		minimum:  mostly(rapid.SampledFrom([]int64{0, 0, 500}), -1, 1<<53).Draw(t, "minimum"),
		total:    mostly(anyLimit, 0, 1<<31).Draw(t, "total"),
		perUser:  mostly(anyLimit, 0, 1<<31).Draw(t, "perUser"),
		starts:   h.model.now.Add(-time.Hour),
		ends:     h.model.now.Add(10 * time.Hour),
		mode:     mostly(rapid.Just(""), "flash-sync", "none", "standard").Draw(t, "mode"),
	}
	if rapid.IntRange(0, 3).Draw(t, "window") == 3 {
		m.starts, m.ends = h.around().Draw(t, "starts"), h.around().Draw(t, "ends")
	}
	h.creates(t, code, m)
}

func (h *history) creates(t *rapid.T, code string, m terms) {
	v, err := h.catalog.Create(h.ctx, voucher.Code(code), voucher.Terms{
		DiscountAmount: m.discount, MinOrderAmount: m.minimum, TotalLimit: m.total, PerUserLimit: m.perUser,
		StartsAt: m.starts, EndsAt: m.ends, Mode: voucher.Mode(m.mode),
	}, "admin")
	require.Equal(t, h.model.create(code, m), told(err))
	if err == nil {
		require.Equal(t, h.model.page(code), read(v))
	}
}

// opens stores a voucher whose window is open for a while.
func (h *history) opens(t *rapid.T, code string) {
	m := terms{
		discount: 1000, minimum: 499, total: anyLimit.Draw(t, "total"), perUser: anyLimit.Draw(t, "perUser"),
		starts: h.model.now, ends: h.model.now.Add(10 * time.Hour),
	}
	h.creates(t, code, m)
}

func (h *history) amend(t *rapid.T) {
	code := h.code(t)
	c := change{
		discount: sometimes(mostly(anyAmount, 0)).Draw(t, "discount"),
		minimum:  sometimes(mostly(rapid.SampledFrom([]int64{0, 500, 1000}), -1)).Draw(t, "minimum"),
		total:    sometimes(mostly(anyLimit, 0)).Draw(t, "total"),
		perUser:  sometimes(mostly(anyLimit, 0)).Draw(t, "perUser"),
		starts:   sometimes(h.around()).Draw(t, "starts"),
		ends:     sometimes(h.around()).Draw(t, "ends"),
		paused:   sometimes(mostly(rapid.Just(false), true)).Draw(t, "paused"),
		mode:     sometimes(anyMode).Draw(t, "mode"),
	}
	v, err := h.catalog.Amend(h.ctx, voucher.Code(code), voucher.Amendment{
		DiscountAmount: c.discount, MinOrderAmount: c.minimum, TotalLimit: c.total, PerUserLimit: c.perUser,
		StartsAt: c.starts, EndsAt: c.ends, Paused: c.paused, Mode: (*voucher.Mode)(c.mode),
	}, "admin")
	require.Equal(t, h.model.amend(code, c), told(err))
	if err == nil {
		require.Equal(t, h.model.page(code), read(v))
	}
}

func (h *history) reserve(t *rapid.T) {
	code, order := h.code(t), h.order(t)
	customer, amount := anyCustomer.Draw(t, "customer"), anyAmount.Draw(t, "amount")
	h.reserves(t, code, order, customer, amount)
}

func (h *history) reserves(t *rapid.T, code, order string, customer, amount int64) {
	r, err := h.service.Reserve(h.ctx, reservation.Reserve{Code: voucher.Code(code), Customer: customer, Order: order, Amount: amount, Actor: "shop"})
	refusal, want := h.model.reserve(code, order, customer, amount, true)
	require.Equal(t, refusal, told(err))
	require.Equal(t, want, shown(r))
}

// repeat sends a request of the past again: to its voucher or another one, as it was or with other content.
func (h *history) repeat(t *rapid.T) {
	var codes []string
	for code, v := range h.model.vouchers {
		if len(v.orders) > 0 {
			codes = append(codes, code)
		}
	}
	if len(codes) == 0 {
		t.Skip("nothing to repeat")
	}
	slices.Sort(codes)
	code := rapid.SampledFrom(codes).Draw(t, "of")
	_, rs := h.model.list(code, "")
	r := rapid.SampledFrom(rs).Draw(t, "again")
	switch rapid.IntRange(0, 5).Draw(t, "what differs") {
	case 3:
		r.customer++
	case 4:
		r.amount++
	case 5:
		code = h.code(t)
	}
	h.reserves(t, code, r.order, r.customer, r.amount)
}

// batch has several requests decided in one transaction.
func (h *history) batch(t *rapid.T) {
	code := h.code(t)
	if h.model.vouchers[code] == nil {
		t.Skip("no such voucher")
	}
	n := rapid.IntRange(2, 8).Draw(t, "requests")
	reqs := make([]voucher.Request, n)
	for i := range reqs {
		reqs[i] = voucher.Request{
			Order: voucher.OrderID(h.order(t)), Customer: voucher.CustomerID(anyCustomer.Draw(t, "customer")),
			Amount: anyAmount.Draw(t, "amount"), TTL: ttl, Actor: "shop",
		}
	}
	out, err := h.standard.Reserve(h.ctx, voucher.Code(code), reqs)
	require.NoError(t, err)
	require.Len(t, out, n)
	for i, q := range reqs {
		refusal, want := h.model.reserve(code, string(q.Order), int64(q.Customer), q.Amount, false)
		if refusal == "BLOCKED" {
			require.Equal(t, voucher.Blocked, out[i].Verdict)
			continue
		}
		require.Equal(t, refusal, told(out[i].Err()), "request %d of the batch", i)
		require.Equal(t, want, shown(out[i].Reservation), "request %d of the batch", i)
	}
}

// condition draws an If-Match for the order: none, one that fits, or some that don't.
func (h *history) condition(t *rapid.T, code, order string) (tags [][2]int64, cond voucher.Condition) {
	cond.Given = rapid.IntRange(0, 2).Draw(t, "conditional") == 2
	if !cond.Given {
		return nil, cond
	}
	if rapid.Bool().Draw(t, "stale") {
		tags = append(tags, [2]int64{contract.Start.UnixMilli(), rapid.Int64Range(1, 5).Draw(t, "sequence")})
	}
	if v := h.model.vouchers[code]; v != nil && v.orders[order] != nil && rapid.Bool().Draw(t, "current") {
		tags = append(tags, [2]int64{v.orders[order].epoch, v.orders[order].sequence})
	}
	for _, tag := range tags {
		cond.Versions = append(cond.Versions, voucher.Version{Epoch: tag[0], Sequence: tag[1]})
	}
	return tags, cond
}

func (h *history) confirm(t *rapid.T) {
	code, order := h.known(t)
	tags, cond := h.condition(t, code, order)
	r, err := h.service.Confirm(h.ctx, voucher.Code(code), voucher.OrderID(order), cond, "shop")
	refusal, want := h.model.confirm(code, order, tags, cond.Given)
	require.Equal(t, refusal, told(err))
	require.Equal(t, want, shown(r))
}

func (h *history) release(t *rapid.T) {
	code, order := h.known(t)
	tags, cond := h.condition(t, code, order)
	err := h.service.Release(h.ctx, voucher.Code(code), voucher.OrderID(order), cond, "shop")
	require.Equal(t, h.model.release(code, order, tags, cond.Given), told(err))
}

func (h *history) expire(t *rapid.T) {
	var want upkeep.Expiry
	for _, v := range h.model.vouchers {
		for _, o := range v.orders {
			if h.model.overdue(o) {
				want.Lag = max(want.Lag, h.model.now.Sub(o.expires))
			}
		}
		want.Expired += h.model.expireAll(v)
	}
	done, err := h.expirer.Run(h.ctx)
	require.NoError(t, err)
	require.Equal(t, want, done)
}

// pass moves the time on: by some minutes, or to a deadline, or to just before one.
func (h *history) pass(t *rapid.T) {
	d := time.Duration(rapid.IntRange(0, 8).Draw(t, "minutes")) * time.Minute
	var deadlines []time.Time
	for _, v := range h.model.vouchers {
		for _, o := range v.orders {
			if o.status == "RESERVED" && o.expires.After(h.model.now) {
				deadlines = append(deadlines, o.expires)
			}
		}
	}
	if len(deadlines) > 0 && rapid.Bool().Draw(t, "to a deadline") {
		d = slices.MinFunc(deadlines, time.Time.Compare).Sub(h.model.now)
		d -= rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond}).Draw(t, "before it")
		d = max(d, 0)
	}
	h.advance(d)
}

func (h *history) advance(d time.Duration) {
	h.stores.Clock.Advance(d)
	h.model.now = h.model.now.Add(d)
}
