package tools

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropCapabilities takes from the calling thread, for good, all capabilities
// that keep does not want. It matters to root only. CAP_SYS_PTRACE goes in every
// mode: with it a command could read the daemon's memory.
func dropCapabilities(keep func(capability int) bool) error {
	for c := range unix.CAP_LAST_CAP + 1 {
		if keep(c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		// EPERM: nothing to lose. EINVAL: a kernel with fewer capabilities.
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // EINVAL before Linux 4.3
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	for i := range sets {
		var mask uint32
		for bit := range 32 {
			if c := i*32 + bit; c <= unix.CAP_LAST_CAP && keep(c) {
				mask |= 1 << bit
			}
		}
		sets[i].Permitted &= mask
		sets[i].Effective &= mask
		sets[i].Inheritable = 0
	}
	if err := unix.Capset(&head, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// Where the filter knows the calling convention. Elsewhere there is none.
var auditArch = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// socketABI is the Landlock ABI that governs connections to local sockets.
const socketABI = 9

// Offsets in struct seccomp_data, little-endian.
const (
	offCall = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
)

// filterCalls denies the calling thread what Landlock does not know about and
// what leads out of it:
//
//   - local sockets, where Landlock is too old to govern them: through docker's
//     or the user's service manager's, a command could have another process do
//     anything. A stream socketpair cannot be connected elsewhere and stays, a
//     datagram one could and goes; io_uring makes sockets without system calls.
//   - the kernel's keyrings, which the command shares with the daemon.
//   - calls in the convention of another architecture, to which the numbers
//     below would mean something else.
func filterCalls(abi int) error {
	arch, ok := auditArch[runtime.GOARCH]
	if !ok {
		return nil
	}
	f := newFilter(arch)
	f.deny(unix.SYS_KEYCTL, unix.EPERM)
	f.deny(unix.SYS_ADD_KEY, unix.EPERM)
	f.deny(unix.SYS_REQUEST_KEY, unix.EPERM)
	if abi < socketABI {
		f.deny(unix.SYS_IO_URING_SETUP, unix.EPERM)
		f.denyArg(unix.SYS_SOCKET, offArg0, ^uint32(0), unix.EACCES, unix.AF_UNIX)
		// The kernel takes a raw local socket for a datagram one.
		const typeMask = 0xf // the rest are flags
		f.denyArg(unix.SYS_SOCKETPAIR, offArg1, typeMask, unix.EACCES, unix.SOCK_DGRAM, unix.SOCK_RAW)
	}
	return f.install()
}

// filter is a classic BPF program for seccomp.
type filter []unix.SockFilter

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func refuse(err syscall.Errno) unix.SockFilter {
	return statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(err))
}

// onlyIf runs the next statement only if the accumulator is k.
func onlyIf(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: k}
}

func load(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func newFilter(arch uint32) filter {
	const x32 = 0x40000000 // amd64's second convention, by a bit in the number
	return filter{
		load(offArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: arch},
		refuse(unix.ENOSYS),
		load(offCall),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 1, K: x32},
		refuse(unix.ENOSYS),
	}
}

// deny expects the number of the call in the accumulator, and leaves it there.
func (f *filter) deny(call uint32, err syscall.Errno) {
	*f = append(*f, onlyIf(call), refuse(err))
}

// denyArg denies a call one of whose arguments, masked, is one of values.
func (f *filter) denyArg(call, offset, mask uint32, err syscall.Errno, values ...uint32) {
	body := filter{load(offset), statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask)}
	for _, v := range values {
		body = append(body, onlyIf(v), refuse(err))
	}
	body = append(body, load(offCall))
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(len(body)), K: call})
	*f = append(*f, body...)
}

func (f filter) install() error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil // the offsets are for little-endian
	}
	f = append(f, statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(f)
	if errno == unix.ENOSYS || errno == unix.EINVAL {
		return nil // a kernel without seccomp; Landlock stands
	}
	if errno != 0 {
		return errno
	}
	return nil
}
