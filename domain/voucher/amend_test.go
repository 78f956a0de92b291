package voucher_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

func to[T any](v T) *T { return &v }

func TestAmendSetsEachTermAlone(t *testing.T) {
	for _, c := range []struct {
		name string
		a    voucher.Amendment
		want func(*voucher.Terms)
	}{
		{"discountAmount", voucher.Amendment{DiscountAmount: to[int64](7)}, func(t *voucher.Terms) { t.DiscountAmount = 7 }},
		{"minOrderAmount", voucher.Amendment{MinOrderAmount: to[int64](0)}, func(t *voucher.Terms) { t.MinOrderAmount = 0 }},
		{"totalLimit", voucher.Amendment{TotalLimit: to[int64](1)}, func(t *voucher.Terms) { t.TotalLimit = 1 }},
		{"perUserLimit", voucher.Amendment{PerUserLimit: to[int64](9)}, func(t *voucher.Terms) { t.PerUserLimit = 9 }},
		{"startsAt", voucher.Amendment{StartsAt: to(in(1))}, func(t *voucher.Terms) { t.StartsAt = in(1) }},
		{"endsAt", voucher.Amendment{EndsAt: to(in(2))}, func(t *voucher.Terms) { t.EndsAt = in(2) }},
		{"paused", voucher.Amendment{Paused: to(true)}, func(t *voucher.Terms) { t.Paused = true }},
		{"mode", voucher.Amendment{Mode: to(voucher.FlashSync)}, func(t *voucher.Terms) { t.Mode = voucher.FlashSync }},
	} {
		b := newShelf(t)
		before := b.v.Snapshot()
		now := in(5).Add(time.Microsecond)
		require.NoError(t, b.amend(now, c.a), c.name)
		after := b.v.Snapshot()
		require.Equal(t, terms(c.want), after.Terms, c.name)
		require.Equal(t, before.Change+1, after.Change, c.name)
		require.Equal(t, in(5), after.UpdatedAt, c.name)
		require.Equal(t, before.CreatedAt, after.CreatedAt, c.name)

		was, is := before.Terms, after.Terms
		require.Equal(t, []voucher.Change{{
			Code: code, Kind: voucher.VoucherAmended, Actor: "admin", At: in(5),
			Version: voucher.Version{Epoch: after.Epoch, Sequence: after.Change}, TermsBefore: &was, TermsAfter: &is,
		}}, b.history, c.name)
	}
}

func TestAmendThatChangesNothingWritesNothing(t *testing.T) {
	b := newShelf(t)
	before := b.v
	for _, a := range []voucher.Amendment{
		{},
		{ModeRefusal: voucher.ErrModeUnavailable},
		{DiscountAmount: to[int64](1000), TotalLimit: to[int64](10), Paused: to(false), Mode: to(voucher.Standard)},
		{StartsAt: to(t0.Add(-time.Hour).In(time.FixedZone("", 7200)))},
		{EndsAt: to(t0.Add(24*time.Hour + 999*time.Microsecond))},
	} {
		c := b.decide(in(1), func(s *voucher.State) { require.NoError(t, s.Amend(a, "admin", in(1))) })
		require.True(t, c.Empty())
	}
	require.Equal(t, before, b.v)
}

func TestAmendIsAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		field string
		a     voucher.Amendment
	}{
		{"discountAmount", voucher.Amendment{DiscountAmount: to[int64](0)}},
		{"minOrderAmount", voucher.Amendment{DiscountAmount: to[int64](5), MinOrderAmount: to[int64](-1)}},
		{"totalLimit", voucher.Amendment{DiscountAmount: to[int64](5), TotalLimit: to[int64](voucher.MaxLimit + 1)}},
		{"perUserLimit", voucher.Amendment{DiscountAmount: to[int64](5), PerUserLimit: to[int64](0)}},
		{"startsAt", voucher.Amendment{DiscountAmount: to[int64](5), StartsAt: to(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))}},
		{"startsAt", voucher.Amendment{DiscountAmount: to[int64](5), StartsAt: to(t0.Add(24 * time.Hour))}},
		{"endsAt", voucher.Amendment{DiscountAmount: to[int64](5), EndsAt: to(t0.Add(-time.Hour))}},
		{"endsAt", voucher.Amendment{StartsAt: to(in(2)), EndsAt: to(in(1))}},
		{"mode", voucher.Amendment{DiscountAmount: to[int64](5), Mode: to(voucher.Mode("x"))}},
		{"mode", voucher.Amendment{Mode: to(voucher.Mode("x")), ModeRefusal: voucher.ErrModeUnavailable}},
	} {
		b := newShelf(t)
		before := b.v
		requireField(t, c.field, b.amend(in(1), c.a))
		require.Equal(t, before, b.v, c.field)
		require.Empty(t, b.history, c.field)
	}
}

// A window may move as a whole past where it was: it is the result that is judged.
func TestAmendJudgesTheWholeVoucherThatItWouldGive(t *testing.T) {
	b := newShelf(t)
	require.NoError(t, b.amend(in(1), voucher.Amendment{StartsAt: to(t0.Add(100 * time.Hour)), EndsAt: to(t0.Add(101 * time.Hour))}))
	require.Equal(t, t0.Add(101*time.Hour), b.v.Terms().EndsAt)
}

