// Package child keeps a program running as a child process: it starts the program again when
// it ends, and stops it when the parent is done.
//
//	p := child.Process{Name: "telegram", Path: exe, Args: []string{"bridge", "telegram"}}
//	err := p.Run(ctx)
package child

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a program, a bridge as a rule, that runs for as long as its parent does.
type Process struct {
	Name string // for logs and errors
	Path string // the program's file
	Args []string
	Env  []string     // its whole environment; nil: the parent's
	Log  *slog.Logger // may be nil
	// Output gets the output of the program on both of its streams; nil discards it. It must be safe
	// for concurrent use if others write to it as well.
	Output io.Writer
	// Permanent reports whether a new attempt cannot mend this exit code; with nil, Run tries
	// again after every code. exit is 128 plus the signal's number if a signal ended the program.
	Permanent func(exit int) bool

	first, grace time.Duration // for tests; 0: firstPause and stopGrace
}

const (
	firstPause = time.Second
	mostPause  = time.Minute
	// The end of a program that has lived for steadyAfter counts as its first.
	steadyAfter = time.Minute
	// A program may take stopGrace to stop, of the two seconds that the parent has,
	// and its output to arrive after its end.
	stopGrace = 1500 * time.Millisecond
)

// Run runs the program, again whenever it ends, until ctx does; then it sends SIGTERM, kills
// it after 1.5 s, and returns nil. Between two runs it pauses for a second, doubled each time
// up to a minute, and for a second again once the program has lived for a minute. It fails
// when the program ends with a permanent code.
//
// When Run returns, the program is dead, and everything in its process group is killed. On
// Linux the program also dies when the parent is killed.
func (p Process) Run(ctx context.Context) error {
	// The kernel ends the program along with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	log := cmp.Or(p.Log, slog.New(slog.DiscardHandler)).With("child", p.Name)
	var pause time.Duration
	for ctx.Err() == nil {
		began := time.Now()
		exit, err := p.once(ctx, log)
		if ctx.Err() != nil {
			break
		}
		if err == nil && p.permanent(exit) {
			return fmt.Errorf("run %s: it ended with exit code %d, which trying again does not mend", p.Name, exit)
		}
		pause = p.nextPause(pause, time.Since(began))
		if err != nil {
			log.Error("the child does not start; trying again", "error", err, "in", pause)
		} else {
			log.Warn("the child has ended; starting it again", "exit", exit, "in", pause)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

func (p Process) permanent(exit int) bool { return p.Permanent != nil && p.Permanent(exit) }

// nextPause returns the pause after a run that lasted for lived; last is the pause before that run.
func (p Process) nextPause(last, lived time.Duration) time.Duration {
	if last == 0 || lived >= steadyAfter {
		return cmp.Or(p.first, firstPause)
	}
	return min(2*last, mostPause)
}

// once runs the program until it ends, and ends it when ctx does.
func (p Process) once(ctx context.Context, log *slog.Logger) (exit int, err error) {
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.Env, p.Output, p.Output, attributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = cmp.Or(p.grace, stopGrace)
	if err := cmd.Start(); err != nil {
		return -1, err
	}
	log.Info("the child runs", "pid", cmd.Process.Pid)
	_ = cmd.Wait()                                      // cmd.ProcessState tells its end
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kills the rest of its group
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
