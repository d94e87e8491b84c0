package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is wrapped when a name is a pipe, a device or a directory, or,
// for ReadRegular, a link.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is wrapped by ReadWhole.
var ErrTooLarge = errors.New("too large")

// open opens an existing regular file. It refuses pipes and devices without
// waiting for them, and follows a link unless flag says otherwise.
func open(path string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) { // a link, a socket
		return nil, nil, fmt.Errorf("read %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("read %s: %w", path, ErrNotRegular)
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
	f, _, err := open(path, os.O_RDONLY|syscall.O_NOFOLLOW)
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
	f, fi, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	if fi.Size() <= most {
		data.Grow(int(fi.Size()) + bytes.MinRead)
		_, err = data.ReadFrom(io.LimitReader(f, most+1))
	}
	if fi.Size() > most || int64(data.Len()) > most {
		return nil, fmt.Errorf("read %s: %w: at most %d bytes", path, ErrTooLarge, most)
	}
	return data.Bytes(), err
}
