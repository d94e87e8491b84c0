//go:build unix && !linux

package tools

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// MaybeSandbox does nothing here: there is no helper on this system.
func MaybeSandbox() {}

// HideEnvironment does nothing here: these systems do not show the environment
// of a process to others, or only what it was started with and to its user.
func HideEnvironment() {}

// CanConfine says why BASH refuses commands here.
func CanConfine() error {
	return errors.New(`commands can only be confined on Linux, so they are refused. The person who runs this agent can allow unconfined ones with tools.bash = "trusted" in config.toml; file tools work without`)
}

// runCommand runs o in a process group of its own. Without Linux there is no
// sandbox, and what a command detaches from its group outlives it.
func runCommand(ctx context.Context, _ string, o order, out io.Writer) (outcome, error) {
	if o.Confine {
		return outcome{Failed: CanConfine().Error()}, nil
	}
	cmd := exec.CommandContext(ctx, o.Shell, "-c", o.Command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a child that holds the pipe does not hold the call
	if err := cmd.Start(); err != nil {
		return outcome{Failed: err.Error()}, nil
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && !errors.Is(err, os.ErrProcessDone) {
		return outcome{}, err
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return outcome{Exit: 128 + int(ws.Signal()), Signal: int(ws.Signal())}, nil
	}
	return outcome{Exit: cmd.ProcessState.ExitCode()}, nil
}
