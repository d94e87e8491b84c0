package durable

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrNotRegular is wrapped when a name is a pipe, a device or a directory, or,
// for ReadRegular, a link.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is wrapped by ReadWhole.
var ErrTooLarge = errors.New("too large")

// maxLinks is how many links in a row OpenRegular follows.
const maxLinks = 16

// OpenRegular opens a regular file and never waits for a pipe. It follows a link
// at path only if the user of this process made it: a link of somebody else could
// lead a reader to a secret and a writer to any file. Name of the file returned is
// where the links end.
func OpenRegular(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	for at, links := path, 0; links <= maxLinks; links++ {
		f, fi, err := open(at, flag|syscall.O_NOFOLLOW, perm)
		if !errors.Is(err, syscall.ELOOP) {
			return f, fi, err
		}
		if at, err = ownLink(at); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// open opens a regular file. It refuses pipes, sockets and devices without
// waiting for them, and follows links unless flag says otherwise.
func open(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
	if errors.Is(err, syscall.ENXIO) { // a socket, or a pipe that nobody reads
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// ReadRegular reads at most the first most bytes of a file that anybody may have put
// there: it neither follows a link nor waits for a pipe. cut says that the file
// has more.
func ReadRegular(path string, most int64) (data []byte, cut bool, err error) {
	f, _, err := open(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if int64(len(data)) > most {
		return data[:most], true, err
	}
	return data, false, err
}

// ReadWhole reads a file that a person may have made, or may have put a link to.
// One of more than most bytes is an error that wraps ErrTooLarge.
func ReadWhole(path string, most int64) ([]byte, error) {
	f, fi, err := open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi.Size() > most {
		return nil, fmt.Errorf("read %s: %w: at most %d bytes", path, ErrTooLarge, most)
	}
	var data bytes.Buffer
	data.Grow(int(fi.Size()) + bytes.MinRead)
	_, err = data.ReadFrom(io.LimitReader(f, fi.Size()))
	return data.Bytes(), err
}

// Overwrite makes the file at path, which OpenRegular opens, hold data. It is neither
// atomic nor synced: for marks and notes beside a lock.
func Overwrite(path string, data []byte, perm fs.FileMode) error {
	f, _, err := OpenRegular(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return cmp.Or(err, f.Close())
}

// follow returns the path that a link at path with this target leads to.
func follow(path, target string) (string, error) {
	if !filepath.IsAbs(target) {
		dir, _ := filepath.Split(path)
		target = dir + target // not cleaned: what ".." means depends on links before it
	}
	dir, name := filepath.Split(target)
	dir, err := filepath.EvalSymlinks(dir)
	return filepath.Join(dir, name), err
}

// Lock is the lock on the file at path, which taking it makes. A pipe in its place is not waited for, a link not
// followed.
func Lock(path string) *flock.Flock {
	const flags = os.O_CREATE | os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	return flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(flags))
}
