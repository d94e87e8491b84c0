//go:build amd64 || arm64 || riscv64 || loong64

package sandbox

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calling convention that the filter accepts, by architecture. All are little-endian, as are
// the offsets below.
var auditArch = map[string]uint32{
	"amd64":   unix.AUDIT_ARCH_X86_64,
	"arm64":   unix.AUDIT_ARCH_AARCH64,
	"riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// Offsets in struct seccomp_data.
const (
	offCall = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
	offArg2 = 32
	offArg3 = 40
)

// setID are the mode bits that make a program run as the owner or the group of its
// file, and not as its caller.
const setID = unix.S_ISUID | unix.S_ISGID

// outlivesCall are calls that reach memory, queues and semaphores that all
// processes of the user share, and that stay when the command has ended.
var outlivesCall = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// governs are calls that change the limits and priorities of a process, which is their first argument.
var governs = []uint32{
	unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY,
	unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
}

// filterCalls denies the calling thread the system calls that Landlock does not
// govern and that would lead out of the sandbox:
//
//   - modes with setID: a copy of the shell with one would make everybody on the
//     machine the daemon's user. (mkdir cannot set them.)
//   - shared memory and its like, see outlivesCall.
//   - local sockets, where Landlock is too old to govern them: through docker's
//     or the user's service manager's, a command could have another process do
//     anything. A stream socketpair cannot be connected elsewhere and stays, a
//     datagram one could and goes.
//   - limits of another process: one of a second of processor time would end the
//     daemon. So are its priority, its processors and its policy: it could be made to wait
//     behind everything else.
//   - the kernel's keyrings, which the command shares with the daemon.
//   - io_uring, which does all of this without system calls, and openat2, whose
//     mode the filter cannot see. Programs take ENOSYS for an older kernel and go
//     on without.
//   - calls in the convention of another architecture, where the numbers below
//     mean other calls.
func filterCalls(abi int) error {
	rules := newFilter(auditArch[runtime.GOARCH])
	rules.deny(unix.ENOSYS, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP)
	rules.deny(unix.ENOSYS, outlivesCall...)
	rules.deny(unix.EPERM, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY)
	ofOthers := onlyIfAny(^uint32(0), 1) // 0 is the calling process
	for _, call := range governs {
		rules.examine(call, load(offArg0), ofOthers, refuse(unix.EPERM))
	}
	// The first argument of these calls is a kind: a process, a group, or all processes of a user. The second is a
	// number of that kind. The map holds the kind of a process.
	for call, process := range map[uint32]uint32{unix.SYS_SETPRIORITY: 0, unix.SYS_IOPRIO_SET: 1} {
		rules.examine(call, load(offArg0), onlyIfAny(^process, 1), refuse(unix.EPERM),
			load(offArg1), ofOthers, refuse(unix.EPERM))
	}
	rules.denySetID(offArg1, unix.SYS_FCHMOD)
	rules.denySetID(offArg2, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_MKNODAT)
	rules.denySetIDFile(unix.SYS_OPENAT, offArg2, offArg3)
	if runtime.GOARCH == "amd64" { // it still has calls that newer architectures left out
		const open, creat, chmod, mknod = 2, 85, 90, 133
		rules.denySetID(offArg1, chmod, creat, mknod)
		rules.denySetIDFile(open, offArg1, offArg2)
	}
	if abi < 9 { // Landlock 9 and later govern connections to local sockets
		rules.examine(unix.SYS_SOCKET, load(offArg0), onlyIf(unix.AF_UNIX, 1), refuse(unix.EACCES))
		const typeMask = 0xf // the rest are flags
		rules.examine(unix.SYS_SOCKETPAIR, load(offArg1), statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, typeMask),
			onlyIf(unix.SOCK_DGRAM, 1), refuse(unix.EACCES),
			onlyIf(unix.SOCK_RAW, 1), refuse(unix.EACCES)) // the kernel makes it a datagram socket
	}
	return rules.install()
}

// filterNetwork denies the calling thread all sockets except local and netlink ones. (Netlink reaches only the kernel.)
func filterNetwork() error {
	rules := newFilter(auditArch[runtime.GOARCH])
	rules.deny(unix.ENOSYS, unix.SYS_IO_URING_SETUP)
	unless := func(family uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: skip, K: family}
	}
	rules.examine(unix.SYS_SOCKET, load(offArg0),
		unless(unix.AF_UNIX, 2), unless(unix.AF_NETLINK, 1), refuse(unix.EACCES))
	return rules.install()
}

// filter is a classic BPF program for seccomp.
type filter []unix.SockFilter

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func refuse(err syscall.Errno) unix.SockFilter {
	return statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(err))
}

// onlyIf runs the next n statements only if the accumulator is k.
func onlyIf(k uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(n), K: k}
}

// onlyIfAny runs the next n statements only if the accumulator has any of bits.
func onlyIfAny(bits uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: uint8(n), K: bits}
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

// The methods that deny expect the number of the call in the accumulator, and
// leave it there.

func (f *filter) deny(err syscall.Errno, calls ...uint32) {
	for _, call := range calls {
		*f = append(*f, onlyIf(call, 1), refuse(err))
	}
}

// examine runs body for a call. body may change the accumulator.
func (f *filter) examine(call uint32, body ...unix.SockFilter) {
	body = append(body, load(offCall))
	*f = append(append(*f, onlyIf(call, len(body))), body...)
}

// denySetID denies calls whose argument at offset is a mode with setID.
func (f *filter) denySetID(offset uint32, calls ...uint32) {
	for _, call := range calls {
		f.examine(call, load(offset), onlyIfAny(setID, 1), refuse(unix.EPERM))
	}
}

// denySetIDFile is denySetID for a call that opens a file. It looks at the mode only if
// the flags make a file: for other flags that argument may be anything.
func (f *filter) denySetIDFile(call, flags, mode uint32) {
	const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	f.examine(call, load(flags), onlyIfAny(makes, 3), load(mode), onlyIfAny(setID, 1), refuse(unix.EPERM))
}

// install applies the filter to the calling thread and the programs that it executes.
func (f filter) install() error {
	f = append(f, statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	return setFilter(&prog)
}

// canFilter reports whether the kernel takes filters. One that does fails to read
// the nil filter.
func canFilter() bool { return setFilter(nil) == unix.EFAULT }

func setFilter(prog *unix.SockFprog) error {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(prog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	return nil
}
