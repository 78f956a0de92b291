package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"voucherd/domain/fault"
)

func TestErrorTellsCodeReasonFieldAndMessage(t *testing.T) {
	for _, c := range []struct {
		e    fault.Error
		want string
	}{
		{fault.Error{Code: "A", Message: "m"}, "A: m"},
		{fault.Error{Code: "A", Reason: "R", Message: "m"}, "A/R: m"},
		{fault.Error{Code: "A", Field: "f", Message: "m"}, "A (f): m"},
		{fault.Error{Code: "A", Reason: "R", Field: "f", Message: "m"}, "A/R (f): m"},
	} {
		require.Equal(t, c.want, c.e.Error())
	}
}

// A bare fault of the catalogue stands for all its reasons and fields; one that names them stands for those alone.
func TestIsComparesWhatTheTargetNames(t *testing.T) {
	bare := &fault.Error{Kind: fault.Conflict, Code: "A", Message: "m"}
	reason, otherReason := bare.With("R"), bare.With("S")
	field := &fault.Error{Kind: fault.Conflict, Code: "A", Field: "f"}
	for _, c := range []struct {
		name        string
		err, target error
		want        bool
	}{
		{"itself", bare, bare, true},
		{"another message", &fault.Error{Kind: fault.Conflict, Code: "A", Message: "n"}, bare, true},
		{"another code", &fault.Error{Kind: fault.Conflict, Code: "B"}, bare, false},
		{"a reason against none", reason, bare, true},
		{"none against a reason", bare, reason, false},
		{"the same reason", reason, bare.With("R"), true},
		{"another reason", reason, otherReason, false},
		{"a field against none", field, bare, true},
		{"none against a field", bare, field, false},
		{"another field", field, &fault.Error{Code: "A", Field: "g"}, false},
		{"something else", bare, errors.New("x"), false},
		{"wrapped", fmt.Errorf("w: %w", reason), bare, true},
		{"wrapped with another reason", fmt.Errorf("w: %w", reason), otherReason, false},
	} {
		require.Equal(t, c.want, errors.Is(c.err, c.target), c.name)
	}
}

func TestWithLeavesTheOriginalAlone(t *testing.T) {
	bare := &fault.Error{Kind: fault.NotEligible, Code: "A", Field: "f", Message: "m"}
	with := bare.With("R")
	require.Equal(t, &fault.Error{Kind: fault.NotEligible, Code: "A", Reason: "R", Field: "f", Message: "m"}, with)
	require.Empty(t, bare.Reason)
}

func TestInIsAnInvalidRequestThatNamesItsField(t *testing.T) {
	require.Equal(t,
		&fault.Error{Kind: fault.Invalid, Code: "INVALID_REQUEST", Field: "n", Message: "n must be 1 to 9"},
		fault.In("n", "must be %d to %d", 1, 9))
}

// A kind that somebody forgot to set must not pass for a real one.
func TestNoKindIsZero(t *testing.T) {
	for _, k := range []fault.Kind{
		fault.Invalid, fault.NotFound, fault.Conflict, fault.NotEligible, fault.Precondition, fault.Unavailable,
	} {
		require.NotZero(t, k)
	}
}
