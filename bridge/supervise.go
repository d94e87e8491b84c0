package bridge

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
	"runtime"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Child is a program, a bridge as a rule, that runs as a child process for as long
// as the parent does.
type Child struct {
	Name string // for logs and errors
	Path string // of the program
	Args []string
	Env  []string     // all of its environment; nil is the parent's
	Log  *slog.Logger // may be nil
	// Stderr gets what the child prints, on both of its streams, by whole lines of at
	// most 64 KiB, each with one Write; nil discards it. A writer that others write to
	// as well must be safe for that, as an *os.File is. One that blocks holds up the
	// child, and the end of Run.
	Stderr io.Writer
	// Permanent says which exit codes no new attempt can heal; nil is none. A child
	// that a signal ended has 128 and the signal's number.
	Permanent func(exit int) bool

	first, grace time.Duration // for tests; see restartFirst and stopGrace
}

// ChildError is the end of a child that will not be run again.
type ChildError struct {
	Name string
	Exit int
}

func (e *ChildError) Error() string {
	return fmt.Sprintf("run %s: it ended with exit code %d, which trying again does not heal", e.Name, e.Exit)
}

const (
	restartFirst = time.Second
	restartMost  = time.Minute
	// steadyAfter is how long a child has to live for its next end to count as the
	// first.
	steadyAfter = time.Minute
	// stopGrace is how long a child may take to stop. The parent has two seconds.
	stopGrace = 1500 * time.Millisecond
	// drainGrace is how long output may take to arrive after all its writers that are
	// known of are dead.
	drainGrace = time.Second
)

// Run runs the program, again whenever it ends, until ctx does; then it asks it to
// stop with SIGTERM, kills it after 1.5 s, and returns nil. Between two runs there
// is a pause of a second, doubled each time up to a minute, and a second again once
// the program has lived for a minute. It returns a *ChildError when the program ends
// with a code that is permanent.
//
// When Run returns, the child and what else is in its process group are dead. On
// Linux the child dies with the parent too, however that ends; what the child has
// started does not.
func (c Child) Run(ctx context.Context) error {
	log := cmp.Or(c.Log, slog.New(slog.DiscardHandler)).With("child", c.Name)
	pauses := newRestarts(cmp.Or(c.first, restartFirst))
	for ctx.Err() == nil {
		began := time.Now()
		exit, err := c.once(ctx, log)
		if ctx.Err() != nil {
			log.Info("the child has stopped", "exit", exit)
			return nil
		}
		if err == nil && c.Permanent != nil && c.Permanent(exit) {
			return &ChildError{c.Name, exit}
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

// restarts are the pauses between the runs of a child.
type restarts struct{ *backoff.ExponentialBackOff }

func newRestarts(first time.Duration) restarts {
	return restarts{&backoff.ExponentialBackOff{InitialInterval: first, Multiplier: 2, MaxInterval: restartMost, RandomizationFactor: 0.2}}
}

func (r restarts) after(lived time.Duration) time.Duration {
	if lived >= steadyAfter {
		r.Reset()
	}
	return min(r.NextBackOff(), restartMost)
}

// once runs the program until it ends, and ends it when ctx does.
func (c Child) once(ctx context.Context, log *slog.Logger) (exit int, err error) {
	out, in, err := os.Pipe()
	if err != nil {
		return -1, err
	}
	defer out.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = c.Env, in, in, childAttr()

	started, ended := make(chan error, 1), make(chan struct{})
	go func() { // ends with the child
		defer close(ended)
		// The kernel ends the child along with the thread that made it, so this one
		// stays until the child is gone.
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
		copyLines(c.Stderr, out)
	}()

	c.await(ctx, cmd.Process, ended)
	_ = out.SetReadDeadline(time.Now().Add(drainGrace))
	<-copied
	return exitOf(cmd.ProcessState), nil
}

// await waits for the end of a child, and brings it about when ctx ends.
func (c Child) await(ctx context.Context, child *os.Process, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = child.Signal(syscall.SIGTERM) // fails for one that has ended
	select {
	case <-ended:
		return
	case <-time.After(cmp.Or(c.grace, stopGrace)):
	}
	_ = child.Kill()
	<-ended
}

func exitOf(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

// maxLogLine bounds what is passed on as one line, in bytes.
const maxLogLine = 64 << 10

// copyLines passes on lines until r ends.
func copyLines(w io.Writer, r io.Reader) {
	if w == nil {
		w = io.Discard
	}
	lines := bufio.NewReaderSize(r, maxLogLine)
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
