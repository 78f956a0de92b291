package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// single refuses a list or a mapping where one value belongs.
func single(r raw) []problem {
	if r.Kind != kindText {
		return bad("a list or a mapping", "give one value")
	}
	return nil
}

// text is a key of plain text; check returns what would be right, "" when value is.
func text(name, preset string, at func(*Settings) *string, check func(value string) (right string)) key {
	return key{
		name: name, preset: preset,
		show: func(s *Settings) any { return *at(s) },
		read: func(s *Settings, r raw) []problem {
			if ps := single(r); ps != nil {
				return ps
			}
			if right := check(r.Text); right != "" {
				return bad(echo(r.Text)+" is not valid", right)
			}
			*at(s) = r.Text
			return nil
		},
	}
}

// oneOf is a key with a few known words.
func oneOf(name, preset string, at func(*Settings) *string, words ...string) key {
	return text(name, preset, at, func(value string) string {
		if slices.Contains(words, value) {
			return ""
		}
		return "give one of " + strings.Join(words, ", ")
	})
}

// secret is a key of text that is never repeated.
func secret(name string, at func(*Settings) *Secret) key {
	return key{
		name: name,
		show: func(s *Settings) any { return at(s).String() },
		read: func(s *Settings, r raw) []problem {
			if ps := single(r); ps != nil {
				return ps
			}
			*at(s) = NewSecret(r.Text)
			return nil
		},
	}
}

// span is a key of time. Go's syntax names the unit, so that nobody takes seconds for minutes.
func span(name, preset string, at func(*Settings) *time.Duration, least, most time.Duration) key {
	return key{
		name: name, preset: preset,
		show: func(s *Settings) any { return compact(*at(s)) },
		read: func(s *Settings, r raw) []problem {
			if ps := single(r); ps != nil {
				return ps
			}
			right := fmt.Sprintf("give a duration from %s to %s with its unit, such as 90s or 15m", compact(least), compact(most))
			d, err := time.ParseDuration(r.Text)
			switch {
			case err != nil:
				return bad(echo(r.Text)+" is not a duration", right)
			case d <= 0 && least > 0:
				return bad(echo(r.Text)+" is not above zero", right)
			case d < least:
				return bad(echo(r.Text)+" is too short", right)
			case d > most:
				return bad(echo(r.Text)+" is too long", right)
			}
			*at(s) = d
			return nil
		},
	}
}

// compact is d without the zero units that Duration.String ends in.
func compact(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// whole refuses what strconv would take: signs, and leading zeros that elsewhere mean octal.
var whole = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

func number(name, preset string, at func(*Settings) *int, least, most int) key {
	return key{
		name: name, preset: preset,
		show: func(s *Settings) any {
			if n := *at(s); n >= least {
				return n
			}
			return "" // not set
		},
		read: func(s *Settings, r raw) []problem {
			if ps := single(r); ps != nil {
				return ps
			}
			right := fmt.Sprintf("give a whole number from %d to %d", least, most)
			n, err := strconv.Atoi(r.Text)
			switch {
			case !whole.MatchString(r.Text):
				return bad(echo(r.Text)+" is not a whole number", right)
			case err != nil || n < least || n > most:
				return bad(echo(r.Text)+" is out of range", right)
			}
			*at(s) = n
			return nil
		},
	}
}

func flag(name, preset string, at func(*Settings) *bool) key {
	return key{
		name: name, preset: preset,
		show: func(s *Settings) any { return *at(s) },
		read: func(s *Settings, r raw) []problem {
			if ps := single(r); ps != nil {
				return ps
			}
			if r.Text != "true" && r.Text != "false" {
				return bad(echo(r.Text)+" is neither true nor false", "give true or false")
			}
			*at(s) = r.Text == "true"
			return nil
		},
	}
}

// items returns the entries of a list, which a file may also write as the environment does. An empty list in the file
// ([]) is one that somebody wrote out, and no blank.
func items(r raw, most int) ([]string, []problem) {
	const right = "give entries separated by commas, or a YAML list"
	if r.Kind == kindPairs {
		return nil, bad("a mapping", right)
	}
	entries := r.Items
	if r.Kind == kindText {
		entries = strings.Split(r.Text, ",")
	}
	if len(entries) > most {
		return nil, bad(fmt.Sprintf("%d entries", len(entries)), fmt.Sprintf("give %d at most", most))
	}
	var out []string
	var ps []problem
	for i, e := range entries {
		e = strings.TrimSpace(e)
		if e == "" {
			ps = append(ps, problem{wrong: entry(i) + " is blank", right: right})
		}
		out = append(out, e)
	}
	return out, ps
}

func entry(i int) string { return "entry " + strconv.Itoa(i+1) }

// list is a key of distinct plain entries.
func list(name string, at func(*Settings) *[]string, check func(item string) (right string)) key {
	return key{
		name: name,
		show: func(s *Settings) any { return *at(s) },
		read: func(s *Settings, r raw) []problem {
			entries, ps := items(r, maxEntries)
			for i, e := range entries {
				if right := check(e); e != "" && right != "" {
					ps = append(ps, problem{wrong: entry(i) + ": " + echo(e) + " is not valid", right: right})
				}
				if first := slices.Index(entries, e); e != "" && first < i {
					ps = append(ps, problem{wrong: entry(i) + " repeats " + entry(first), right: "give each once"})
				}
			}
			if ps == nil {
				*at(s) = entries
			}
			return ps
		},
	}
}

// pairs returns the entries of a mapping, which a file may also write as the environment does. Values are never
// repeated in a problem, nor is what has no name: it may be the rest of a value that held a comma.
func pairs(r raw, most int) ([]pair, []problem) {
	const right = "give NAME=value entries separated by commas, or a YAML mapping"
	if r.Kind == kindList {
		return nil, bad("a list", right)
	}
	entries := r.Pairs
	var ps []problem
	if r.Kind == kindText {
		for i, e := range strings.Split(r.Text, ",") {
			name, value, ok := strings.Cut(e, "=")
			if !ok {
				ps = append(ps, problem{wrong: entry(i) + " has no =", right: right + " (a value that holds a comma needs the mapping)"})
				continue
			}
			entries = append(entries, pair{Name: name, Value: value, Source: r.Source})
		}
	}
	if len(entries) > most {
		return nil, bad(fmt.Sprintf("%d entries", len(entries)), fmt.Sprintf("give %d at most", most))
	}
	var out []pair
	for i, e := range entries {
		e.Name, e.Value = strings.TrimSpace(e.Name), strings.TrimSpace(e.Value)
		if e.Name == "" || e.Value == "" {
			ps = append(ps, problem{wrong: entry(i) + " is blank before or behind its name", right: right, source: e.Source})
			continue
		}
		out = append(out, e)
	}
	return out, ps
}
