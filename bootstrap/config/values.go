package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"voucherd/domain/voucher"
)

var (
	hostForm  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)
	nameForm  = regexp.MustCompile(`^[!-~]{1,255}$`)
	topicForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

	tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	// A comma separates tokens and a space ends one in a header; both, and whatever can't be seen, would make two
	// different readings of one setting. Sixteen characters are the least that can't be guessed over a network.
	tokenForm = regexp.MustCompile(`^[!-+\--~]{16,256}$`)

	propertyForm = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,99}$`)
)

// splitHostPort takes host:port apart without asking a resolver.
func splitHostPort(s string) (host string, port int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, false
	}
	host = s[:i]
	port, err := strconv.Atoi(s[i+1:])
	if err != nil || port < 0 || port > 65535 || !whole.MatchString(s[i+1:]) {
		return "", 0, false
	}
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		host = strings.TrimSuffix(inner, "]")
		a, err := netip.ParseAddr(host)
		return host, port, err == nil && a.Is6() && inner != host
	}
	return host, port, host == "" || hostForm.MatchString(host)
}

func checkListen(s string) string {
	if _, _, ok := splitHostPort(s); !ok {
		return "give host:port, such as 127.0.0.1:8080, [::1]:8080 or :8080 for every address of the machine"
	}
	return ""
}

func checkHostPort(s string) string {
	if host, port, ok := splitHostPort(s); !ok || host == "" || port == 0 {
		return "give host:port"
	}
	return ""
}

func checkName(s string) string {
	if !nameForm.MatchString(s) {
		return "give 1 to 255 visible ASCII characters"
	}
	return ""
}

func checkTopic(s string) string {
	if !topicForm.MatchString(s) || s == "." || s == ".." {
		return "give 1 to 249 of A-Z, a-z, 0-9, '.', '_' and '-'"
	}
	return ""
}

// tokens is a key of name:token entries. Problems name an entry by its place: a token whose name was forgotten must
// not come out as a name.
func tokens(name string, at func(*Settings) *[]Token) key {
	return key{
		name: name,
		show: func(s *Settings) any {
			var out []string
			for _, t := range *at(s) {
				out = append(out, t.Name+":"+t.Value.String())
			}
			return out
		},
		read: func(s *Settings, r raw) []problem {
			entries, ps := items(r, maxEntries)
			var out []Token
			for i, e := range entries {
				who, value, ok := strings.Cut(e, ":")
				switch {
				case e == "": // told by items
				case !ok || !tokenName.MatchString(who):
					ps = append(ps, problem{wrong: entry(i) + " has no valid name", right: "give name:token, the name of 1 to 64 of " +
						"A-Z, a-z, 0-9, '.', '_' and '-', beginning with a letter or a digit"})
				case !tokenForm.MatchString(value):
					ps = append(ps, problem{wrong: entry(i) + " has no valid token", right: "give 16 to 256 visible ASCII characters, " +
						"no space and no comma (a comma separates tokens, a space ends one in a header, a short one can be guessed)"})
				}
				out = append(out, Token{Name: who, Value: NewSecret(value)})
			}
			if ps == nil {
				*at(s) = out
			}
			return ps
		},
	}
}

func roles(name, preset string) key {
	known := []Role{RoleAPI, RoleWriter, RoleJobs}
	return key{
		name: name, preset: preset,
		show: func(s *Settings) any {
			var out []string
			for _, r := range s.Roles {
				out = append(out, string(r))
			}
			return out
		},
		read: func(s *Settings, r raw) []problem {
			const right = "give one or more of api, writer, jobs, each once"
			entries, ps := items(r, len(known)*2)
			if len(entries) == 0 && ps == nil {
				return bad("empty", right)
			}
			var out Roles
			for i, e := range entries {
				switch role := Role(e); {
				case e == "": // told by items
				case !slices.Contains(known, role):
					ps = append(ps, problem{wrong: entry(i) + ": " + echo(e) + " is no role", right: right})
				case out.Has(role):
					ps = append(ps, problem{wrong: entry(i) + ": " + echo(e) + " is given again", right: right})
				default:
					out = append(out, role)
				}
			}
			if ps == nil {
				s.Roles = out
			}
			return ps
		},
	}
}

func databaseURL(name, preset string) key {
	return key{
		name: name, preset: preset,
		show: func(s *Settings) any { return showURL(s.Database.URL.Reveal()) },
		read: func(s *Settings, r raw) []problem {
			if ps := single(r); ps != nil {
				return ps
			}
			if wrong := checkURL(r.Text); wrong != "" {
				return bad(wrong, `give "memory:" or postgres://user:password@host:port/database; `+
					"in user and password write : / ? # @ % as %3A %2F %3F %23 %40 %25")
			}
			s.Database.URL = NewSecret(r.Text)
			return nil
		},
	}
}

