package tools

import "golang.org/x/sys/unix"

// denyOldCalls denies what newer architectures have no more.
func (f *filter) denyOldCalls() {
	f.denySetID(offArg1, unix.SYS_CHMOD, unix.SYS_CREAT, unix.SYS_MKNOD)
	f.denySetIDFile(unix.SYS_OPEN, offArg1, offArg2)
}
