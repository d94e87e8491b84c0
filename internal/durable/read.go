package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNotRegular is wrapped by ReadRegular when the name is a link, a pipe, a
// device or a directory.
var ErrNotRegular = errors.New("not a regular file")

// ReadRegular reads at most the first most bytes of a file that anybody may have put
// there: it neither follows a link nor waits for a pipe. cut says that the file
// has more.
func ReadRegular(path string, most int64) (data []byte, cut bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, false, fmt.Errorf("read %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if !fi.Mode().IsRegular() {
		return nil, false, fmt.Errorf("read %s: %w", path, ErrNotRegular)
	}
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	if int64(len(data)) > most {
		return data[:most], true, err
	}
	return data, false, err
}
