package voucher_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

func TestOverdueBeginsExactlyAtTheDeadline(t *testing.T) {
	for _, c := range []struct {
		status voucher.Status
		at     time.Time
		want   bool
	}{
		{voucher.Reserved, in(15).Add(-1), false},
		{voucher.Reserved, in(15), true},
		{voucher.Reserved, in(15).Add(1), true},
		{voucher.Confirmed, in(15), false},
		{voucher.Released, in(15), false},
	} {
		r := voucher.RestoreReservation(voucher.Record{Status: c.status, ExpiresAt: in(15)})
		require.Equal(t, c.want, r.Overdue(c.at), "%s %s", c.status, c.at)
		seen := r.AsOf(c.at).Record()
		if !c.want {
			require.Equal(t, r.Record(), seen)
			continue
		}
		require.Equal(t, voucher.Record{Status: voucher.Released, ExpiresAt: in(15), ReleasedAt: in(15), ReleaseReason: voucher.Expired}, seen)
	}
}

func TestLiveIsReservedOrConfirmed(t *testing.T) {
	for s, want := range map[voucher.Status]bool{voucher.Reserved: true, voucher.Confirmed: true, voucher.Released: false} {
		require.Equal(t, want, voucher.RestoreReservation(voucher.Record{Status: s}).Live(), s)
	}
}

// An abandoned use can be had at its deadline, without the expiry job.
func TestReserveTakesOverWhatIsOverdue(t *testing.T) {
	b := newShelf(t, limits(2, 1))
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000))
	require.Equal(t, voucher.OutOfStock, b.reserve(in(15).Add(-1), request("c", 3, 5000))[0].Verdict)
	b.granted(in(15), request("c", 3, 5000))
	require.Equal(t, int64(1), b.v.Used())
	for _, id := range []voucher.OrderID{"a", "b"} {
		r := b.orders[id].Record()
		require.Equal(t, voucher.Released, r.Status)
		require.Equal(t, voucher.Expired, r.ReleaseReason)
		require.Equal(t, in(15), r.ReleasedAt)
	}
}

func TestReserveTakesOverTheCustomersOwnOverdueUse(t *testing.T) {
	b := newShelf(t, limits(10, 1))
	b.granted(t0, request("a", 1, 5000))
	require.Equal(t, voucher.LimitReached, b.reserve(in(15).Add(-1), request("b", 1, 5000))[0].Verdict)
	b.granted(in(15), request("b", 1, 5000))
	require.Equal(t, voucher.Released, b.orders["a"].Record().Status)
	require.Equal(t, int64(1), b.uses[1])
}

// Whoever is not refused by a limit leaves the overdue ones to the job: ending them costs the hot path.
func TestReserveEndsOverdueUsesOnlyWhereALimitWouldRefuse(t *testing.T) {
	b := newShelf(t, limits(3, 2))
	b.granted(t0, request("a", 1, 5000))
	b.granted(in(15), request("b", 1, 5000))
	require.Equal(t, voucher.Reserved, b.orders["a"].Record().Status, "neither limit is reached")
	b.granted(in(15), request("c", 2, 5000))
	require.Equal(t, voucher.Reserved, b.orders["a"].Record().Status, "the last use was free")
	require.Equal(t, voucher.NotEligible, b.reserve(in(15), request("d", 3, 1))[0].Verdict)
	require.Equal(t, voucher.Reserved, b.orders["a"].Record().Status, "no limit refused it")
	b.granted(in(15), request("d", 3, 5000))
	require.Equal(t, voucher.Released, b.orders["a"].Record().Status)
}

// What was not loaded is not ended: a limit then refuses, which is safe.
func TestReserveRefusesWhereNoOverdueUseWasLoaded(t *testing.T) {
	b := newShelf(t, limits(1, 1))
	b.granted(t0, request("a", 1, 5000))
	b.blind = true
	require.Equal(t, voucher.OutOfStock, b.reserve(in(15), request("b", 2, 5000))[0].Verdict)
	require.Equal(t, voucher.LimitReached, b.reserve(in(15), request("b", 1, 5000))[0].Verdict)
}

// Orders that were named as overdue and are not (any more), or are not there, are left alone.
func TestReserveBelievesTheReservationNotTheList(t *testing.T) {
	b := newShelf(t, limits(2, 1))
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000))
	_, err := b.confirm(in(1), "b", voucher.Condition{})
	require.NoError(t, err)
	l := b.load(in(2))
	l.Overdue = []voucher.OrderID{"a", "b", "gone"}
	s := voucher.NewState(l)
	require.Equal(t, voucher.OutOfStock, s.Reserve([]voucher.Request{request("c", 3, 5000)}, in(2))[0].Verdict)
	require.True(t, s.Changes().Empty())
}

