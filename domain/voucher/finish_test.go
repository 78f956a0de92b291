package voucher_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

// lives are the states in which a confirm or a release may find order "a", which was reserved at t0.
var lives = map[string]func(b *shelf){
	"reserved":  func(*shelf) {},
	"confirmed": func(b *shelf) { _, _ = b.confirm(in(1), "a", voucher.Condition{}) },
	"cancelled": func(b *shelf) { _ = b.release(in(1), "a", voucher.Condition{}) },
	"expired": func(b *shelf) {
		b.decide(in(16), func(s *voucher.State) { s.Expire([]voucher.OrderID{"a"}, "expiry", in(16)) })
	},
}

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		life   string
		now    time.Time
		err    error
		status voucher.Status
		wrote  bool
	}{
		{"reserved", in(15).Add(-1), nil, voucher.Confirmed, true},
		{"reserved", in(15), voucher.ErrReservationReleased.With(voucher.Expired), voucher.Released, true},
		{"confirmed", in(2), nil, voucher.Confirmed, false},
		{"confirmed", in(100), nil, voucher.Confirmed, false},
		{"cancelled", in(2), voucher.ErrReservationReleased.With(voucher.Cancelled), voucher.Released, false},
		{"cancelled", in(100), voucher.ErrReservationReleased.With(voucher.Cancelled), voucher.Released, false},
		{"expired", in(17), voucher.ErrReservationReleased.With(voucher.Expired), voucher.Released, false},
	} {
		b := newShelf(t)
		b.granted(t0, request("a", 1, 5000))
		lives[c.life](b)
		before := b.orders["a"]
		var r voucher.Reservation
		var err error
		ch := b.decide(c.now, func(s *voucher.State) { r, err = s.Confirm("a", voucher.Condition{}, "shop", c.now) })
		require.Equal(t, c.err, err, c.life)
		require.Equal(t, c.status, b.orders["a"].Record().Status, c.life)
		require.Equal(t, c.wrote, !ch.Empty(), c.life)
		if !c.wrote {
			require.Equal(t, before, b.orders["a"], c.life)
		}
		if c.err == nil {
			require.Equal(t, b.orders["a"], r, c.life)
		} else {
			require.Zero(t, r, c.life)
		}
	}
}

func TestConfirmChangesStatusAndTimeAlone(t *testing.T) {
	b := newShelf(t)
	want := b.granted(t0, request("a", 1, 5000))[0].Record()
	now := in(3).Add(1500 * time.Microsecond)
	r, err := b.confirm(now, "a", voucher.Condition{})
	require.NoError(t, err)
	want.Status, want.ConfirmedAt = voucher.Confirmed, in(3).Add(time.Millisecond)
	require.Equal(t, want, r.Record())
	require.Equal(t, int64(1), b.v.Used())
	require.Equal(t, voucher.Change{
		Code: code, Kind: voucher.ReservationConfirmed, Actor: "shop", At: want.ConfirmedAt, Order: "a", Customer: 1,
		Version: want.Version, Before: &voucher.Facts{Status: voucher.Reserved}, After: &voucher.Facts{Status: voucher.Confirmed},
	}, b.history[1])
}

func TestRelease(t *testing.T) {
	for _, c := range []struct {
		life   string
		now    time.Time
		err    error
		reason string // how the reservation ends; empty: confirmed
		at     time.Time
		wrote  bool
	}{
		{"reserved", in(2), nil, voucher.Cancelled, in(2), true},
		{"reserved", in(15).Add(-time.Millisecond), nil, voucher.Cancelled, in(15).Add(-time.Millisecond), true},
		{"reserved", in(15), nil, voucher.Expired, in(15), true},
		{"reserved", in(20), nil, voucher.Expired, in(15), true},
		{"confirmed", in(2), voucher.ErrAlreadyConfirmed, "", time.Time{}, false},
		{"confirmed", in(20), voucher.ErrAlreadyConfirmed, "", time.Time{}, false},
		{"cancelled", in(2), nil, voucher.Cancelled, in(1), false},
		{"cancelled", in(20), nil, voucher.Cancelled, in(1), false},
		{"expired", in(17), nil, voucher.Expired, in(15), false},
	} {
		b := newShelf(t)
		b.granted(t0, request("a", 1, 5000))
		lives[c.life](b)
		var err error
		ch := b.decide(c.now, func(s *voucher.State) { err = s.Release("a", voucher.Condition{}, "shop", c.now) })
		require.Equal(t, c.err, err, c.life)
		r := b.orders["a"].Record()
		require.Equal(t, c.reason, r.ReleaseReason, c.life)
		require.Equal(t, c.at, r.ReleasedAt, c.life)
		require.Equal(t, c.reason != "", !b.orders["a"].Live(), c.life)
		require.Equal(t, c.wrote, !ch.Empty(), c.life)
		if c.wrote {
			require.Equal(t, []voucher.UseChange{{Customer: 1, Delta: -1}}, ch.Uses)
			require.Equal(t, []voucher.Change{{
				Code: code, Kind: voucher.ReservationReleased, Actor: "shop", At: c.now, Order: "a", Customer: 1, Version: r.Version,
				Before: &voucher.Facts{Status: voucher.Reserved},
				After:  &voucher.Facts{Status: voucher.Released, ReleasedAt: c.at, ReleaseReason: c.reason},
			}}, ch.History)
		}
	}
}

