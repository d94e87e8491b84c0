//go:build !linux

package main

import "syscall"

// tied gives the daemon a process group of its own, so that Ctrl-C comes to the
// tour alone.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// live starts the process and waits for its end.
func (d *daemon) live(started chan<- error) {
	err := d.cmd.Start()
	started <- err
	if err == nil {
		_ = d.cmd.Wait()
		close(d.gone)
	}
}
