package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// table reads the system's processes from /proc: ps isn't everywhere.
func table() (map[int]Info, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("list /proc: %w", err)
	}
	all := make(map[int]Info, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // ended meanwhile
		}
		if p, ok := parseStat(string(text)); ok {
			all[p.Pid] = p
		}
	}
	return all, nil
}

// parseStat reads "pid (name) state ppid … starttime …"; see proc(5). The name
// may hold spaces and parentheses.
func parseStat(text string) (Info, bool) {
	const (
		stateField, parentField, startField = 0, 1, 19 // counted after the name
	)
	open, closed := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || closed < open {
		return Info{}, false
	}
	fields := strings.Fields(text[closed+1:])
	if len(fields) <= startField {
		return Info{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	if err != nil {
		return Info{}, false
	}
	parent, err := strconv.Atoi(fields[parentField])
	if err != nil {
		return Info{}, false
	}
	return Info{Pid: pid, Parent: parent, State: fields[stateField][0], Started: fields[startField]}, true
}
