package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervise runs the order from its standard input and outlives everything that it starts. It
// does everything on one goroutine: a process id is only safe to use while nothing else reaps.
func supervise() int {
	// PDEATHSIG of the child watches this thread, not the process.
	runtime.LockOSThread()
	closeOnExec()
	report := json.NewEncoder(os.Stderr)
	fail := func(err error) int {
		_ = report.Encode(Outcome{Failed: err.Error()})
		return 1
	}
	var job order
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		return fail(fmt.Errorf("read order: %w", err))
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fail(fmt.Errorf("become subreaper: %w", err))
	}
	// Handled, not ignored: the shell would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	shell, err := startConfined(job)
	if err != nil {
		return fail(err)
	}
	cut := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(cut) }() // ends with the daemon's end
	_ = report.Encode(reapAll(shell, children, cut))
	return 0
}

// closeOnExec keeps all but the standard descriptors from the command: ours, and
// any that the daemon's parent left open.
func closeOnExec() {
	syscall.CloseOnExec(reportFD)
	_ = unix.CloseRange(orderFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // EINVAL before Linux 5.11
}

// startConfined starts the second stage and hands the order to it.
func startConfined(job order) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	files := []uintptr{null.Fd(), 1, 1, read.Fd(), 2} // see helperName
	if job.HasInput {
		files[0] = inputFD
	}
	if job.HasErrors {
		files[2] = errorsFD
	}
	pid, err = syscall.ForkExec("/proc/self/exe", []string{helperName, confineArg}, &syscall.ProcAttr{
		Dir: "/", Env: []string{}, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	read.Close()
	if job.HasInput || job.HasErrors { // only the command may hold them, or neither pipe would end
		syscall.Close(inputFD)
		syscall.Close(errorsFD)
	}
	if err != nil {
		write.Close()
		return 0, fmt.Errorf("start second stage: %w", err)
	}
	go func() { // ends when the second stage has read it, or is dead
		_ = json.NewEncoder(write).Encode(job)
		write.Close()
	}()
	return pid, nil
}

// reapAll waits for the shell and buries orphans. Once the shell is dead or cut
// is closed it kills everything, and it returns when there is no child left:
// every descendant has a chain of living parents up to here, so then there are
// no descendants either.
func reapAll(shell int, children <-chan os.Signal, cut <-chan struct{}) Outcome {
	var end Outcome
	killing := false
	var again <-chan time.Time
	for {
		for {
			var ws syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|unix.WALL, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil { // ECHILD
				return end
			}
			if pid == 0 {
				break
			}
			ended := ws.Exited() || ws.Signaled()
			if pid == shell && ended {
				end, killing = endOf(ws), true
			}
		}
		if killing {
			sweep()
			again = time.After(5 * time.Millisecond)
		}
		select {
		case <-children:
		case <-again:
		case <-cut:
			killing, cut = true, nil
		}
	}
}