// checkURL says what is wrong with a database URL without a word of it. A slash, question mark or hash in a password
// ends the host too early, and the rest of the password would look like a database name: such URLs are refused.
func checkURL(s string) (wrong string) {
	if s == inMemory {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case !strings.HasPrefix(s, "postgres://") && !strings.HasPrefix(s, "postgresql://"):
		return "neither memory: nor a postgres:// URL"
	case err != nil:
		return "not a URL that can be parsed"
	case u.Fragment != "" || strings.Contains(s, "#") || strings.Contains(u.Path, "@") || strings.Count(u.Path, "/") > 1:
		return "it goes on behind the database's name"
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil || strings.Contains(u.RawQuery, "@"):
		return "its parameters can't be parsed"
	case u.Host == "" && query.Get("host") == "":
		return "it names no host"
	}
	// The driver's own error quotes the URL.
	if _, err := pgx.ParseConfig(s); err != nil {
		return "the database driver can't use it: look at the port and the parameters"
	}
	return ""
}

// showURL is the database's address without credentials. Of the parameters only those known to hold none are
// shown.
func showURL(s string) string {
	u, err := url.Parse(s)
	if s == inMemory || err != nil {
		return s
	}
	out := u.Scheme + "://"
	if u.User != nil {
		out += url.User(u.User.Username()).String()
		if _, has := u.User.Password(); has {
			out += ":" + hidden
		}
		out += "@"
	}
	out += u.Host + u.EscapedPath()
	open := []string{"application_name", "connect_timeout", "host", "port", "sslmode", "target_session_attrs"}
	query, sep := u.Query(), "?"
	for _, k := range slices.Sorted(maps.Keys(query)) {
		shown := hidden // the name too: it may be the rest of a password that held an ampersand
		if slices.Contains(open, k) {
			shown = k + "=" + strings.Join(query[k], ",")
		}
		out += sep + shown
		sep = "&"
	}
	return out
}

func defaultMode(name, preset string) key {
	return key{
		name: name, preset: preset,
		show: func(s *Settings) any { return string(s.Vouchers.DefaultMode) },
		read: func(s *Settings, r raw) []problem {
			if ps := single(r); ps != nil {
				return ps
			}
			m, err := voucher.ParseMode(r.Text)
			if err != nil {
				return bad(echo(r.Text)+" is no mode", rightMode())
			}
			s.Vouchers.DefaultMode = m
			return nil
		},
	}
}

func rightMode() string {
	var names []string
	for _, m := range voucher.Modes() {
		names = append(names, string(m))
	}
	return "give one of " + strings.Join(names, ", ")
}

func modes(name string) key {
	return key{
		name: name,
		show: func(s *Settings) any {
			out := []pair{}
			for _, c := range slices.Sorted(maps.Keys(s.Vouchers.Modes)) {
				out = append(out, pair{Name: string(c), Value: string(s.Vouchers.Modes[c])})
			}
			return out
		},
		read: func(s *Settings, r raw) []problem {
			entries, ps := pairs(r, maxModes)
			out := map[voucher.Code]voucher.Mode{}
			for _, e := range entries {
				code, err := voucher.ParseCode(e.Name)
				if err != nil {
					ps = append(ps, problem{wrong: echo(e.Name) + " is no voucher code", source: e.Source,
						right: "give 1 to 32 of A-Z, 0-9, _ and -, beginning with a letter or a digit"})
					continue
				}
				if _, twice := out[code]; twice {
					ps = append(ps, problem{wrong: fmt.Sprintf("the code %s is given again", code), source: e.Source,
						right: "give each code once, in one spelling"})
				}
				if out[code], err = voucher.ParseMode(e.Value); err != nil {
					ps = append(ps, problem{wrong: fmt.Sprintf("%s of %s is no mode", echo(e.Value), code), source: e.Source, right: rightMode()})
				}
			}
			if ps == nil {
				s.Vouchers.Modes = out
			}
			return ps
		},
	}
}
