package voucher_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

func TestNewHoldsEveryRange(t *testing.T) {
	for _, c := range []struct {
		field string
		set   func(*voucher.Terms, int64)
		min   int64
		max   int64
	}{
		{"discountAmount", func(t *voucher.Terms, n int64) { t.DiscountAmount = n }, 1, 1<<53 - 1},
		{"minOrderAmount", func(t *voucher.Terms, n int64) { t.MinOrderAmount = n }, 0, 1<<53 - 1},
		{"totalLimit", func(t *voucher.Terms, n int64) { t.TotalLimit = n }, 1, 1<<31 - 1},
		{"perUserLimit", func(t *voucher.Terms, n int64) { t.PerUserLimit = n }, 1, 1<<31 - 1},
	} {
		for _, n := range []int64{c.min, c.max} {
			_, err := voucher.New(code, terms(func(t *voucher.Terms) { c.set(t, n) }), t0)
			require.NoError(t, err, "%s %d", c.field, n)
		}
		for _, n := range []int64{c.min - 1, -1 << 63, c.max + 1, 1<<63 - 1} {
			_, err := voucher.New(code, terms(func(t *voucher.Terms) { c.set(t, n) }), t0)
			requireField(t, c.field, err, n)
		}
	}
}

func TestNewHoldsTheWindow(t *testing.T) {
	window := func(starts, ends time.Time) error {
		_, err := voucher.New(code, terms(func(t *voucher.Terms) { t.StartsAt, t.EndsAt = starts, ends }), t0)
		return err
	}
	require.NoError(t, window(t0, t0.Add(time.Millisecond)))
	requireField(t, "endsAt", window(t0, t0))
	requireField(t, "endsAt", window(t0, t0.Add(-time.Millisecond)))
	requireField(t, "endsAt", window(t0, t0.Add(999*time.Microsecond)), "cut to milliseconds, nothing is left")

	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	require.NoError(t, window(first, last))
	requireField(t, "startsAt", window(first.Add(-time.Millisecond), last))
	requireField(t, "endsAt", window(first, last.Add(time.Millisecond)))
	// The year is judged in UTC, where it is stored.
	requireField(t, "endsAt", window(t0, time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*3600))))
}

func TestNewNamesTheFirstWrongField(t *testing.T) {
	wrong := voucher.Terms{MinOrderAmount: -1, StartsAt: t0, EndsAt: t0, Mode: "x"}
	for _, c := range []struct {
		field string
		mend  func()
	}{
		{"discountAmount", func() { wrong.DiscountAmount = 1 }},
		{"minOrderAmount", func() { wrong.MinOrderAmount = 0 }},
		{"totalLimit", func() { wrong.TotalLimit = 1 }},
		{"perUserLimit", func() { wrong.PerUserLimit = 1 }},
		{"endsAt", func() { wrong.EndsAt = t0.Add(time.Hour) }},
		{"mode", func() { wrong.Mode = voucher.FlashAsync }},
	} {
		_, err := voucher.New(code, wrong, t0)
		requireField(t, c.field, err)
		c.mend()
	}
	_, err := voucher.New(code, wrong, t0)
	require.NoError(t, err)
}

func TestNewStartsWithNothingTaken(t *testing.T) {
	now := t0.Add(1234567 * time.Nanosecond).In(time.FixedZone("", 3600))
	asked := terms()
	asked.StartsAt, asked.EndsAt = now, now.Add(time.Hour)
	v, err := voucher.New(code, asked, now)
	require.NoError(t, err)

	cut := t0.Add(time.Millisecond)
	want := terms()
	want.StartsAt, want.EndsAt = cut, cut.Add(time.Hour)
	require.Equal(t, voucher.Snapshot{
		Code: code, Terms: want, Epoch: cut.UnixMilli(), CreatedAt: cut, UpdatedAt: cut,
	}, v.Snapshot())
	require.Equal(t, code, v.Code())
	require.Equal(t, want, v.Terms())
	require.Zero(t, v.Used())
}

func TestEffectiveModeIsTheConfiguredOneFirst(t *testing.T) {
	s := voucher.Snapshot{Terms: voucher.Terms{Mode: voucher.Standard}}
	require.Equal(t, voucher.Standard, voucher.Restore(s).EffectiveMode())
	s.ConfigMode = voucher.FlashSync
	require.Equal(t, voucher.FlashSync, voucher.Restore(s).EffectiveMode())
}

func TestRestoreGivesBackWhatStorageKept(t *testing.T) {
	p := int32(3)
	s := voucher.Snapshot{
		Code: code, Terms: terms(), Used: 4, ConfigMode: voucher.Standard, Epoch: 5, Drained: 4, Partition: &p, Sequence: 6,
		Change: 7, CreatedAt: t0, UpdatedAt: in(1),
	}
	require.Equal(t, s, voucher.Restore(s).Snapshot())
	r := voucher.Record{Code: code, Order: "a", Customer: 1, Status: voucher.Released, ReleasedAt: t0, ReleaseReason: voucher.Expired}
	require.Equal(t, r, voucher.RestoreReservation(r).Record())
}

func TestInstantIsWholeMillisecondsInUTC(t *testing.T) {
	got := voucher.Instant(time.Date(2026, 3, 1, 13, 0, 0, 1_999_999, time.FixedZone("CET", 3600)))
	require.Equal(t, time.Date(2026, 3, 1, 12, 0, 0, 1_000_000, time.UTC), got)
}
