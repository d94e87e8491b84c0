//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// Main does nothing here: there are no helper processes on this system.
func Main() {}

// HideEnvironment does nothing here: these systems show the environment of a
// process to its own user only.
func HideEnvironment() {}

// Available says why commands cannot be confined here.
func Available() error {
	return errors.New("commands can only be confined on Linux, so they are refused. " + wayOut)
}

// Run runs c in a process group of its own. Without Linux nothing is confined,
// and what a command detaches from its group outlives it.
func Run(ctx context.Context, c Command, out io.Writer) (Outcome, error) {
	if c.Confine {
		return Outcome{Failed: Available().Error()}, nil
	}
	o, err := c.order()
	if err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	cmd := exec.CommandContext(ctx, o.Shell, "-c", o.Line)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a child that holds the pipe does not hold the call
	if err := cmd.Start(); err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	_ = cmd.Wait() // how it ended, its state says
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return endOf(cmd.ProcessState.Sys().(syscall.WaitStatus)), nil
}
