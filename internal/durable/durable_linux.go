package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Changed is when a file came to be as it is, which nobody can set: a copy with the times
// of its original, or a rename, is as new as that.
func Changed(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}

// syncAll has the whole file system synced: for many files that is quicker than each.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return os.NewSyscallError("syncfs "+dir, unix.Syncfs(int(d.Fd())))
}

// allocate has the file system allocate size bytes for a file in dir that has no name, and is gone when it is closed.
func allocate(dir string, size int) error {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Fallocate(int(f.Fd()), 0, 0, int64(size))
	}
	return err
}

// exchange makes a and b change places, atomically.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// writers reports whether a file, which f has open for reading alone, is open for writing anywhere: nobody gets a lease to
// read it then.
func writers(f *os.File) (held, known bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, err == nil
	}
	return true, err == unix.EAGAIN
}

// ownLink returns where the link at path leads. The owner that it checks and the
// target that it returns are of the same link, whatever path is replaced by.
func ownLink(path string) (string, error) {
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("open %s: another user made this link; remove it or make it yourself", path)
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", target)
	if err != nil {
		return "", os.NewSyscallError("readlink "+path, err)
	}
	return follow(path, string(target[:n]))
}
