package child

import "syscall"

// attributes gives a child a process group, so that a terminal's ctrl-C is for the
// parent alone, and makes the kernel kill it when the thread that starts it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
