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
// supervise is the subreaper: every process that the command starts, however it
// detaches, becomes a child of supervise when its parent dies. When the shell
// ends, or the pipe from the caller does (the caller cancelled the command or is
// dead, by whatever signal), supervise stops and kills all its descendants. It
// stays outside the sandbox, so that no process in it can signal supervise.
//
// confine gives up privileges, applies the sandbox and executes the shell. It is a process, since a thread of supervise
// that confined itself and started the shell would share the shell's Landlock domain: the command may tgkill(2) that
// thread, which ends all of supervise, and a thread that ends first has PDEATHSIG kill the shell.
//
// supervise reads the order from its standard input, which stays open as long as the
// command may run; confine reads it from file descriptor 3. They write their reports, in
// JSON, to the standard error of supervise, which is 4 of confine. The command itself has
// /dev/null as its input, and one pipe for all output. If the Command has its own Input or
// Errors, supervise holds the ends of their pipes as 3 and 4.
const (
	helperName   = "lethe-sandbox" // argv[0] that makes this binary a helper
	superviseArg = "supervise"
	confineArg   = "confine"

	orderFD  = 3 // of confine
	reportFD = 4
	inputFD  = 3 // of supervise
	errorsFD = 4
)

// The helper's time to kill everything. It takes milliseconds, but a machine can be busy.
const (
	killGrace      = time.Second      // after the caller cancelled: somebody waits, perhaps for the caller's end
	killGraceAlone = 10 * time.Second // after a deadline
)

// init takes over a process that was started as a helper of Run. Packages initialise as soon as those they import have,
// in the order of their paths: a helper does not wait for most of the program, which would take longer than the rest.
func init() {
	if len(os.Args) != 2 || os.Args[0] != helperName {
		return
	}
	switch os.Args[1] {
	case superviseArg:
		syscall.Exit(supervise()) // quicker than os.Exit, and nothing needs flushing
	case confineArg:
		syscall.Exit(confine())
	}
	fmt.Fprintf(os.Stderr, "%s is started by lethe, not by hand\n", helperName)
	os.Exit(2)
}

// Run runs command until it ends or ctx does, with its output going to out. When it
// returns, everything that the command started is dead, unless the error is
// ErrStuck. A command that cannot be started is an Outcome, not an error.
//
// To confine it by Landlock, the kernel needs its ABI 3 (Linux 6.2); since 6.12 it
// also keeps commands from signalling other processes.
func Run(ctx context.Context, command Command, out io.Writer) (Outcome, error) {
	job, err := command.order()
	if err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	var report bytes.Buffer
	helper := &exec.Cmd{
		// Not a path: the file may have been replaced by another version since.
		Path: "/proc/self/exe", Args: []string{helperName, superviseArg}, Env: []string{}, Dir: "/",
		Stdout: out, Stderr: &report,
		WaitDelay: 2 * time.Second, // for output left in the pipe after all writers are dead
		// Its own session: a terminal's ctrl-C is for the daemon.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	heard := make(chan struct{})
	ends, err := pipes(command, heard)
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
	go func() { _ = json.NewEncoder(lifeline).Encode(job) }() // ends when the helper has read it or is dead
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

// pipes makes the pipes for the command's input and its errors, and returns the helper's ends. It closes heard when
// command.Errors has got all errors. If command has neither Input nor Errors, it makes no pipe; if it has one, it makes
// both, so that their file descriptors keep their numbers.
func pipes(command Command, heard chan struct{}) (ends []*os.File, err error) {
	if command.Input == nil && command.Errors == nil {
		close(heard)
		return nil, nil
	}
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() { // ends with the input, or when the command is dead and more of it comes
		if command.Input != nil {
			_, _ = io.Copy(feed, command.Input)
		}
		feed.Close()
	}()
	listen, out, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	go func() { // ends with the command and whatever holds its standard error
		_, _ = io.Copy(cmp.Or(command.Errors, io.Discard), listen)
		listen.Close()
		close(heard)
	}()
	return []*os.File{in, out}, nil
}

// readReport reads the reports of confine, which reports only a failure, and of
// supervise. It returns the first.
func readReport(report io.Reader) (end Outcome, err error) {
	err = errors.New("hear from the helper of the command: it was killed")
	for dec := json.NewDecoder(report); ; {
		var said Outcome
		if dec.Decode(&said) != nil {
			return end, err
		}
		if end.Failed == "" {
			end, err = said, nil
		}
	}
}
