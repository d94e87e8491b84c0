//go:build !linux

package child

import (
	"os/exec"
	"syscall"
)

// attributes gives a child a process group, so that a terminal's ctrl-C is for the
// parent alone.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the end of a child and kills what is left in its group.
func reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // the end is in cmd.ProcessState
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
