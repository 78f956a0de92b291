package process

import "syscall"

func dieWithParent(a *syscall.SysProcAttr, death syscall.Signal) { a.Pdeathsig = death }