func TestFinishOfAnUnknownOrder(t *testing.T) {
	b := newShelf(t)
	for _, cond := range []voucher.Condition{{}, {Given: true}} {
		_, err := b.confirm(t0, "a", cond)
		require.Equal(t, voucher.ErrReservationNotFound, err)
		require.Equal(t, voucher.ErrReservationNotFound, b.release(t0, "a", cond))
	}
	// An order that lives on another voucher is none of this one.
	b.elsewhere["a"] = voucher.RestoreReservation(voucher.Record{Code: "OTHER", Order: "a", Status: voucher.Reserved, ExpiresAt: in(15)})
	_, err := b.confirm(t0, "a", voucher.Condition{})
	require.Equal(t, voucher.ErrReservationNotFound, err)
	require.Equal(t, voucher.ErrReservationNotFound, b.release(t0, "a", voucher.Condition{}))
	require.Zero(t, b.v.Used())
}

func TestFinishHonoursTheCondition(t *testing.T) {
	for life, live := range lives {
		b := newShelf(t)
		v := b.granted(t0, request("a", 1, 5000))[0].Record().Version
		live(b)
		other := voucher.Version{Epoch: v.Epoch, Sequence: v.Sequence + 1}
		older := voucher.Version{Epoch: v.Epoch - 1, Sequence: v.Sequence}
		for _, cond := range []voucher.Condition{{Given: true}, {Given: true, Versions: []voucher.Version{other, older}}} {
			before := b.orders["a"]
			_, err := b.confirm(in(16), "a", cond)
			require.Equal(t, voucher.ErrPrecondition, err, life)
			require.Equal(t, voucher.ErrPrecondition, b.release(in(16), "a", cond), life)
			require.Equal(t, before, b.orders["a"], "%s: nothing is done, not even an expiry", life)
		}
		fits := voucher.Condition{Given: true, Versions: []voucher.Version{other, v}}
		_, err := b.confirm(in(2), "a", fits)
		require.NotErrorIs(t, err, voucher.ErrPrecondition, life)
		require.NotErrorIs(t, b.release(in(2), "a", fits), voucher.ErrPrecondition, life)
	}
}

// A confirm keeps the version, so that the tag that a 201 carried stays good; a new reservation has another.
func TestConditionTellsReservationsOfOneOrderApart(t *testing.T) {
	b := newShelf(t)
	first := voucher.Condition{Given: true, Versions: []voucher.Version{b.granted(t0, request("a", 1, 5000))[0].Record().Version}}
	require.NoError(t, b.release(in(1), "a", first))
	b.granted(in(2), request("a", 1, 5000))
	_, err := b.confirm(in(3), "a", first)
	require.Equal(t, voucher.ErrPrecondition, err)
	_, err = b.confirm(in(3), "a", voucher.Condition{})
	require.NoError(t, err)
}

// Pause and end stop reserves alone.
func TestFinishWorksOnAPausedAndEndedVoucher(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000), request("b", 1, 5000))
	require.NoError(t, b.amend(in(1), voucher.Amendment{Paused: to(true), EndsAt: to(in(1))}))
	_, err := b.confirm(in(2), "a", voucher.Condition{})
	require.NoError(t, err)
	require.NoError(t, b.release(in(2), "b", voucher.Condition{}))
}
