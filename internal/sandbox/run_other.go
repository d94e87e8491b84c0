//go:build !linux

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Main takes over the process when it was started as a worker. There are no other helper processes on this system.
func Main() { beWorker() }

// HideEnvironment does nothing here: these systems show the environment of a
// process to its own user only.
func HideEnvironment() {}

// sandboxExec applies Seatbelt profiles on a Mac. A path: no other program of that name will do.
const sandboxExec = "/usr/bin/sandbox-exec"

// Confiner names what confines commands here, or says what is missing and what to do.
func Confiner() (string, error) {
	if _, err := os.Stat(sandboxExec); err == nil && runtime.GOOS == "darwin" {
		return Seatbelt, nil
	}
	return "", errors.New("commands can only be confined on Linux and macOS, so they are refused. " + wayOut)
}

// Run runs c in a process group of its own. What a command detaches from its group outlives it here.
func Run(ctx context.Context, c Command, out io.Writer) (Outcome, error) {
	o, err := c.order()
	if err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	args := o.Args
	if len(args) == 0 {
		args = []string{o.Shell, "-c", o.Line}
	}
	if c.Confine || c.Offline {
		if err := Available(); err != nil {
			return Outcome{Failed: err.Error()}, nil
		}
		o.Read, o.Write = withoutLinks(o.Read), withoutLinks(o.Write)
		args = append([]string{sandboxExec, "-p", seatbelt(o), "--"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Dir, o.Env, o.Input, out, cmp.Or(o.Errors, out)
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

// withoutLinks returns the paths of what is there, with links followed.
func withoutLinks(paths []string) (real []string) {
	for _, path := range paths {
		if p, err := filepath.EvalSymlinks(path); err == nil {
			real = append(real, p)
		}
	}
	return real
}
