package config

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Names of the environment.
const (
	envPrefix  = "VOUCHERD_"
	envFile    = "_FILE"           // a variable of a key with it names a file that holds the value
	envConfig  = "VOUCHERD_CONFIG" // names the settings file
	envForTest = "VOUCHERD_TEST_"  // belongs to the test suite
)

// variable is the name under which the environment may set key.
func variable(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// environ turns variables into values for koanf's environment provider, one call a variable.
type environ struct {
	faults *collector
	read   func(path string) ([]byte, error)
	taken  map[string]string // key → the variable that set it
}

// take returns the key and the value that one variable sets, or "" where it sets none.
func (e *environ) take(name, value string) (string, any) {
	if name == envConfig || strings.HasPrefix(name, envForTest) {
		return "", nil
	}
	i := slices.IndexFunc(table, func(k key) bool {
		return name == variable(k.name) || name == variable(k.name)+envFile
	})
	if i < 0 {
		e.faults.add(Fault{Source: name, Wrong: "unknown variable",
			Right: "variables are VOUCHERD_ and a key in upper case with _ for each dot, _FILE behind it or not", rank: rankEnviron})
		return "", nil
	}
	key := table[i].name
	r := &raw{Source: name, Text: value}
	if other, taken := e.taken[key]; taken && other != name {
		e.faults.add(Fault{Key: key, Source: variable(key), Wrong: "set beside " + variable(key) + envFile, Right: "set one of them"})
		r.Broken = true
		return key, r
	}
	e.taken[key] = name
	if name != variable(key) {
		e.follow(key, r)
	}
	return key, r
}

// follow replaces the path in r by what the file holds.
func (e *environ) follow(key string, r *raw) {
	content, err := e.read(r.Text)
	if err != nil {
		// Not the path: whoever took _FILE for the value itself has put a secret there.
		e.faults.add(Fault{Key: key, Source: r.Source, Wrong: "the file that it names can't be read: " + why(err),
			Right: "name a readable file that holds the value"})
		r.Broken = true
		return
	}
	r.Text = dropNewline(string(content))
}

// dropNewline drops the one newline that editors and echo put at the end.
func dropNewline(s string) string {
	if t, ok := strings.CutSuffix(s, "\r\n"); ok {
		return t
	}
	return strings.TrimSuffix(s, "\n")
}

// why tells the cause of a failed read without the path in it.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is none"
	case errors.Is(err, fs.ErrPermission):
		return "no permission"
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	default:
		return "not a readable file"
	}
}
