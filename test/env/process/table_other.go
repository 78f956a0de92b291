//go:build !linux

package process

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// table asks ps, which has no start time in a comparable form.
func table() (map[int]Info, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,state=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]Info)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		all[pid] = Info{Pid: pid, Parent: parent, State: fields[2][0]}
	}
	return all, nil
}
