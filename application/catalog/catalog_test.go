package catalog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/application/port"
	"voucherd/application/upkeep"
	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

func TestCreate(t *testing.T) {
	p := newProcess()
	asked := terms()
	asked.Mode = ""
	v, err := p.Create(t.Context(), "A", asked, "admin")
	require.NoError(t, err)
	require.Equal(t, terms(), v.Terms(), "in the default mode")
	require.Equal(t, t0, v.Snapshot().CreatedAt)

	found, err := p.Find(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, v, found)

	_, err = p.Create(t.Context(), "A", terms(), "admin")
	require.ErrorIs(t, err, voucher.ErrVoucherExists)
}

func TestCreateRefusals(t *testing.T) {
	p := newProcess()
	for _, c := range []struct {
		change func(*voucher.Terms)
		want   error
	}{
		{func(t *voucher.Terms) { t.TotalLimit = 0 }, fault.In("totalLimit", "")},
		{func(t *voucher.Terms) { t.Mode = "x" }, fault.In("mode", "")},
		{func(t *voucher.Terms) { t.Mode = voucher.FlashSync }, voucher.ErrModeUnavailable},
		{func(t *voucher.Terms) { t.Mode = voucher.FlashAsync }, voucher.ErrModeUnavailable},
		{func(t *voucher.Terms) { t.Mode, t.PerUserLimit = voucher.FlashAsync, 0 }, fault.In("perUserLimit", "")},
	} {
		asked := terms()
		c.change(&asked)
		_, err := p.Create(t.Context(), "A", asked, "admin")
		require.ErrorIs(t, err, c.want)
	}
	_, err := p.Find(t.Context(), "A")
	require.ErrorIs(t, err, voucher.ErrVoucherNotFound, "nothing was stored")
}

// The order of the published table: that the code is taken goes before the mode.
func TestCreateTellsThatACodeIsTakenFirst(t *testing.T) {
	p := newProcess()
	p.create(t, "A")
	asked := terms()
	asked.Mode = voucher.FlashSync
	_, err := p.Create(t.Context(), "A", asked, "admin")
	require.ErrorIs(t, err, voucher.ErrVoucherExists)
	p.shop.breaks(port.ErrUnavailable)
	_, err = p.Create(t.Context(), "A", asked, "admin")
	require.ErrorIs(t, err, port.ErrUnavailable)
}

func TestList(t *testing.T) {
	p := newProcess()
	vs, more, err := p.List(t.Context(), "", 2)
	require.NoError(t, err)
	require.Empty(t, vs)
	require.False(t, more)
	for _, code := range []voucher.Code{"C", "A", "D", "B"} {
		p.create(t, code)
	}
	page := func(after voucher.Code, limit int) (codes []voucher.Code, more bool) {
		vs, more, err := p.List(t.Context(), after, limit)
		require.NoError(t, err)
		for _, v := range vs {
			codes = append(codes, v.Code())
		}
		return codes, more
	}
	for _, c := range []struct {
		after voucher.Code
		limit int
		want  []voucher.Code
		more  bool
	}{
		{"", 3, []voucher.Code{"A", "B", "C"}, true},
		{"C", 3, []voucher.Code{"D"}, false},
		{"", 4, []voucher.Code{"A", "B", "C", "D"}, false},
		{"", 200, []voucher.Code{"A", "B", "C", "D"}, false},
		{"AA", 1, []voucher.Code{"B"}, true},
		{"D", 1, nil, false},
		{"Z", 1, nil, false},
	} {
		codes, more := page(c.after, c.limit)
		require.Equal(t, c.want, codes, c)
		require.Equal(t, c.more, more, c)
	}
}

func TestAmend(t *testing.T) {
	p := newProcess()
	p.create(t, "A")
	p.clock.Advance(time.Minute)
	v, err := p.Amend(t.Context(), "A", voucher.Amendment{Paused: new(true), TotalLimit: new(int64(7))}, "admin")
	require.NoError(t, err)
	want := terms()
	want.Paused, want.TotalLimit = true, 7
	require.Equal(t, want, v.Terms())
	require.Equal(t, t0.Add(time.Minute), v.Snapshot().UpdatedAt)
	found, err := p.Find(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, v, found)

	same, err := p.Amend(t.Context(), "A", voucher.Amendment{}, "admin")
	require.NoError(t, err)
	require.Equal(t, v, same, "an empty amendment changes nothing, not even updatedAt")
	same, err = p.Amend(t.Context(), "A", voucher.Amendment{Mode: new(voucher.Standard)}, "admin")
	require.NoError(t, err)
	require.Equal(t, v, same)

	report, err := upkeep.Audit(t.Context(), p.shop, "A")
	require.NoError(t, err)
	require.True(t, report.OK(), report.Differences)
	require.Equal(t, 2, report.History)
}

