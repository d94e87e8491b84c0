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

// supervise runs the order that it is given and outlives everything that it starts. Its thread gives up rights,
// and stays: the command dies with it. Another thread, which has all rights, kills and buries. One goroutine alone does
// so: a process id is only safe to use while nothing else reaps.
func supervise() int {
	runtime.LockOSThread()
	// All but the standard descriptors are kept from the command: ours, and any that the daemon's parent left open.
	syscall.CloseOnExec(orderFD)
	syscall.CloseOnExec(reportFD)
	_ = unix.CloseRange(orderFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // EINVAL before Linux 5.11
	report, lifeline := json.NewEncoder(os.NewFile(reportFD, "report")), os.NewFile(orderFD, "order")
	fail := func(err error) int {
		_ = report.Encode(Outcome{Failed: err.Error()})
		return 1
	}
	var job order
	if err := json.NewDecoder(lifeline).Decode(&job); err != nil {
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
	for fd := range orderFD { // the command alone may hold them, or its pipes would not end
		syscall.Close(fd)
	}
	cut := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, lifeline); close(cut) }() // ends with the daemon's end
	ended := make(chan Outcome)
	go func() { ended <- reapAll(shell, children, cut) }()
	_ = report.Encode(<-ended)
	return 0
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