// The order itself is past its deadline: it is ended, and the request is a new one.
func TestReserveAfterTheOwnDeadline(t *testing.T) {
	b := newShelf(t, limits(1, 1))
	first := b.granted(t0, request("a", 1, 5000))[0].Record()
	b.blind = true
	c := b.decide(in(15), func(s *voucher.State) {
		require.Equal(t, voucher.Granted, s.Reserve([]voucher.Request{request("a", 1, 5000)}, in(15))[0].Verdict)
	})
	second := b.orders["a"].Record()
	require.Positive(t, second.Version.Compare(first.Version))
	require.Equal(t, in(30), second.ExpiresAt)
	require.Equal(t, []voucher.UseChange{{Customer: 1, Delta: 0, Limit: 1}}, c.Uses, "one use ended and one begun: the count stays")
	require.Equal(t, int64(1), b.v.Used())
	require.Equal(t, []voucher.ChangeKind{voucher.ReservationReleased, voucher.ReservationMade}, []voucher.ChangeKind{c.History[0].Kind, c.History[1].Kind})
	require.Equal(t, first.Version, c.History[0].Version)
	require.Equal(t, second.Version, c.History[1].Version)
}

// Refused or not, the order's own overdue use is over.
func TestReserveAfterTheOwnDeadlineMayBeRefused(t *testing.T) {
	b := newShelf(t, limits(1, 1))
	b.granted(t0, request("a", 1, 5000))
	require.Equal(t, voucher.NotEligible, b.reserve(in(15), request("a", 9, 1))[0].Verdict)
	require.Equal(t, voucher.Released, b.orders["a"].Record().Status)
	require.Zero(t, b.v.Used())
	require.Zero(t, b.uses[1])
}

func TestExpireEndsWhatIsDueAndNothingElse(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("due", 1, 5000), request("confirmed", 2, 5000), request("released", 3, 5000), request("renewed", 4, 5000))
	b.granted(in(1), request("later", 5, 5000))
	_, err := b.confirm(in(2), "confirmed", voucher.Condition{})
	require.NoError(t, err)
	require.NoError(t, b.release(in(2), "released", voucher.Condition{}))
	require.NoError(t, b.release(in(2), "renewed", voucher.Condition{}))
	b.granted(in(3), request("renewed", 4, 5000))
	ids := []voucher.OrderID{"unknown", "due", "confirmed", "released", "renewed", "later", "due"}

	expire := func(now time.Time) (n int) {
		b.decide(now, func(s *voucher.State) { n = s.Expire(ids, "expiry", now) })
		return n
	}
	require.Zero(t, expire(in(15).Add(-1)))
	require.Equal(t, 1, expire(in(15)))
	require.Equal(t, voucher.Released, b.orders["due"].Record().Status)
	require.Equal(t, voucher.Reserved, b.orders["later"].Record().Status)
	require.Equal(t, voucher.Cancelled, b.orders["released"].Record().ReleaseReason)
	last := b.history[len(b.history)-1]
	require.Equal(t, voucher.Change{
		Code: code, Kind: voucher.ReservationReleased, Actor: "expiry", At: in(15), Order: "due", Customer: 1,
		Version: b.orders["due"].Record().Version, Before: &voucher.Facts{Status: voucher.Reserved},
		After: &voucher.Facts{Status: voucher.Released, ReleasedAt: in(15), ReleaseReason: voucher.Expired},
	}, last)
	require.Equal(t, 2, expire(in(18)))
	require.Zero(t, expire(in(100)), "a confirmed one never expires")
	require.Equal(t, int64(1), b.v.Used())
}

func TestShortOfLooksWhereALimitMayRefuse(t *testing.T) {
	b := newShelf(t, limits(3, 2))
	b.granted(t0, request("a", 1, 5000))
	l := b.load(t0)
	require.False(t, l.ShortOf(nil))
	require.False(t, l.ShortOf([]voucher.Request{request("b", 1, 1), request("c", 2, 1)}), "exactly what is left")
	require.True(t, l.ShortOf([]voucher.Request{request("b", 1, 1), request("c", 1, 1)}), "one customer asks for too much")
	require.True(t, l.ShortOf([]voucher.Request{request("b", 2, 1), request("c", 3, 1), request("d", 4, 1)}), "all together do")
}
