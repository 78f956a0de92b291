package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with the settings. It holds no secret value and may be printed anywhere.
type Fault struct {
	Key    string // the dotted key; empty where no known key is concerned
	Source string // where the value came from: a variable, a file and line, or default
	Wrong  string
	Right  string // what would be right

	rank, line int
}

// String is the fault in one line.
func (f Fault) String() string {
	s := f.Source
	switch {
	case f.Key != "" && f.Source != "":
		s = f.Key + " (" + f.Source + ")"
	case f.Key != "":
		s = f.Key
	}
	s += ": " + f.Wrong
	if f.Right != "" {
		s += "; " + f.Right
	}
	return s
}

// Faults is everything that is wrong with the settings, never empty when returned as an error. The order is the one
// of the published table of keys, then unknown keys by line, then unknown variables by name.
type Faults []Fault

// Error implements error: a heading and one line for each fault.
func (fs Faults) Error() string {
	var b strings.Builder
	noun := "faults"
	if len(fs) == 1 {
		noun = "fault"
	}
	fmt.Fprintf(&b, "%d %s in the settings:", len(fs), noun)
	for _, f := range fs {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// Ranks beyond those of the table's keys.
const (
	rankFile    = -1      // the file as a whole comes first: it may explain the rest
	rankUnknown = 1 << 20 // keys of the file that nobody knows
	rankEnviron = 1 << 21 // variables that nobody knows
)

// collector gathers faults on the way.
type collector struct{ faults Faults }

func (c *collector) add(f Fault) {
	if f.Key != "" && f.rank == 0 {
		f.rank = rankOf(f.Key)
	}
	c.faults = append(c.faults, f)
}

// sound reports whether none of the keys has a fault: what is wrong by itself is not judged in combination.
func (c *collector) sound(keys ...string) bool {
	return !slices.ContainsFunc(c.faults, func(f Fault) bool { return slices.Contains(keys, f.Key) })
}

// err returns the faults in their published order, or nil.
func (c *collector) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(c.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.line, b.line), cmp.Compare(a.Source, b.Source))
	})
	return c.faults
}

// maxEcho is the number of characters of a bad value that a fault repeats.
const maxEcho = 60

// echo repeats a bad value, except where it looks as if it held credentials (a URL with a user in it, put under a key
// that takes none).
func echo(s string) string {
	if strings.Contains(s, "@") {
		return "the value"
	}
	if r := []rune(s); len(r) > maxEcho {
		return fmt.Sprintf("%q…", string(r[:maxEcho]))
	}
	return fmt.Sprintf("%q", s)
}