func TestAmendRefusesATotalBelowWhatIsUsed(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000), request("c", 3, 5000))
	before := b.v
	err := b.amend(in(1), voucher.Amendment{TotalLimit: to[int64](2), DiscountAmount: to[int64](7)})
	require.ErrorIs(t, err, voucher.ErrLimitBelowUsed)
	require.Equal(t, before, b.v)
	require.NoError(t, b.amend(in(1), voucher.Amendment{TotalLimit: to[int64](3)}))
	require.Equal(t, int64(3), b.v.Terms().TotalLimit)
	require.Equal(t, voucher.OutOfStock, b.reserve(in(1), request("d", 4, 5000))[0].Verdict)
}

func TestAmendRefusalsInTheirOrder(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000))
	a := voucher.Amendment{
		DiscountAmount: to[int64](0), TotalLimit: to[int64](1), Mode: to(voucher.FlashSync), ModeRefusal: voucher.ErrModeSetByConfig,
	}
	requireField(t, "discountAmount", b.amend(in(1), a))
	a.DiscountAmount = nil
	require.ErrorIs(t, b.amend(in(1), a), voucher.ErrLimitBelowUsed)
	a.TotalLimit = nil
	require.ErrorIs(t, b.amend(in(1), a), voucher.ErrModeSetByConfig)
	a.Mode = to(voucher.Standard)
	require.ErrorIs(t, b.amend(in(1), a), voucher.ErrModeSetByConfig, "also for the mode that it has")
}

// Uses that nobody holds any more don't keep a shop from lowering the limit; those within their time do.
func TestAmendEndsOverdueUsesOnlyWhereTheyAreInTheWay(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000))
	b.granted(in(5), request("c", 3, 5000))

	require.NoError(t, b.amend(in(15), voucher.Amendment{TotalLimit: to[int64](3)}))
	require.Equal(t, int64(3), b.v.Used(), "not in the way")
	require.NoError(t, b.amend(in(15), voucher.Amendment{PerUserLimit: to[int64](1)}))
	require.Equal(t, int64(3), b.v.Used(), "not in the way")

	require.ErrorIs(t, b.amend(in(15).Add(-time.Millisecond), voucher.Amendment{TotalLimit: to[int64](2)}), voucher.ErrLimitBelowUsed)
	require.Equal(t, int64(3), b.v.Used(), "not overdue yet")
	require.NoError(t, b.amend(in(15), voucher.Amendment{TotalLimit: to[int64](1)}))
	require.Equal(t, int64(1), b.v.Used())
	require.Equal(t, voucher.Expired, b.orders["a"].Record().ReleaseReason)
	require.Equal(t, voucher.Reserved, b.orders["c"].Record().Status)
}

// What was overdue stays ended even though the amendment is refused: both are true.
func TestAmendRefusedKeepsTheExpiries(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000))
	b.granted(in(5), request("b", 2, 5000), request("c", 3, 5000))
	before := b.v.Terms()
	require.ErrorIs(t, b.amend(in(15), voucher.Amendment{TotalLimit: to[int64](1)}), voucher.ErrLimitBelowUsed)
	require.Equal(t, before, b.v.Terms())
	require.Equal(t, int64(2), b.v.Used())
}

func TestAmendOfTheModeRaisesTheEpoch(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000))
	require.NoError(t, b.amend(in(1), voucher.Amendment{Paused: to(true)}))
	require.Equal(t, t0.UnixMilli(), b.v.Snapshot().Epoch, "no other term does")
	require.Equal(t, int64(1), b.v.Snapshot().Sequence)

	require.NoError(t, b.amend(in(1), voucher.Amendment{Mode: to(voucher.FlashSync), Paused: to(false)}))
	require.Equal(t, in(1).UnixMilli(), b.v.Snapshot().Epoch)
	require.Zero(t, b.v.Snapshot().Sequence)
	// A clock that stands still or went back: the epoch rises all the same.
	require.NoError(t, b.amend(t0, voucher.Amendment{Mode: to(voucher.Standard)}))
	require.Equal(t, in(1).UnixMilli()+1, b.v.Snapshot().Epoch)
	require.Positive(t, b.granted(in(2), request("b", 2, 5000))[0].Record().Version.Compare(b.orders["a"].Record().Version))
}

// A reservation keeps what it was granted.
func TestAmendChangesNoReservation(t *testing.T) {
	b := newShelf(t)
	before := b.granted(t0, request("a", 1, 3000))[0]
	require.NoError(t, b.amend(in(1), voucher.Amendment{DiscountAmount: to[int64](7), Paused: to(true), PerUserLimit: to[int64](1)}))
	require.Equal(t, before, b.orders["a"])
	r, err := b.confirm(in(2), "a", voucher.Condition{})
	require.NoError(t, err)
	require.Equal(t, int64(1000), r.Record().DiscountAmount)
}
