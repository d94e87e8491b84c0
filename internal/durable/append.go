package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Append adds record, which must end in a newline, to path with one O_APPEND
// write, syncs it, and returns the bytes [from, to) that record now occupies.
// The file is made if it is missing, and opened by OpenRegular. When the file does not
// end in a newline (somebody's torn line), the write starts with one, which from
// does not count.
//
// Other goroutines and processes may append at the same moment: the write is
// whole, and from and to are still those of this record. A large write becomes
// visible piece by piece, so one that is under way can look like a torn line, and
// the cautious newline then leaves an empty line in the file: readers skip those.
//
// After an error the record may be in the file, in whole or in part.
func Append(path string, record []byte, perm fs.FileMode) (from, to int64, err error) {
	f, _, err := OpenRegular(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, perm)
	if err == nil {
		defer f.Close()
		from, to, err = AppendTo(f, record)
	}
	if err == nil {
		// The name is synced even when the file was there: the process that made it
		// may have died before its own sync, and nothing about the file tells.
		err = SyncDir(filepath.Dir(f.Name()))
	}
	if err != nil {
		return 0, 0, fmt.Errorf("append to %s: %w", path, err)
	}
	return from, to, nil
}

// AppendTo is Append on a file that is open with O_RDWR and O_APPEND and whose
// name is durable. One goroutine at a time may use f; other descriptors of the
// same file are free to.
func AppendTo(f *os.File, record []byte) (from, to int64, err error) {
	if len(record) == 0 || record[len(record)-1] != '\n' {
		return 0, 0, errors.New("record does not end in a newline")
	}
	buf := record
	torn, err := endsTorn(f)
	if err != nil {
		return 0, 0, err
	}
	if torn {
		buf = append([]byte{'\n'}, record...)
	}
	if err := write("append", f.Name(), f, buf); err != nil {
		return 0, 0, err
	}
	// With O_APPEND the kernel moves the offset to the end of what it wrote.
	to, err = f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, 0, err
	}
	if err := step("sync", f.Name(), func() error { return fsync(f) }); err != nil {
		return 0, 0, err
	}
	return to - int64(len(record)), to, nil
}

// endsTorn reports whether f holds something after its last newline.
func endsTorn(f *os.File) (bool, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], size-1)
	if err == io.EOF { // cut to nothing since
		return false, nil
	}
	return last[0] != '\n', err
}

// Truncate cuts the open file f to size bytes and syncs it.
func Truncate(f *os.File, size int64) error {
	err := step("truncate", f.Name(), func() error {
		return traced(f.Truncate(size), Op{Kind: "truncate", Path: f.Name(), At: size})
	})
	if err == nil {
		err = step("sync", f.Name(), func() error { return fsync(f) })
	}
	if err != nil {
		return fmt.Errorf("truncate %s: %w", f.Name(), err)
	}
	return nil
}
