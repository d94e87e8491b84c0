// Package durable is the only place of Lethe that renames a file or promises
// that bytes survive power loss.
//
// It knows two shapes of write. WriteFile replaces a whole file: temporary file
// in the same directory, fsync, rename, fsync of the directory (without the
// last one a crash can lose the name of a file whose bytes are safe). Append
// adds one record to a file with a single O_APPEND write and an fsync.
//
// What goes together is written first, with its syncs left to a set, Syncs, which then
// makes all of it durable at once.
//
// When a function here returns nil and no set is given to it, what it wrote survives
// kill -9 and power loss. When it returns an error, the truth is unknown: the bytes may be
// there, or not, or in part. The caller has to look.
package durable

import (
	"errors"
	"io"
	"os"
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
// (op is "write", "sync", "rename", "link", "syncdir", "append", "truncate", "mkdir",
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

// syncFile is the step that makes what f holds durable, as a caller's path.
func syncFile(path string, f *os.File) error {
	return step("sync", path, func() error { return traced(f.Sync(), Op{Kind: "sync", Path: f.Name()}) })
}

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
