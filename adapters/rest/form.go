package rest

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"voucherd/domain/fault"
	"voucherd/domain/voucher"
)

const (
	// maxFields is the most fields that a request has.
	maxFields = 8
	// maxShown bounds how much of a name that a client made up comes back to it, in characters.
	maxShown = 64
)

// form is the members of a request's object. Its methods take one field each and keep the first fault, after which
// they return zero values: called in the order of the published table, they leave the fault that is to be answered.
type form struct {
	names    []string
	values   [maxFields]jsontext.Value // nil: not given
	repeated [maxFields]bool
	stranger string // the first name that is none of names, fit to be shown
	err      error
}

func (f *form) reset(names []string) { *f = form{names: names} }

// find returns where the field is kept, or -1 and remembers the name. quoted is the name as it stands in the body.
func (f *form) find(quoted jsontext.Value) int {
	name := unquote(quoted)
	for i, n := range f.names {
		if n == string(name) {
			return i
		}
	}
	if f.stranger == "" {
		f.stranger = showable(string(name))
	}
	return -1
}

func (f *form) put(at int, v jsontext.Value) {
	f.repeated[at] = f.values[at] != nil
	f.values[at] = v
}

// fault returns the first fault.
func (f *form) fault() error {
	if f.err == nil && f.stranger != "" {
		f.fail(f.stranger, "is no field of this request")
	}
	return f.err
}

func (f *form) fail(name, format string, args ...any) {
	if f.err == nil {
		f.err = fault.In(name, format, args...)
	}
}

// has reports whether the field was given, be it as null.
func (f *form) has(name string) bool { return f.values[slices.Index(f.names, name)] != nil }

// value returns a field that must be given, once; nil after a fault.
func (f *form) value(name string) jsontext.Value {
	if f.err != nil {
		return nil
	}
	at := slices.Index(f.names, name)
	switch {
	case f.values[at] == nil:
		f.fail(name, "is missing")
	case f.repeated[at]:
		f.fail(name, "must be given once")
	default:
		return f.values[at]
	}
	return nil
}

// whole takes a whole number. Only its plain spelling counts: 10.0, 1e1 and -0 are no money.
func (f *form) whole(name string, lowest, highest int64) int64 {
	v := f.value(name)
	if v == nil {
		return 0
	}
	if v.Kind() == '0' && !bytes.ContainsAny(v, ".eE") && string(v) != "-0" {
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && lowest <= n && n <= highest {
			return n
		}
	}
	f.fail(name, "must be a whole number from %d to %d", lowest, highest)
	return 0
}

func (f *form) text(name string) string {
	v := f.value(name)
	if v == nil {
		return ""
	}
	if v.Kind() != '"' {
		f.fail(name, "must be a string")
		return ""
	}
	return string(unquote(v))
}

func (f *form) flag(name string) bool {
	v := f.value(name)
	if v != nil && v.Kind() != 't' && v.Kind() != 'f' {
		f.fail(name, "must be true or false")
	}
	return v.Kind() == 't'
}

// rfc3339 is what the RFC's grammar leaves possible, beside the numbers that time.Parse judges. Go by itself takes
// more: an hour of one digit, a comma before the fraction, an offset of 24 hours (go.dev/issue/54580).
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// instant takes a time, cut to what is stored. T and Z are capital letters, and no minute has a second 60.
func (f *form) instant(name string) time.Time {
	s := f.text(name)
	if f.err != nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !rfc3339.MatchString(s) {
		f.fail(name, "must be a time as in RFC 3339 with an offset, such as 2026-01-31T10:00:00Z")
		return time.Time{}
	}
	t = voucher.Instant(t)
	if y := t.Year(); y < 1 || y > 9999 {
		f.fail(name, "must lie in the years 0001 to 9999, in UTC")
	}
	return t
}

func (f *form) code(name string) voucher.Code { return parsed(f, name, voucher.ParseCode) }

func (f *form) order(name string) voucher.OrderID { return parsed(f, name, voucher.ParseOrderID) }

func (f *form) mode(name string) voucher.Mode { return parsed(f, name, voucher.ParseMode) }

// parsed takes a string that the domain has a form for; parse names the same field in its fault.
func parsed[T ~string](f *form, name string, parse func(string) (T, error)) T {
	s := f.text(name)
	if f.err != nil {
		return ""
	}
	v, err := parse(s)
	if err != nil {
		f.err = err
	}
	return v
}

// window demands that something lies between two times; the later field of the two is the wrong one.
func (f *form) window(startsAt, endsAt time.Time) {
	if !startsAt.Before(endsAt) {
		f.fail("endsAt", "must leave a window: startsAt before endsAt")
	}
}

// optional takes a field if it was given.
func optional[T any](f *form, name string, take func(string) T) *T {
	if !f.has(name) {
		return nil
	}
	v := take(name)
	return &v
}

// unquote returns the characters of a JSON string, which the decoder has found sound.
func unquote(v jsontext.Value) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return nil
	}
	return b
}

// showable makes a name that a client made up fit for an answer and a log line.
func showable(name string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name))
	switch {
	case len(runes) == 0:
		return "body" // {"": 1}: a name that nobody could see
	case len(runes) > maxShown:
		return string(runes[:maxShown-1]) + "…"
	}
	return string(runes)
}
