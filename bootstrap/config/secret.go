package config

import (
	"fmt"
	"io"
	"strconv"
)

// hidden stands for a secret wherever something is printed.
const hidden = "***"

// Secret is a string that is never printed: every verb of fmt, JSON, YAML and text show *** (nothing when it is not
// set). Only Reveal gives it away. The zero value is not set.
//
// The value sits behind a pointer since fmt calls no methods on what it reaches through an unexported field: there it
// would print a plain string, and prints an address instead.
type Secret struct{ value *string }

// NewSecret hides s; an empty s is a Secret that is not set.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{value: &s}
}

// Reveal returns the secret itself, for the one place that uses it.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.value != nil }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return hidden
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return "config.Secret(" + strconv.Quote(s.String()) + ")" }

// Format implements fmt.Formatter, so that verbs that pass by Stringer (%d, %x) show nothing either.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	// A state that cannot be written to is fmt's own trouble; there is nobody to tell.
	_, _ = io.WriteString(f, text)
}

// MarshalText implements encoding.TextMarshaler, which the YAML encoder and the keys of JSON use too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(strconv.Quote(s.String())), nil }
