//go:build !linux

package child

import "syscall"

// attributes gives a child a process group, so that a terminal's ctrl-C is for the
// parent alone.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
