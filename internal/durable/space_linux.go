package durable

import (
	"os"
	"syscall"
)

// reserve has the file system set size bytes of f aside, or tells from its free
// blocks where it cannot do so.
func reserve(f *os.File, size int64) error {
	fd := int(f.Fd())
	err := syscall.EINTR
	for err == syscall.EINTR {
		err, _ = syscall.Fallocate(fd, 0, 0, size).(syscall.Errno)
	}
	if err == 0 {
		return nil
	}
	var fs syscall.Statfs_t
	if err == syscall.EOPNOTSUPP || err == syscall.ENOSYS {
		if serr := syscall.Fstatfs(fd, &fs); serr != nil {
			return serr
		}
		if int64(fs.Bavail)*int64(fs.Bsize) >= size {
			return nil
		}
		err = syscall.ENOSPC
	}
	return err
}
