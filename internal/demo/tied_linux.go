package demo

import (
	"runtime"
	"syscall"
)

// tie has the kernel kill the daemon when the tour dies in whatever way.
func tie(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// tieThread keeps the thread that starts the daemon until the returned function is
// called: the kernel takes the end of that thread for the end of the tour.
func tieThread() (untie func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
