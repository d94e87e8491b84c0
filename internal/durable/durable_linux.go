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

// Changed returns the time of the last change of a file or its inode, which nobody can set:
// copying a file with its times, or renaming it, makes a new one.
func Changed(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}

// syncAll syncs the whole file system, which takes less time than syncing many files one by one.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return os.NewSyscallError("syncfs "+dir, unix.Syncfs(int(d.Fd())))
}

// allocate makes the file system allocate Size bytes for a nameless file in Dir, and frees them.
func (s *Space) allocate() (err error) {
	if s.file == nil {
		s.file, err = os.OpenFile(s.Dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return err
		}
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Fallocate(int(s.file.Fd()), 0, 0, int64(s.Size))
	}
	if err != nil {
		return err
	}
	return s.file.Truncate(0)
}

// exchange swaps the names a and b in an open directory, atomically.
func exchange(dir *os.File, a, b string) error {
	at := int(dir.Fd())
	err := unix.Renameat2(at, a, at, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// writers reports whether anybody has a file open for writing, and whether the system tells. f must be open for reading
// only. It asks for a lease to read, which the kernel refuses while the file is open for writing.
func writers(f *os.File) (held, known bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, err == nil
	}
	return true, err == unix.EAGAIN
}

// ownLink returns the path that the link at path leads to, or an error if another user made
// the link. It reads owner and target of one open link, so nobody can replace it in between.
func ownLink(path string) (string, error) {
	link, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer link.Close()
	fi, err := link.Stat()
	if err != nil {
		return "", err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("open %s: another user made this link; remove it or make it yourself", path)
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(link.Fd()), "", target)
	if err != nil {
		return "", os.NewSyscallError("readlink "+path, err)
	}
	return follow(path, string(target[:n]))
}
