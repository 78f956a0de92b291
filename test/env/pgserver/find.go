// Package pgserver runs private PostgreSQL servers for tests: durable as in
// production, on a loopback port of their own, gone when the tests are.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNoBinaries says what to install. Tests fail with it, they never skip.
var ErrNoBinaries = errors.New(`no PostgreSQL server found: install it ` +
	`(Debian, Ubuntu: "apt-get install postgresql"; Fedora: "dnf install postgresql-server"; ` +
	`macOS: "brew install postgresql") or point VOUCHERD_TEST_DATABASE_URL at a server ` +
	`whose user may create databases`)

// installed are the usual places of server programs, which packages keep out
// of PATH. Within a pattern the last match is the newest version.
var installed = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/usr/local/pgsql/bin",
}

// Find returns the directory of postgres and initdb, or ErrNoBinaries.
func Find() (string, error) {
	for _, dir := range candidates() {
		if isProgram(filepath.Join(dir, "postgres")) && isProgram(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	return "", ErrNoBinaries
}

func candidates() []string {
	var dirs []string
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// pg_config comes with client headers too, so its answer may be an empty hint.
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if program, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(program))
	}
	for _, pattern := range installed {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		slices.Reverse(matches)
		dirs = append(dirs, matches...)
	}
	return dirs
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	const executable = 0o111
	return err == nil && info.Mode().IsRegular() && info.Mode()&executable != 0
}

// tail returns the end of a log file for an error message.
func tail(path string) string {
	const most = 4 << 10
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return string(text)
}
