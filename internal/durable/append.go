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
// It opens the file by OpenRegular, or makes it. If the file does not end in a newline
// (somebody's torn line), the write starts with one, and from is behind it.
//
// Other goroutines and processes may append at the same moment: the write is
// whole, and from and to are still those of this record. A large write becomes
// visible piece by piece, so one that is under way can look like a torn line, and
// the cautious newline then leaves an empty line in the file: readers skip those.
//
// After an error the record may be in the file, in whole or in part.
func Append(path string, record []byte, perm fs.FileMode) (from, to int64, err error) {
	file, fi, err := OpenRegular(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, perm)
	if err != nil {
		return 0, 0, fmt.Errorf("append to %s: %w", path, err)
	}
	defer file.Close()
	return AppendShared(file, fi, record)
}

// AppendUnsynced adds record to path as Append does, and returns where it ends then. A power loss may take it, until
// something syncs the file.
func AppendUnsynced(path string, record []byte, perm fs.FileMode) (to int64, err error) {
	file, _, err := OpenRegular(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, perm)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if err = write("append", path, file, record); err == nil {
		to, err = file.Seek(0, io.SeekCurrent)
	}
	return to, err
}

// shared maps the paths of files whose names AppendShared has synced to the fs.FileInfo that their last opening saw.
var shared sync.Map

// AppendShared is Append on a file that OpenRegular has opened with O_RDWR and O_APPEND. One goroutine
// at a time may use file; other descriptors of the same file are free to.
func AppendShared(file *os.File, fi fs.FileInfo, record []byte) (from, to int64, err error) {
	if len(record) == 0 || record[len(record)-1] != '\n' {
		return 0, 0, fmt.Errorf("append to %s: record does not end in a newline", file.Name())
	}
	var syncs Syncs
	buf := record
	torn, err := endsTorn(file)
	if torn {
		buf = append([]byte{'\n'}, record...)
	}
	if err == nil {
		err = AppendLater(&syncs, file, buf)
	}
	// Sync the name once, even if the file was there: the process that made it may have died before its own sync.
	if !nameSynced(file.Name(), fi) {
		syncs.Dir(filepath.Dir(file.Name()))
	}
	if err == nil {
		err = syncs.Wait()
	}
	if err == nil {
		to, err = file.Seek(0, io.SeekCurrent) // the kernel moved it behind the record
	}
	if err != nil {
		return 0, 0, fmt.Errorf("append to %s: %w", file.Name(), err)
	}
	shared.Store(file.Name(), fi)
	return to - int64(len(record)), to, nil
}

// nameSynced reports whether AppendShared has synced the name of this very file. A file that has not grown since may
// be another one with the same inode number.
func nameSynced(path string, fi fs.FileInfo) bool {
	loaded, _ := shared.Load(path)
	was, ok := loaded.(fs.FileInfo)
	if !ok {
		return false
	}
	return fi.Size() > was.Size() && os.SameFile(fi, was)
}

// endsTorn reports whether file holds something after its last newline.
func endsTorn(file *os.File) (bool, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	var last [1]byte
	_, err = file.ReadAt(last[:], size-1)
	if err == io.EOF { // somebody has cut it meanwhile
		return false, nil
	}
	return last[0] != '\n', err
}

// Truncate cuts the open file to size bytes and syncs it.
func Truncate(file *os.File, size int64) error {
	err := step("truncate", file.Name(), func() error {
		return traced(file.Truncate(size), Op{Kind: "truncate", Path: file.Name(), At: size})
	})
	if err == nil {
		err = syncFile(file.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("truncate %s: %w", file.Name(), err)
	}
	return nil
}

// ErrShort is wrapped by an error of WriteEnd if the file ends before the offset.
var ErrShort = errors.New("it is shorter than it was")

// WriteEnd makes the file at path hold data at offset at, and leaves the sync to a set. It makes the file if it is
// missing. If the file has the first bytes of data there, WriteEnd appends only the rest; if it has all of data, it
// stays as it is, with the bytes behind it. If it has other bytes there, WriteEnd cuts it at the offset first. Only one
// writer of a file at a time may call it. The error wraps ErrShort if the file ends before at.
func WriteEnd(syncs *Syncs, path string, at int64, data []byte, perm fs.FileMode) error {
	file, fi, err := OpenRegular(path, os.O_RDWR|os.O_CREATE, perm)
	if err == nil && fi.Size() < at {
		file.Close()
		err = ErrShort
	}
	if err != nil {
		return fmt.Errorf("write %s at %d: %w", path, at, err)
	}
	there := make([]byte, min(int64(len(data)), fi.Size()-at))
	_, err = file.ReadAt(there, at)
	rest, begun := bytes.CutPrefix(data, there)
	if err == nil && !begun {
		err = Truncate(file, at)
	}
	if err == nil {
		_, err = file.Seek(at+int64(len(data)-len(rest)), io.SeekStart)
	}
	if err == nil && len(rest) > 0 {
		err = write("write", path, file, rest)
	}
	if err != nil {
		file.Close()
		return err
	}
	return syncs.add(path, file)
}
