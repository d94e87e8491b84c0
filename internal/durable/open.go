package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// ErrNotRegular is wrapped by errors about a name that is a pipe, a device or a
// directory, or, for ReadRegular, a link.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is wrapped by an error of ReadWhole about a file that exceeds its bound.
var ErrTooLarge = errors.New("too large")

// maxLinks is the number of links in a row that OpenRegular follows.
const maxLinks = 16

// OpenRegular opens a regular file and never waits for a pipe. It follows a link
// at path only if the user of this process made it: a link of another user could
// lead a reader to a secret and a writer to any file. The file's Name is the path
// at the end of the links. The error wraps ErrNotRegular for anything but a file.
func OpenRegular(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	for at, links := path, 0; links <= maxLinks; links++ {
		file, fi, err := open(at, flag|syscall.O_NOFOLLOW, perm)
		if !errors.Is(err, syscall.ELOOP) {
			return file, fi, err
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
	file, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
	if errors.Is(err, syscall.ENXIO) { // a socket, or a pipe that nobody reads
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := file.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, fi, nil
}

// ReadRegular reads at most the first most bytes of a file that anybody may have put
// there: it neither follows a link nor waits for a pipe. cut is true if the file is
// longer.
func ReadRegular(path string, most int64) (data []byte, cut bool, err error) {
	file, _, err := open(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	data, err = io.ReadAll(io.LimitReader(file, most+1))
	if int64(len(data)) > most {
		return data[:most], true, err
	}
	return data, false, err
}

// ReadWhole reads a file that a person may have made, or may have put a link to. The
// error wraps ErrTooLarge if the file has more than most bytes.
func ReadWhole(path string, most int64) ([]byte, error) {
	file, fi, err := open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if fi.Size() > most {
		return nil, fmt.Errorf("read %s: %w: at most %d bytes", path, ErrTooLarge, most)
	}
	var data bytes.Buffer
	data.Grow(int(fi.Size()) + bytes.MinRead)
	_, err = data.ReadFrom(io.LimitReader(file, fi.Size()))
	return data.Bytes(), err
}

// Overwrite makes the file at path, which OpenRegular opens, hold data. It is neither
// atomic nor durable: use it for marks and notes beside a lock.
func Overwrite(path string, data []byte, perm fs.FileMode) error {
	file, _, err := OpenRegular(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	closed := file.Close()
	if err != nil {
		return err
	}
	return closed
}

// follow returns the path that a link at path with this target leads to. It resolves all but the last name.
func follow(path, target string) (string, error) {
	if !filepath.IsAbs(target) {
		dir, _ := filepath.Split(path)
		target = dir + target // not cleaned: the meaning of ".." depends on the links before it
	}
	dir, name := filepath.Split(target)
	dir, err := filepath.EvalSymlinks(dir)
	return filepath.Join(dir, name), err
}

// Lock returns a lock on the file at path. Taking the lock makes the file; it neither follows a link nor waits for a
// pipe.
func Lock(path string) *flock.Flock {
	const flags = os.O_CREATE | os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	return flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(flags))
}
