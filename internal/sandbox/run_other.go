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

var readableDirs = macDirs

// HideEnvironment does nothing here: these systems show the environment of a
// process to its own user only.
func HideEnvironment() {}

// sandboxExec applies Seatbelt profiles on a Mac. A path: no other program of that name will do.
const sandboxExec = "/usr/bin/sandbox-exec"

// Confiner returns Seatbelt on a Mac. Elsewhere it returns an error that names the remedy.
func Confiner() (string, error) {
	if _, err := os.Stat(sandboxExec); err == nil && runtime.GOOS == "darwin" {
		return Seatbelt, nil
	}
	return "", errors.New("commands can only be confined on Linux and macOS, so they are refused. " + wayOut)
}

// run is Run in a process group of its own. A process that leaves this group outlives the command here.
func run(ctx context.Context, command Command, out io.Writer) (Outcome, error) {
	job, err := command.order()
	if err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	args := job.Args
	if len(args) == 0 {
		args = []string{job.Shell, "-c", job.Line}
	}
	if command.Confine || command.Offline {
		if err := Available(); err != nil {
			return Outcome{Failed: err.Error()}, nil
		}
		job.Read, job.Write = withoutLinks(job.Read), withoutLinks(job.Write)
		args = append([]string{sandboxExec, "-p", seatbelt(job), "--"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = job.Dir, job.Env, job.Input, out, cmp.Or(job.Errors, out)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a child that holds the pipe does not hold the call
	if err := cmd.Start(); err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	_ = cmd.Wait() // cmd.ProcessState tells its end
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return endOf(cmd.ProcessState.Sys().(syscall.WaitStatus)), nil
}

// withoutLinks resolves the links in paths, and leaves out paths that do not exist.
func withoutLinks(paths []string) (real []string) {
	for _, path := range paths {
		if p, err := filepath.EvalSymlinks(path); err == nil {
			real = append(real, p)
		}
	}
	return real
}
