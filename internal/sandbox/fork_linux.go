package sandbox

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call: its number and its arguments.
type call [5]uintptr

// forkExec starts a child, which dies with the calling thread. The child makes calls, which syscall.ForkExec could not
// be told, and then executes path with the descriptors that are not closed on exec.
func forkExec(calls []call, path string, args, env []string) (pid int, err error) {
	texts, err := syscall.SlicePtrFromStrings(slices.Concat([]string{path}, args, env))
	if err != nil {
		return 0, err
	}
	argv := append(slices.Clone(texts[1:1+len(args)]), nil)
	envv := texts[1+len(args):] // nil is its last
	calls = append(calls, call{unix.SYS_EXECVE, pin(texts[0]), pin(&argv[0]), pin(&envv[0])})
	shared, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, err
	}
	failed := (*syscall.Errno)(unsafe.Pointer(&shared[0]))
	child, errno := fork(calls, failed, uintptr(os.Getpid()))
	if *failed != 0 {
		_, _ = unix.Wait4(int(child), nil, 0, nil)
		errno = *failed
	}
	if errno != 0 {
		return 0, fmt.Errorf("execute %s: %w", path, errno)
	}
	return int(child), nil
}

// fork starts a child that makes calls, of which the last executes a program. It returns when that is done, or when the
// child has ended since a call failed: with the error in failed, which both processes share.
//
// The child has one thread and a copy of this memory, whose locks other threads may have held: it makes raw calls
// alone, and neither allocates nor grows its stack. No handler of signals runs in it, since nobody knows it yet.
//
//go:norace
//go:nosplit
func fork(calls []call, failed *syscall.Errno, parent uintptr) (child uintptr, errno syscall.Errno) {
	child, _, errno = syscall.RawSyscall(unix.SYS_CLONE, unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0)
	if child != 0 || errno != 0 {
		return
	}
	syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
	now, _, _ := syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) // another one if the parent died before that
	for i := 0; i < len(calls) && now == parent && *failed == 0; i++ {
		c := &calls[i]
		_, _, *failed = syscall.RawSyscall6(c[0], c[1], c[2], c[3], c[4], 0, 0)
	}
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}
}

// pinned holds what calls point to. The process ends with its command.
var pinned []any

func pin[T any](p *T) uintptr {
	pinned = append(pinned, p)
	return uintptr(unsafe.Pointer(p))
}
