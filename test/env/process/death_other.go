//go:build !linux

package process

import "syscall"

// Only Linux can tie a child's life to ours; elsewhere the tests' own clean-up
// must do.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
