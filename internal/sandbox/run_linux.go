package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A command runs below two processes that are this same binary, run again:
//
//	caller ── supervise ── confine, which becomes bash ── …
//
// supervise is the subreaper: whatever the command starts, and however it
// detaches, becomes a child of supervise when its parent dies. When the shell
// has ended, or the pipe from the caller has (it cancelled the command or is
// dead, by whatever signal), it stops and kills its descendants until it has
// none. It stays outside of the sandbox, so that what is in it cannot signal it.
//
// confine gives up privileges, applies the sandbox and executes the shell.
//
// Their file descriptors:
//
//	0 /dev/null   1, 2 the output   3 the order   4 reports, as JSON
//
// For supervise, 3 stays open as long as the command may run.
const (
	helperName   = "lethe-sandbox" // argv[0] that makes this binary a helper
	superviseArg = "supervise"
	confineArg   = "confine"

	orderFD  = 3
	reportFD = 4
)

// How long the helper may take to kill everything, once asked: it takes
// milliseconds, but a machine can be busy. When the caller cancelled the command
// somebody waits for the end, perhaps of the caller.
const (
	killGrace      = time.Second
	killGraceAlone = 10 * time.Second
)

// drainGrace is how long what is left in the pipe may take to be read after
// all writers are dead.
const drainGrace = 2 * time.Second

// Main takes over the process when it was started as a helper of Run, and then
// does not return. Call it first in main, and in TestMain of tests that run
// commands.
func Main() {
	if len(os.Args) != 2 || os.Args[0] != helperName {
		return
	}
	switch os.Args[1] {
	case superviseArg:
		syscall.Exit(supervise()) // not os.Exit: somebody waits, and there is nothing to flush
	case confineArg:
		syscall.Exit(confine())
	}
	fmt.Fprintf(os.Stderr, "%s is started by lethe, not by hand\n", helperName)
	os.Exit(2)
}

// Run runs c until it ends or ctx does, with its output going to out. When it
// returns, everything that the command started is dead, unless the error is
// ErrStuck. A command that cannot be started is an Outcome, not an error.
//
// Landlock ABI 3 (Linux 6.2) is the least that confines; since 6.12 it also
// keeps commands from signalling other processes.
func Run(ctx context.Context, c Command, out io.Writer) (Outcome, error) {
	o, err := c.order()
	if err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	h, err := startHelper()
	if err != nil {
		return Outcome{}, err
	}
	defer h.close()
	go func() { // ends when the helper has read the order, or at close
		_ = json.NewEncoder(h.order).Encode(o)
	}()
	copied := make(chan struct{})
	go func() { // ends with the last writer, or at the deadline below
		defer close(copied)
		if _, err := io.Copy(out, h.output); err != nil {
			_, _ = io.Copy(io.Discard, h.output)
		}
	}()
	var end Outcome
	told := make(chan error, 1)
	go func() { told <- h.readReport(&end) }() // ends with the helper, or at close
	died := make(chan struct{})
	go func() { _ = h.cmd.Wait(); close(died) }() // ends with the helper

	select {
	case <-died:
	case <-ctx.Done():
		h.order.Close()
		grace := killGraceAlone
		if errors.Is(context.Cause(ctx), context.Canceled) {
			grace = killGrace
		}
		select {
		case <-died:
		case <-time.After(grace):
			// Something is stuck in the kernel. The helper goes on trying.
			return Outcome{}, ErrStuck
		}
	}
	_ = h.output.SetReadDeadline(time.Now().Add(drainGrace))
	<-copied
	if err := <-told; err != nil {
		return Outcome{}, fmt.Errorf("hear from the helper of the command: it was killed (%w)", err)
	}
	return end, nil
}

// helper is a running supervise and the caller's ends of its pipes.
type helper struct {
	cmd    *exec.Cmd
	order  *os.File
	output *os.File
	report *os.File
}

func startHelper() (*helper, error) {
	var ends [6]*os.File
	var err error
	for i := 0; i < len(ends) && err == nil; i += 2 {
		ends[i], ends[i+1], err = os.Pipe()
	}
	if err == nil {
		h := &helper{order: ends[1], output: ends[2], report: ends[4]}
		h.cmd = &exec.Cmd{
			// Not a path: the file may have been replaced by another version since.
			Path: "/proc/self/exe", Args: []string{helperName, superviseArg}, Env: []string{}, Dir: "/",
			Stdout: ends[3], Stderr: ends[3], ExtraFiles: []*os.File{ends[0], ends[5]},
			// Its own session: a terminal's ctrl-C is for the daemon.
			SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		}
		if err = h.cmd.Start(); err == nil {
			closeAll(ends[0], ends[3], ends[5])
			return h, nil
		}
	}
	closeAll(ends[:]...)
	return nil, fmt.Errorf("start the helper of the command: %w", err)
}

func (h *helper) close() { closeAll(h.order, h.output, h.report) }

// readReport reads what confine and supervise report. The first is only heard
// of when it failed.
func (h *helper) readReport(end *Outcome) error {
	dec := json.NewDecoder(h.report)
	heard := false
	for {
		var o Outcome
		err := dec.Decode(&o)
		switch {
		case err == io.EOF && heard:
			return nil
		case err != nil:
			return err
		case o.Failed != "" || end.Failed == "":
			*end, heard = o, true
		}
	}
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