func TestAmendRefusals(t *testing.T) {
	p := newProcess()
	p.create(t, "CONFIGURED")
	before := p.create(t, "A")
	take := func(order voucher.OrderID, customer voucher.CustomerID) {
		require.NoError(t, p.shop.Update(t.Context(), port.Step{Code: "A", Decide: func(s *voucher.State, now time.Time) {
			s.Reserve([]voucher.Request{{Order: order, Customer: customer, Amount: 5000, TTL: time.Minute}}, now)
		}}))
	}
	take("a", 1)
	take("b", 2)
	for _, c := range []struct {
		code voucher.Code
		a    voucher.Amendment
		want error
	}{
		{"UNKNOWN", voucher.Amendment{}, voucher.ErrVoucherNotFound},
		{"A", voucher.Amendment{DiscountAmount: new(int64(5)), MinOrderAmount: new(int64(-1))}, fault.In("minOrderAmount", "")},
		{"A", voucher.Amendment{DiscountAmount: new(int64(5)), StartsAt: new(t0.Add(time.Hour))}, fault.In("startsAt", "")},
		{"A", voucher.Amendment{DiscountAmount: new(int64(5)), TotalLimit: new(int64(1))}, voucher.ErrLimitBelowUsed},
		{"A", voucher.Amendment{DiscountAmount: new(int64(5)), Mode: new(voucher.FlashSync)}, voucher.ErrModeUnavailable},
		{"A", voucher.Amendment{DiscountAmount: new(int64(5)), Mode: new(voucher.Mode("x"))}, fault.In("mode", "")},
		{"CONFIGURED", voucher.Amendment{DiscountAmount: new(int64(5)), Mode: new(voucher.Standard)}, voucher.ErrModeSetByConfig},
		{"CONFIGURED", voucher.Amendment{Mode: new(voucher.FlashSync)}, voucher.ErrModeSetByConfig},
	} {
		v, err := p.Amend(t.Context(), c.code, c.a, "admin")
		require.ErrorIs(t, err, c.want)
		require.Zero(t, v)
	}
	found, err := p.Find(t.Context(), "A")
	require.NoError(t, err)
	require.Equal(t, before.Terms(), found.Terms(), "all or nothing")
	_, err = p.Amend(t.Context(), "CONFIGURED", voucher.Amendment{Paused: new(true)}, "admin")
	require.NoError(t, err, "its other terms are the API's")
}

// Uses past their deadline don't keep a shop from lowering the limit, with no expiry job at work.
func TestAmendLooksForOverdueUses(t *testing.T) {
	p := newProcess()
	p.create(t, "A")
	require.NoError(t, p.shop.Update(t.Context(), port.Step{Code: "A", Decide: func(s *voucher.State, now time.Time) {
		s.Reserve([]voucher.Request{
			{Order: "a", Customer: 1, Amount: 5000, TTL: time.Minute}, {Order: "b", Customer: 2, Amount: 5000, TTL: time.Hour},
		}, now)
	}}))
	lower := voucher.Amendment{TotalLimit: new(int64(1))}
	_, err := p.Amend(t.Context(), "A", lower, "admin")
	require.ErrorIs(t, err, voucher.ErrLimitBelowUsed)
	p.clock.Advance(time.Minute)
	v, err := p.Amend(t.Context(), "A", lower, "admin")
	require.NoError(t, err)
	require.Equal(t, int64(1), v.Used())
}

func TestErrorsOfThePortsArePassedOn(t *testing.T) {
	p := newProcess()
	p.create(t, "A")
	for _, broken := range []error{port.ErrUnavailable, port.ErrUnknown, port.ErrOverloaded, errors.New("x")} {
		p.shop.breaks(broken)
		_, err := p.Create(t.Context(), "B", terms(), "admin")
		require.ErrorIs(t, err, broken)
		_, err = p.Find(t.Context(), "A")
		require.ErrorIs(t, err, broken)
		_, _, err = p.List(t.Context(), "", 1)
		require.ErrorIs(t, err, broken)
		_, err = p.Amend(t.Context(), "A", voucher.Amendment{}, "admin")
		require.ErrorIs(t, err, broken)
	}
	p.shop.breaks(nil)
	_, err := p.directory.Lookup(t.Context(), "B")
	require.ErrorIs(t, err, voucher.ErrVoucherNotFound, "what was not created is not known")
}
