package voucher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

// loadSome shows everything as of minute 15, but no more than n of the overdue orders.
func (b *shelf) loadSome(n int) voucher.Loaded {
	l := b.load(in(15))
	l.MoreDue = len(l.Overdue) >= n
	l.Overdue = l.Overdue[:min(n, len(l.Overdue))]
	return l
}

// sweep decides requests on what loadSome shows, and writes it.
func (b *shelf) sweep(n int, reqs ...voucher.Request) []voucher.Outcome {
	s := voucher.NewState(b.loadSome(n))
	out := s.Reserve(reqs, in(15))
	b.write(s.Changes())
	b.check()
	return out
}

// No limit refuses while there may be an overdue use that would lift it: each look ends some, until it is decided.
func TestNoLimitRefusesWhileMoreMayBeOverdue(t *testing.T) {
	b := newShelf(t, limits(10, 1))
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000), request("c", 3, 5000), request("d", 4, 5000), request("e", 5, 5000))
	mine := request("mine", 5, 5000)
	for _, left := range []int64{3, 1} {
		out := b.sweep(2, mine)[0]
		require.Equal(t, voucher.Outcome{Verdict: voucher.Undecided}, out)
		require.ErrorIs(t, out.Err(), voucher.ErrUnavailable.With(voucher.ReasonOverloaded))
		require.Equal(t, left, b.v.Used(), "asking again gets further")
	}
	require.Equal(t, voucher.Granted, b.sweep(2, mine)[0].Verdict)
	require.Equal(t, voucher.LimitReached, b.sweep(2, request("again", 5, 5000))[0].Verdict, "this one is not overdue")
}

// Whoever finds room in what one look has freed is served at once; whoever doesn't is told to ask again.
func TestABatchTakesWhatOneLookFreed(t *testing.T) {
	b := newShelf(t, limits(4, 2))
	b.granted(t0, request("a", 1, 5000), request("b", 1, 5000), request("c", 2, 5000), request("d", 2, 5000))
	reqs := []voucher.Request{
		request("e", 2, 5000), request("f", 3, 5000), request("g", 4, 5000), request("h", 5, 5000), request("low", 6, 499),
	}
	require.Equal(t, []voucher.Verdict{voucher.Undecided, voucher.Granted, voucher.Granted, voucher.Undecided, voucher.NotEligible},
		verdicts(b.sweep(2, reqs...)))
	require.Equal(t, []voucher.Verdict{voucher.Granted, voucher.Repeated, voucher.Repeated, voucher.Granted, voucher.NotEligible},
		verdicts(b.sweep(2, reqs...)))
	require.Equal(t, voucher.OutOfStock, b.sweep(2, request("i", 7, 5000))[0].Verdict)
}

// Where no limit is in the way it makes no difference how many are overdue.
func TestMoreOverdueUsesConcernNobodyWhoHasRoom(t *testing.T) {
	b := newShelf(t, limits(10, 2))
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000), request("c", 3, 5000))
	require.Equal(t, voucher.Granted, b.sweep(1, request("d", 1, 5000))[0].Verdict)
	require.EqualValues(t, 4, b.v.Used())
}

func TestALowerLimitIsNotRefusedWhileMoreMayBeOverdue(t *testing.T) {
	b := newShelf(t)
	b.granted(t0, request("a", 1, 5000), request("b", 2, 5000), request("c", 3, 5000), request("d", 4, 5000))
	before := b.v.Terms()
	amend := func(a voucher.Amendment) error {
		s := voucher.NewState(b.loadSome(2))
		err := s.Amend(a, "admin", in(15))
		b.write(s.Changes())
		b.check()
		return err
	}
	require.ErrorIs(t, amend(voucher.Amendment{TotalLimit: to[int64](1)}), voucher.ErrUndecided)
	require.EqualValues(t, 2, b.v.Used(), "asking again gets further")
	require.Equal(t, before, b.v.Terms())
	require.NoError(t, amend(voucher.Amendment{TotalLimit: to[int64](1)}))
	require.EqualValues(t, 1, b.v.Terms().TotalLimit)
	require.Zero(t, b.v.Used())
}
