package voucher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

func TestFaultsAreListedOnceAndWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range voucher.Faults() {
		require.False(t, seen[f.Code], "%s twice", f.Code)
		seen[f.Code] = true
		require.NotZero(t, f.Kind, f.Code)
		require.NotEmpty(t, f.Message, f.Code)
	}
	require.Len(t, seen, 15)
}

func TestEveryVerdictHasItsRefusal(t *testing.T) {
	for v, want := range map[voucher.Verdict]*fault.Error{
		voucher.Conflict:     voucher.ErrOrderConflict,
		voucher.NotEligible:  voucher.ErrNotEligible.With(voucher.ReasonEnded),
		voucher.LimitReached: voucher.ErrAlreadyUsed,
		voucher.OutOfStock:   voucher.ErrOutOfStock,
		voucher.Blocked:      voucher.ErrUnavailable.With(voucher.ReasonOverloaded),
	} {
		require.Equal(t, want, voucher.Outcome{Verdict: v, Reason: voucher.ReasonEnded}.Err())
	}
	require.NoError(t, voucher.Outcome{Verdict: voucher.Granted}.Err())
	require.NoError(t, voucher.Outcome{Verdict: voucher.Repeated}.Err())
	// A decision that was forgotten is never taken for a yes.
	require.ErrorIs(t, voucher.Outcome{}.Err(), voucher.ErrUnavailable)
}

// Clients and stored rows know these words.
func TestReasonsAreThePublishedOnes(t *testing.T) {
	require.Equal(t, []string{"CANCELLED", "EXPIRED", "ORDER_CONFLICT"},
		[]string{voucher.Cancelled, voucher.Expired, voucher.Conflicted})
	require.Equal(t, []string{"PAUSED", "NOT_STARTED", "ENDED", "BELOW_MINIMUM"},
		[]string{voucher.ReasonPaused, voucher.ReasonNotStarted, voucher.ReasonEnded, voucher.ReasonBelowMinimum})
	require.Equal(t, []string{"OVERLOADED", "DEPENDENCY", "OUTCOME_UNKNOWN"},
		[]string{voucher.ReasonOverloaded, voucher.ReasonDependency, voucher.ReasonOutcomeUnknown})
}

func TestListsAreWhole(t *testing.T) {
	require.Equal(t, []voucher.Status{"RESERVED", "CONFIRMED", "RELEASED"}, voucher.Statuses())
	require.Equal(t, []voucher.Mode{"standard", "flash-sync", "flash-async"}, voucher.Modes())
	require.Equal(t, []voucher.ChangeKind{"VOUCHER_CREATED", "VOUCHER_AMENDED", "RESERVED", "CONFIRMED", "RELEASED"}, voucher.ChangeKinds())
}
