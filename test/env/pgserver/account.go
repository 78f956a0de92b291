package pgserver

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who runs the server. PostgreSQL refuses to run as root, so root
// lends it an unprivileged account; anybody else runs it as themselves.
type account struct {
	credential *syscall.Credential // nil: ourselves
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return account{}, fmt.Errorf("as root, PostgreSQL needs the account postgres or nobody: %w", err)
		}
	}
	const base, bits = 10, 32
	uid, err := strconv.ParseUint(u.Uid, base, bits)
	if err != nil {
		return account{}, fmt.Errorf("user id of %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, base, bits)
	if err != nil {
		return account{}, fmt.Errorf("group id of %s: %w", u.Username, err)
	}
	return account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// makeDir makes a temporary directory that the account owns and can reach.
func (a account) makeDir() (string, error) {
	parent := os.TempDir()
	if a.credential != nil && !reachable(parent) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "voucherd-postgres-")
	if err != nil {
		return "", fmt.Errorf("directory of the server: %w", err)
	}
	if a.credential == nil {
		return dir, nil
	}
	if err := os.Chown(dir, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
		return "", fmt.Errorf("give %s to the server's account: %w", dir, err)
	}
	return dir, nil
}

// reachable says whether everybody may walk to dir.
func reachable(dir string) bool {
	const walkable = 0o001
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&walkable == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// prepare gives cmd the account, and an environment in which no PG* variable
// of the caller has a say.
func (a account) prepare(cmd *exec.Cmd, dir string) {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C", "TZ=UTC"}
	if a.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}
	}
}
