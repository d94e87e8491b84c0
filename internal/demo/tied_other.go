//go:build !linux

package demo

import "syscall"

// Only Linux can kill the daemon when the tour is killed.
func tie(*syscall.SysProcAttr) {}

func tieThread() (untie func()) { return func() {} }
