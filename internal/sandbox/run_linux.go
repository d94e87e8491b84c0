package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A command runs below a process that is this same binary, run again:
//
//	caller ── supervise ── the shell ── …
//
// supervise is the subreaper: every process that the command starts, however it
// detaches, becomes a child of supervise when its parent dies. When the shell
// ends, or the pipe from the caller does (the caller cancelled the command or is
// dead, by whatever signal), supervise stops and kills all its descendants.
//
// supervise stays outside the sandbox, so that no process in it can signal or trace supervise. The shell is a copy of a
// thread of supervise, which has given up privileges and filters its system calls; the copy enters its Landlock domain
// between fork and exec (see forkExec). Were the thread in that domain, too, the command could kill it, and with it all
// of supervise.
//
// supervise reads the order from descriptor 3, which stays open as long as the command may run, and writes its report to
// 4, both in JSON. The command inherits its standard descriptors, which supervise closes.
const (
	helperName = "lethe-sandbox" // the only argument of a helper
	orderFD    = 3
	reportFD   = 4
)

// The helper's time to kill everything. It takes milliseconds, but a machine can be busy.
const (
	killGrace      = time.Second      // after the caller cancelled: somebody waits, perhaps for the caller's end
	killGraceAlone = 10 * time.Second // after a deadline
)

// init takes over a process that was started as a helper of Run. Packages initialise as soon as those they import have,
// in the order of their paths: a helper does not wait for most of the program, which would take longer than the rest.
func init() {
	if len(os.Args) == 1 && os.Args[0] == helperName {
		syscall.Exit(supervise()) // quicker than os.Exit, and nothing needs flushing
	}
}

// run is Run here.
//
// To confine it by Landlock, the kernel needs its ABI 3 (Linux 6.2); since 6.12 it
// also keeps commands from signalling other processes.
func run(ctx context.Context, command Command, out io.Writer) (Outcome, error) {
	job, err := command.order()
	if err != nil {
		return Outcome{Failed: err.Error()}, nil
	}
	job.Files = openFiles()
	order, lifeline, err := os.Pipe()
	if err != nil {
		return Outcome{}, err
	}
	defer lifeline.Close()
	defer order.Close()
	listen, report, err := os.Pipe()
	if err != nil {
		return Outcome{}, err
	}
	defer listen.Close()
	helper := &exec.Cmd{
		// Not a path: the file may have been replaced by another version since.
		Path: "/proc/self/exe", Args: []string{helperName}, Dir: "/",
		Env:    []string{"GOMAXPROCS=1"}, // it waits for most of the time, and more threads cost more
		Stdout: out, Stderr: cmp.Or(command.Errors, out), ExtraFiles: []*os.File{order, report},
		WaitDelay: 2 * time.Second, // for output left in the pipe after all writers are dead
		// Its own session: a terminal's ctrl-C is for the daemon.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if command.Input != nil {
		feed, err := helper.StdinPipe()
		if err != nil {
			return Outcome{}, err
		}
		go func() { // ends with the input, or when the command is dead and more of it comes
			_, _ = io.Copy(feed, command.Input)
			feed.Close()
		}()
	}
	err = helper.Start()
	report.Close()
	if err != nil {
		return Outcome{}, fmt.Errorf("start the helper of the command: %w", err)
	}
	go func() { _ = json.NewEncoder(lifeline).Encode(job) }() // ends when the helper has read it or is dead
	died := make(chan struct{})
	go func() { // ends with the helper and its output
		_ = helper.Wait()
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
	var end Outcome
	if json.NewDecoder(listen).Decode(&end) != nil {
		return end, errors.New("hear from the helper of the command: it was killed")
	}
	return end, nil
}

// openFiles returns the limit of open files that this program was started with. Package syscall raises the limit, keeps
// the old one to itself, and restores it in programs that it starts.
var openFiles = sync.OnceValue(func() (limit syscall.Rlimit) {
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	ask := exec.Command("sh", "-c", "ulimit -Sn")
	ask.Env = []string{} // the secrets in this process's are nobody else's
	soft, _ := ask.Output()
	_, _ = fmt.Sscan(string(soft), &limit.Cur) // it has not been raised if it is "unlimited"
	return limit
})
