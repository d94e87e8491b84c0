package main

import (
	"runtime"
	"syscall"
)

// tied gives the daemon a process group of its own, so that Ctrl-C comes to the
// tour alone, and has the kernel kill it when the tour dies in whatever way.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// live starts the process and waits for its end. The kernel takes the end of the
// thread that started it for the end of the tour, so that thread is kept.
func (d *daemon) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := d.cmd.Start()
	started <- err
	if err == nil {
		_ = d.cmd.Wait()
		close(d.gone)
	}
}
