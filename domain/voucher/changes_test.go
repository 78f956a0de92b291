package voucher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/domain/voucher"
)

func TestChangesOfNothingAreEmpty(t *testing.T) {
	b := newShelf(t, limits(1, 1))
	b.granted(t0, request("a", 1, 5000))
	c := b.decide(in(1), func(s *voucher.State) {
		s.Reserve([]voucher.Request{request("a", 1, 5000), request("a", 2, 5000), request("b", 2, 1), request("b", 2, 5000)}, in(1))
		_, err := s.Confirm("x", voucher.Condition{}, "", in(1))
		require.Error(t, err)
	})
	require.True(t, c.Empty())
	require.Equal(t, voucher.Changes{Before: b.v, After: b.v}, c)
}

// Each part alone makes changes worth writing.
func TestChangesAreNotEmptyWithAnyPart(t *testing.T) {
	v := newShelf(t).v
	other := voucher.Restore(voucher.Snapshot{Code: "X"})
	require.True(t, voucher.Changes{Before: v, After: v}.Empty())
	require.False(t, voucher.Changes{Before: v, After: other}.Empty())
	require.False(t, voucher.Changes{Before: v, After: v, Reservations: make([]voucher.Stored, 1)}.Empty())
	require.False(t, voucher.Changes{Before: v, After: v, History: make([]voucher.Change, 1)}.Empty())
}

// A batch that ends, renews and grants: each order and each customer once, with the sum.
func TestChangesOfAMixedBatch(t *testing.T) {
	b := newShelf(t, limits(4, 2))
	b.granted(t0, request("a", 1, 5000), request("b", 1, 5000), request("c", 2, 5000), request("d", 3, 5000))
	_, err := b.confirm(in(1), "d", voucher.Condition{})
	require.NoError(t, err)
	before := b.orders

	c := b.decide(in(15), func(s *voucher.State) {
		require.Equal(t, []voucher.Verdict{voucher.Granted, voucher.Granted, voucher.Granted, voucher.OutOfStock}, verdicts(s.Reserve([]voucher.Request{
			request("z", 2, 5000), // ends a, b, c first: no use is free
			request("c", 4, 600),  // another customer takes over the order
			request("e", 3, 5000), // beside the confirmed one
			request("f", 1, 5000), // nothing is left
		}, in(15))))
	})
	require.Equal(t, []voucher.UseChange{
		{Customer: 1, Delta: -2},
		{Customer: 2, Delta: 0, Limit: 2}, // lost c and got z
		{Customer: 3, Delta: 1, Limit: 2},
		{Customer: 4, Delta: 1, Limit: 2},
	}, c.Uses)
	require.Equal(t, int64(4), c.After.Used())
	require.Equal(t, c.Before.Snapshot().Sequence+3, c.After.Snapshot().Sequence)

	touched := map[voucher.OrderID]voucher.Stored{}
	for _, w := range c.Reservations {
		require.NotContains(t, touched, w.After.Record().Order)
		touched[w.After.Record().Order] = w
	}
	require.Len(t, touched, 5)
	for _, id := range []voucher.OrderID{"a", "b"} {
		require.False(t, touched[id].New, id)
		require.Equal(t, voucher.Released, touched[id].After.Record().Status, id)
	}
	require.True(t, touched["c"].New)
	require.Equal(t, voucher.CustomerID(2), touched["c"].Before.Record().Customer)
	require.Equal(t, voucher.CustomerID(4), touched["c"].After.Record().Customer)
	for _, id := range []voucher.OrderID{"z", "e"} {
		require.True(t, touched[id].New, id)
		require.Zero(t, touched[id].Before, id)
	}
	require.NotContains(t, touched, voucher.OrderID("d"))
	require.Equal(t, voucher.Confirmed, before["d"].Record().Status)
	require.Len(t, c.History, 6)
}

// Changes are in the order of the decisions, so that a store writes what the history tells.
func TestChangesKeepTheOrderOfTheirFirstChange(t *testing.T) {
	b := newShelf(t)
	c := b.decide(t0, func(s *voucher.State) {
		s.Reserve([]voucher.Request{request("z", 3, 5000), request("a", 2, 5000), request("m", 1, 5000)}, t0)
		require.NoError(t, s.Release("z", voucher.Condition{}, "shop", in(1)))
	})
	var ids []voucher.OrderID
	for _, w := range c.Reservations {
		ids = append(ids, w.After.Record().Order)
		require.True(t, w.New, "nothing was stored before, whatever happened since")
	}
	require.Equal(t, []voucher.OrderID{"z", "a", "m"}, ids)
	require.Equal(t, []voucher.UseChange{
		{Customer: 1, Delta: 1, Limit: 2}, {Customer: 2, Delta: 1, Limit: 2}, {Customer: 3, Delta: 0, Limit: 2},
	}, c.Uses)
}

// The limit that a grant was decided under goes with it, so that a later, lower one binds new grants alone.
func TestChangesCarryTheLimitOfTheGrant(t *testing.T) {
	b := newShelf(t, limits(10, 7))
	c := b.decide(t0, func(s *voucher.State) { s.Reserve([]voucher.Request{request("a", 1, 5000)}, t0) })
	require.Equal(t, []voucher.UseChange{{Customer: 1, Delta: 1, Limit: 7}}, c.Uses)
	c = b.decide(in(1), func(s *voucher.State) { require.NoError(t, s.Release("a", voucher.Condition{}, "", in(1))) })
	require.Equal(t, []voucher.UseChange{{Customer: 1, Delta: -1}}, c.Uses)
}

// A state owns what it works on: the loaded counts stay as they were.
func TestStateLeavesWhatWasLoadedAlone(t *testing.T) {
	b := newShelf(t)
	l := b.load(t0)
	l.Uses = map[voucher.CustomerID]int64{1: 1}
	s := voucher.NewState(l)
	s.Reserve([]voucher.Request{request("a", 1, 5000)}, t0)
	require.Equal(t, map[voucher.CustomerID]int64{1: 1}, l.Uses)
	require.Empty(t, l.Orders)
}

func TestStateWorksWithoutLoadedCounts(t *testing.T) {
	s := voucher.NewState(voucher.Loaded{Voucher: newShelf(t).v})
	require.Equal(t, voucher.Granted, s.Reserve([]voucher.Request{request("a", 1, 5000)}, t0)[0].Verdict)
	_, ok := s.Order("b")
	require.False(t, ok)
}

func TestCreatedBeginsTheHistory(t *testing.T) {
	v := newShelf(t).v
	want := terms()
	require.Equal(t, voucher.Change{
		Code: code, Kind: voucher.VoucherCreated, Actor: "admin", At: t0,
		Version: voucher.Version{Epoch: t0.UnixMilli()}, TermsAfter: &want,
	}, voucher.Created(v, "admin"))
}
