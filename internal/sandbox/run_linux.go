package sandbox

import (
	"bytes"
	"cmp"
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
// The order goes to the standard input of supervise, which stays open as long as the
// command may run, and comes to confine as file descriptor 3. What they have to report,
// as JSON, is the standard error of supervise, and 4 of confine. The command itself has
// /dev/null as its input, and one pipe for all output, unless the Command says otherwise: then supervise has the ends of
// these pipes as 3 and 4.
const (
	helperName   = "lethe-sandbox" // argv[0] that makes this binary a helper
	superviseArg = "supervise"
	confineArg   = "confine"

	orderFD  = 3 // of confine
	reportFD = 4
	inputFD  = 3 // of supervise
	errorsFD = 4
)

// How long the helper may take to kill everything, once asked: it takes
// milliseconds, but a machine can be busy. When the caller cancelled the command
// somebody waits for the end, perhaps of the caller.
const (
	killGrace      = time.Second
	killGraceAlone = 10 * time.Second
)

// Main takes over the process when it was started as a helper of Run, and then
// does not return. Call it first in main, and in TestMain of tests that run
// commands.
func Main() {
	beWorker()
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
	var report bytes.Buffer
	helper := &exec.Cmd{
		// Not a path: the file may have been replaced by another version since.
		Path: "/proc/self/exe", Args: []string{helperName, superviseArg}, Env: []string{}, Dir: "/",
		Stdout: out, Stderr: &report,
		WaitDelay: 2 * time.Second, // for what is left in the pipe after all writers are dead
		// Its own session: a terminal's ctrl-C is for the daemon.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	heard := make(chan struct{})
	ends, err := pipes(c, heard)
	helper.ExtraFiles = ends
	var lifeline io.WriteCloser
	if err == nil {
		lifeline, err = helper.StdinPipe()
	}
	if err == nil {
		err = helper.Start()
	}
	for _, end := range ends {
		end.Close()
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("start the helper of the command: %w", err)
	}
	go func() { _ = json.NewEncoder(lifeline).Encode(o) }() // ends when the helper has read it or is dead
	died := make(chan struct{})
	go func() { // ends with the helper and its output
		_ = helper.Wait()
		select {
		case <-heard:
		case <-time.After(helper.WaitDelay):
		}
		close(died)
	}()
	select {
	case <-died:
	case <-ctx.Done():
		lifeline.Close()
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
	return readReport(&report)
}

// pipes makes the ends that the helper gets: of the command's input, and of its errors. heard is closed when all of the
// errors have been written. Where there are none of these, nothing is made but what keeps their numbers.
func pipes(c Command, heard chan struct{}) (ends []*os.File, err error) {
	if c.Input == nil && c.Errors == nil {
		close(heard)
		return nil, nil
	}
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // ends with the input, or when the command is dead and more of it comes
		if c.Input != nil {
			_, _ = io.Copy(feed, c.Input)
		}
		feed.Close()
	}()
	listen, out, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	go func() { // ends with the command and whatever holds its standard error
		_, _ = io.Copy(cmp.Or(c.Errors, io.Discard), listen)
		listen.Close()
		close(heard)
	}()
	return []*os.File{in, out}, nil
}

// readReport reads what confine and supervise report. The first is only heard
// of when it failed.
func readReport(report io.Reader) (end Outcome, err error) {
	err = errors.New("hear from the helper of the command: it was killed")
	for dec := json.NewDecoder(report); ; {
		var o Outcome
		if dec.Decode(&o) != nil {
			return end, err
		}
		if end.Failed == "" {
			end, err = o, nil
		}
	}
}
