// Package child keeps a program running as a child process: it starts the program again when
// it ends, and stops it when the parent is done.
//
//	p := child.Process{Name: "telegram", Path: exe, Args: []string{"bridge", "telegram"}}
//	err := p.Run(ctx)
package child

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Process is a program, a bridge as a rule, that runs for as long as its parent does.
type Process struct {
	Name string // for logs and errors
	Path string // of the program
	Args []string
	Env  []string     // all of its environment; nil is the parent's
	Log  *slog.Logger // may be nil
	// Output gets what the program prints on both of its streams, by whole lines of at
	// most 64 KiB, each with one Write; nil discards it. It must be safe for concurrent
	// use if others write to it as well. A Write that blocks holds up the program.
	Output io.Writer
	// Permanent says which exit codes a new attempt cannot mend; nil is none. A program
	// that a signal ended has 128 and the signal's number.
	Permanent func(exit int) bool
	// Forward lists signals that the parent passes on to the program.
	Forward []os.Signal

	first, grace time.Duration // for tests; 0: firstPause and stopGrace
}

// Error is the end of a program that will not be run again.
type Error struct {
	Name string
	Exit int
}

func (e *Error) Error() string {
	return fmt.Sprintf("run %s: it ended with exit code %d, which trying again does not mend", e.Name, e.Exit)
}

const (
	firstPause = time.Second
	mostPause  = time.Minute
	// steadyAfter is how long a program has to live for its next end to count as the first.
	steadyAfter = time.Minute
	// stopGrace is how long a program may take to stop. The parent has two seconds.
	stopGrace = 1500 * time.Millisecond
	// drainGrace is how long output may take to arrive after the program's end.
	drainGrace = time.Second
	// maxLine bounds what is passed on as one line, in bytes.
	maxLine = 64 << 10
)

// Run runs the program, again whenever it ends, until ctx does; then it sends SIGTERM, kills
// it after 1.5 s, and returns nil. Between two runs it pauses for a second, doubled each time
// up to a minute, and for a second again once the program has lived for a minute. It returns
// an *Error when the program ends with a permanent code.
//
// When Run returns, the program and everything in its process group are dead. On Linux the
// program also dies when the parent is killed.
func (p Process) Run(ctx context.Context) error {
	log := cmp.Or(p.Log, slog.New(slog.DiscardHandler)).With("child", p.Name)
	pauses := newPauses(cmp.Or(p.first, firstPause))
	for ctx.Err() == nil {
		began := time.Now()
		exit, err := p.once(ctx, log)
		if ctx.Err() != nil {
			break
		}
		if err == nil && p.Permanent != nil && p.Permanent(exit) {
			return &Error{p.Name, exit}
		}
		pause := pauses.after(time.Since(began))
		if err != nil {
			log.Error("the child does not start; trying again", "error", err, "in", pause.Round(time.Millisecond))
		} else {
			log.Warn("the child has ended; starting it again", "exit", exit, "in", pause.Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// pauses are those between the runs of a program.
type pauses struct{ *backoff.ExponentialBackOff }

func newPauses(first time.Duration) pauses {
	return pauses{&backoff.ExponentialBackOff{InitialInterval: first, Multiplier: 2, MaxInterval: mostPause, RandomizationFactor: 0.2}}
}

func (p pauses) after(lived time.Duration) time.Duration {
	if lived >= steadyAfter {
		p.Reset()
	}
	return min(p.NextBackOff(), mostPause)
}

// once runs the program until it ends, and ends it when ctx does.
func (p Process) once(ctx context.Context, log *slog.Logger) (exit int, err error) {
	out, in, err := os.Pipe()
	if err != nil {
		return -1, err
	}
	defer out.Close()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.Env, in, in, attributes()

	signals := make(chan os.Signal, 1)
	if len(p.Forward) > 0 { // none would mean all
		signal.Notify(signals, p.Forward...)
		defer signal.Stop(signals)
	}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() { // ends with the program
		defer close(ended)
		// The kernel ends the program along with the thread that made it, so this thread
		// stays until the program is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			reap(cmd)
		}
	}()
	err = <-started
	in.Close()
	if err != nil {
		return -1, err
	}
	log.Info("the child runs", "pid", cmd.Process.Pid)
	copied := make(chan struct{})
	go func() { // ends with the last writer, or at the deadline below
		defer close(copied)
		copyLines(cmp.Or(p.Output, io.Discard), out)
	}()

	p.await(ctx, cmd.Process, signals, ended)
	_ = out.SetReadDeadline(time.Now().Add(drainGrace))
	<-copied
	return exitOf(cmd.ProcessState), nil
}

// await waits for the end of the program, passes signals on, and ends the program when ctx ends.
func (p Process) await(ctx context.Context, running *os.Process, signals <-chan os.Signal, ended <-chan struct{}) {
	for stop := false; !stop; {
		select {
		case <-ended:
			return
		case s := <-signals:
			_ = running.Signal(s) // fails if the program has ended
		case <-ctx.Done():
			stop = true
		}
	}
	_ = running.Signal(syscall.SIGTERM)
	select {
	case <-ended:
		return
	case <-time.After(cmp.Or(p.grace, stopGrace)):
	}
	_ = running.Kill()
	<-ended
}

func exitOf(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// copyLines passes on lines until r ends.
func copyLines(w io.Writer, r io.Reader) {
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(line[:len(line):len(line)], '\n')
			}
			_, _ = w.Write(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
