// Package durable is the only place of Lethe that renames a file or promises
// that bytes survive power loss.
//
// It knows two shapes of write. WriteFile replaces a whole file: temporary file
// in the same directory, fsync, rename, fsync of the directory (without the
// last one a crash can lose the name of a file whose bytes are safe). Append
// adds one record to a file with a single O_APPEND write and an fsync.
//
// Writes that belong together leave their syncs to a set, Syncs, which then makes all of
// them durable at once.
//
// When a function here returns nil and takes no set, its bytes survive kill -9 and power
// loss. When it returns an error, the bytes may be on the disk, or not, or in part. The
// caller has to look.
package durable

import (
	"errors"
	"io"
	"os"
)

// Stage is the side of a step, before or after it.
type Stage string

// A fault before a step is a write that failed and is lost; one after it is a
// write that is reported as failed and yet persisted.
const (
	Before Stage = "before"
	After  Stage = "after"
)

// Fault, when set, is called before and after each step that changes the disk; the step
// fails with an error that Fault returns. op is "write", "sync", "rename", "link", "syncdir",
// "append", "truncate", "mkdir", "remove", "symlink" or "reserve". path is the caller's
// name for the file, never the temporary one; for Append through a link it is the link's
// target. Fault exists for tests, which also kill the process from it. Set it before the
// first write; no lock guards it.
var Fault func(stage Stage, op, path string) error

// Short, as the error of a Fault before a "write" or an "append", makes the step write this
// many bytes before it fails, like a disk that fills up.
type Short struct {
	Bytes int
	Err   error
}

func (s *Short) Error() string { return s.Err.Error() }

func (s *Short) Unwrap() error { return s.Err }

// Op is one change of the disk that was made, or one sync, with all that a test needs to
// repeat it.
type Op struct {
	Kind string // "write", "truncate", "sync", "mkdir", "symlink", "rename", "exchange", "link", "remove" or "syncdir"
	Path string // the file that was changed, which may be a temporary one
	To   string // the other name of a rename, an exchange or a link; the target of a symlink
	Data []byte // the bytes of a write
	At   int64  // the offset of a write; the size after a truncate
}

// Trace, when set, is called after each Op that succeeded, also in Replace and Swap. It
// exists for tests, and no lock guards it.
var Trace func(Op)

// traced calls Trace for an operation that succeeded, and returns the operation's error.
func traced(err error, op Op) error {
	if err == nil && Trace != nil {
		Trace(op)
	}
	return err
}

// syncFile is the step that syncs f. path is the caller's name for it.
func syncFile(path string, f *os.File) error {
	return step("sync", path, func() error { return traced(f.Sync(), Op{Kind: "sync", Path: f.Name()}) })
}

// put writes data at f's current offset.
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
