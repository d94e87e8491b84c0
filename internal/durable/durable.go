// Package durable is the only place of Lethe that renames a file or promises
// that bytes survive power loss.
//
// It knows two shapes of write. WriteFile replaces a whole file: temporary file
// in the same directory, fsync, rename, fsync of the directory (without the
// last one a crash can lose the name of a file whose bytes are safe). Append
// adds one record to a file with a single O_APPEND write and an fsync.
//
// When a function here returns nil, what it wrote survives kill -9 and power
// loss. When it returns an error, the truth is unknown: the bytes may be there,
// or not, or in part. The caller has to look.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Stage says on which side of a step a Fault is asked.
type Stage string

// A fault before a step is a write that failed and is lost; one after it is a
// write that is reported as failed and yet persisted.
const (
	Before Stage = "before"
	After  Stage = "after"
)

// Fault, when set, is asked before and after each step that changes the disk
// (op is "write", "sync", "rename", "syncdir", "append", "truncate", "mkdir",
// "remove", "symlink" or "reserve"; path is the file as the caller names it, never
// the temporary one, or where a link that Append followed leads); an error it
// returns is the step's. It exists for tests, which also kill the process from
// it. Set it before the first write; it is not guarded.
var Fault func(stage Stage, op, path string) error

// Short, as the error of a Fault before a "write" or an "append", has so many bytes
// written first, as a disk does that fills up.
type Short struct {
	Bytes int
	Err   error
}

func (s *Short) Error() string { return s.Err.Error() }

func (s *Short) Unwrap() error { return s.Err }

// Op is one change of the disk that was made, or one sync, with what it takes to
// make it again.
type Op struct {
	Kind string // "write", "truncate", "sync", "mkdir", "symlink", "rename", "exchange", "link", "remove" or "syncdir"
	Path string // the file itself, the temporary one where there is one
	To   string // the other name of a rename, an exchange or a link; what a symlink points to
	Data []byte // of a write
	At   int64  // where a write begins; the size after a truncate
}

// Trace, when set, is told of each Op, those of Replace and Swap among them. It
// exists for tests, as Fault does, and is not guarded either.
var Trace func(Op)

// traced tells of an operation that has come to an end, and returns its error.
func traced(err error, op Op) error {
	if err == nil && Trace != nil {
		Trace(op)
	}
	return err
}

func rename(from, to string) error {
	return traced(os.Rename(from, to), Op{Kind: "rename", Path: from, To: to})
}

func remove(path string) error {
	return traced(os.Remove(path), Op{Kind: "remove", Path: path})
}

func fsync(f *os.File) error { return traced(f.Sync(), Op{Kind: "sync", Path: f.Name()}) }

// put writes data where f stands.
func put(f *os.File, data []byte) error {
	n, err := f.Write(data)
	if Trace != nil && n > 0 {
		end, serr := f.Seek(0, io.SeekCurrent)
		err = errors.Join(err, traced(serr, Op{Kind: "write", Path: f.Name(), Data: data[:n], At: end - int64(n)}))
	}
	return err
}

// write is the step that puts data into f.
func write(op, path string, f *os.File, data []byte) error {
	err := step(op, path, func() error { return put(f, data) })
	if short, ok := errors.AsType[*Short](err); ok {
		_ = put(f, data[:min(short.Bytes, len(data))])
	}
	return err
}

func step(op, path string, do func() error) error {
	if Fault != nil {
		if err := Fault(Before, op, path); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if Fault != nil {
		return Fault(After, op, path)
	}
	return nil
}

// WriteFile replaces path by data, atomically: at every moment a reader finds
// the old file or the new one, whole. A link at path is replaced, not followed.
//
// A crash can leave a file .tmp-* beside path, which is nobody's and may be
// removed; an error leaves none.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = fill(tmp, path, data, perm)
	if err == nil {
		err = step("rename", path, func() error { return rename(tmp.Name(), path) })
	}
	if err != nil {
		remove(tmp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return SyncDir(dir)
}

// fill writes, syncs and closes the temporary file of path.
func fill(tmp *os.File, path string, data []byte, perm fs.FileMode) error {
	err := tmp.Chmod(perm)
	if err == nil {
		err = write("write", path, tmp, data)
	}
	if err == nil {
		err = step("sync", path, func() error { return fsync(tmp) })
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	return err
}

// Replace is WriteFile without the syncs: readers never see half a file, but
// power loss may leave the old one or an empty one. It is for views that can be
// made again, and Fault is not asked.
func Replace(path string, data []byte, perm fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = tmp.Chmod(perm); err == nil {
		err = put(tmp, data)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = rename(tmp.Name(), path)
	}
	if err != nil {
		remove(tmp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Sync makes the bytes of an existing file and its name durable.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return SyncOpen(f)
}

// SyncOpen is Sync of an open file.
func SyncOpen(f *os.File) error {
	if err := step("sync", f.Name(), func() error { return fsync(f) }); err != nil {
		return fmt.Errorf("sync %s: %w", f.Name(), err)
	}
	return SyncDir(filepath.Dir(f.Name()))
}

// SyncDir makes the names in dir durable. On a filesystem that cannot sync a
// directory it does nothing: there is no better promise to be had there.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	err = step("syncdir", dir, func() error {
		err := d.Sync()
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
			err = nil
		}
		return traced(err, Op{Kind: "syncdir", Path: dir})
	})
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// MkdirAll makes dir and its missing parents, each durable in its parent. The
// name of a directory that is there already is synced as well: whoever made it
// may have died, or be about to die, before its own sync.
func MkdirAll(dir string, perm fs.FileMode) error {
	parent := filepath.Dir(dir)
	if isDir(dir) {
		err := SyncDir(parent)
		if errors.Is(err, fs.ErrPermission) {
			// A parent that is not ours to read is not one we made dir in.
			return nil
		}
		return err
	}
	if parent != dir {
		if err := MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	err := step("mkdir", dir, func() error {
		err := traced(os.Mkdir(dir, perm), Op{Kind: "mkdir", Path: dir})
		if errors.Is(err, fs.ErrExist) && isDir(dir) { // somebody was faster
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	return SyncDir(parent)
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// Symlink makes link point to target, durably. A link that does already is not an
// error; anything else of that name stays as it is and is one.
func Symlink(target, link string) error {
	err := step("symlink", link, func() error {
		err := traced(os.Symlink(target, link), Op{Kind: "symlink", Path: link, To: target})
		if there, _ := os.Readlink(link); there == target {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(link))
}

// Remove removes the name path, durably. A name that is not there is not an error.
func Remove(path string) error {
	err := step("remove", path, func() error {
		if err := remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}
