package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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
	f, fi, err := OpenRegular(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, perm)
	if err != nil {
		return 0, 0, fmt.Errorf("append to %s: %w", path, err)
	}
	defer f.Close()
	return AppendShared(f, fi, record)
}

// shared are the files whose names this process has synced for AppendShared, by path, as they were opened last.
var shared sync.Map

// AppendShared is Append on a file that OpenRegular has opened with O_RDWR and O_APPEND. One goroutine
// at a time may use f; other descriptors of the same file are free to.
func AppendShared(f *os.File, fi fs.FileInfo, record []byte) (from, to int64, err error) {
	if len(record) == 0 || record[len(record)-1] != '\n' {
		return 0, 0, fmt.Errorf("append to %s: record does not end in a newline", f.Name())
	}
	var s Syncs
	buf := record
	torn, err := endsTorn(f)
	if torn {
		buf = append([]byte{'\n'}, record...)
	}
	if err == nil {
		err = AppendLater(&s, f, buf)
	}
	// The name is synced even when the file was there, once: the process that made it may have
	// died before its own sync. A file that has not grown since may be another one with its number.
	was, _ := shared.Load(f.Name())
	if was, ok := was.(fs.FileInfo); !ok || fi.Size() <= was.Size() || !os.SameFile(fi, was) {
		s.Dir(filepath.Dir(f.Name()))
	}
	if err == nil {
		err = s.Wait()
	}
	if err == nil {
		to, err = f.Seek(0, io.SeekCurrent) // the kernel moved it behind what it appended
	}
	if err != nil {
		return 0, 0, fmt.Errorf("append to %s: %w", f.Name(), err)
	}
	shared.Store(f.Name(), fi)
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
		err = syncFile(f.Name(), f)
	}
	if err != nil {
		return fmt.Errorf("truncate %s: %w", f.Name(), err)
	}
	return nil
}

// ErrShort is wrapped by WriteEnd where the file ends before the offset.
var ErrShort = errors.New("it is shorter than it was")

// WriteEnd has the file at path, which is made where it is missing, go on with data at an offset, with its sync left to a
// set. What stands there already stays, and what is behind it; other bytes there are cut off. It is for the one writer of
// a file.
func WriteEnd(s *Syncs, path string, at int64, data []byte, perm fs.FileMode) error {
	f, fi, err := OpenRegular(path, os.O_RDWR|os.O_CREATE, perm)
	if err == nil && fi.Size() < at {
		f.Close()
		err = ErrShort
	}
	if err != nil {
		return fmt.Errorf("write %s at %d: %w", path, at, err)
	}
	there := make([]byte, min(int64(len(data)), fi.Size()-at))
	_, err = f.ReadAt(there, at)
	rest, begun := bytes.CutPrefix(data, there)
	if err == nil && !begun {
		err = Truncate(f, at)
	}
	if err == nil {
		_, err = f.Seek(at+int64(len(data)-len(rest)), io.SeekStart)
	}
	if err == nil && len(rest) > 0 {
		err = write("write", path, f, rest)
	}
	if err != nil {
		f.Close()
		return err
	}
	return s.add(path, f)
}
