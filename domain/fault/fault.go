// Package fault holds the one error type with which the core refuses a request.
//
// A fault is an answer, not a breakdown: it says what kind of refusal it is, under which stable code a client knows
// it, and which field or reason belongs to it. How it looks on a wire is decided elsewhere, in one place.
package fault

import (
	"errors"
	"fmt"
)

// Kind groups refusals by what the caller can do about them.
type Kind int

// The kinds of refusal. The zero value is no kind, so that a forgotten one shows.
const (
	// Invalid: the request itself is malformed; the same request will always be refused.
	Invalid Kind = iota + 1
	// NotFound: what the request names does not exist.
	NotFound
	// Conflict: the request is well formed and contradicts what is stored.
	Conflict
	// NotEligible: the voucher's own rules (pause, window, minimum) refuse the order for now.
	NotEligible
	// Precondition: the state is not the one that the caller made a condition.
	Precondition
	// Unavailable: nothing can be said now; the same request may be sent again.
	Unavailable
)

// Error is a refusal. Is compares Code, and Reason and Field where they are named; Message is for people.
type Error struct {
	Kind    Kind
	Code    string // stable, upper snake case, part of the published interface
	Reason  string // refines some codes; stable as well
	Field   string // the request's field that is wrong, if one is
	Message string // one English sentence, free of secrets and of storage details
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Code
	if e.Reason != "" {
		s += "/" + e.Reason
	}
	if e.Field != "" {
		s += " (" + e.Field + ")"
	}
	return s + ": " + e.Message
}

// Is reports whether target is a fault of the same code, and of the same reason and field where target names them.
func (e *Error) Is(target error) bool {
	var t *Error
	if !errors.As(target, &t) {
		return false
	}
	return t.Code == e.Code && (t.Reason == "" || t.Reason == e.Reason) && (t.Field == "" || t.Field == e.Field)
}

// With returns a copy of e that carries reason.
func (e *Error) With(reason string) *Error {
	c := *e
	c.Reason = reason
	return &c
}

// In returns an Invalid fault: field is the first wrong one, and the message says what it must be.
func In(field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: "INVALID_REQUEST", Field: field, Message: field + " " + fmt.Sprintf(format, args...)}
}
