package durable

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// WriteFile replaces path by data, atomically: at every moment a reader finds
// the old file or the new one, whole. A link at path is replaced, not followed.
//
// A crash can leave a file .tmp-* beside path, which no process uses and anybody
// may remove. An error leaves no such file.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return writeIn(named(filepath.Dir(path)), filepath.Base(path), perm, whole(path, data))
}

// whole returns a function that writes data into the temporary file for path.
func whole(path string, data []byte) func(*os.File) error {
	return func(tmp *os.File) error { return write("write", path, tmp, data) }
}

// WriteWith is WriteFile with the bytes that a function writes.
func WriteWith(path string, perm fs.FileMode, with func(io.Writer) error) error {
	return writeIn(named(filepath.Dir(path)), filepath.Base(path), perm, func(tmp *os.File) error { return with(tmp) })
}

// directory is a directory to write files into. An os.Root is safe when somebody else could put a link in
// its place; named takes fewer system calls.
type directory interface {
	Name() string
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
}

type named string

func (d named) Name() string             { return string(d) }
func (d named) in(name string) string    { return filepath.Join(string(d), name) }
func (d named) Remove(name string) error { return os.Remove(d.in(name)) }

// Rename is os.Rename without its check of the file that it replaces.
func (d named) Rename(from, to string) error {
	return os.NewSyscallError("rename "+d.in(to), syscall.Rename(d.in(from), d.in(to)))
}

func (d named) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(d.in(name), flag, perm)
}

func writeIn(dir directory, name string, perm fs.FileMode, with func(*os.File) error) error {
	path := filepath.Join(dir.Name(), name)
	file, err := place(dir, name, perm, func(tmp *os.File) error {
		if err := with(tmp); err != nil {
			return err
		}
		return syncFile(path, tmp)
	}, step)
	if err != nil {
		return err
	}
	file.Close() // it is synced
	names, err := dir.OpenFile(".", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return syncNames(dir.Name(), names, err)
}

// place makes a file, calls with to fill it, and then gives it its name through as, in the manner of step. It returns
// the file open.
func place(
	dir directory,
	name string,
	perm fs.FileMode,
	with func(*os.File) error,
	as func(op, path string, do func() error) error,
) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	file, err := fill(dir, perm, with)
	if err == nil {
		if err = as("rename", path, func() error { return rename(dir, file, name) }); err != nil {
			discard(dir, file)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return file, nil
}

// Replace is WriteFile without the syncs: readers never see half a file, but
// power loss may leave the old one or an empty one. Use it for views that can be
// made again. It does not call Fault.
func Replace(path string, data []byte, perm fs.FileMode) error {
	unasked := func(_, _ string, do func() error) error { return do() }
	file, err := place(named(filepath.Dir(path)), filepath.Base(path), perm,
		func(tmp *os.File) error { return put(tmp, data) }, unasked)
	if err == nil {
		err = file.Close()
	}
	return err
}

func rename(dir directory, tmp *os.File, name string) error {
	err := dir.Rename(filepath.Base(tmp.Name()), name)
	return traced(err, Op{Kind: "rename", Path: tmp.Name(), To: filepath.Join(dir.Name(), name)})
}

// fill makes a temporary file in dir, calls with to write it, and returns it open. An error of opening names the whole
// path, since a caller may have to restore the modes of the directories above.
func fill(dir directory, perm fs.FileMode, with func(*os.File) error) (*os.File, error) {
	name := ".tmp-" + strconv.FormatUint(rand.Uint64(), 10)
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, cmp.Or(perm, 0o644))
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = filepath.Join(dir.Name(), name)
	}
	if err != nil {
		return nil, err
	}
	if perm&0o077 != 0 { // the umask may have cleared some bits
		err = file.Chmod(perm)
	}
	if err == nil {
		err = with(file)
	}
	if err != nil {
		discard(dir, file)
		if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == file.Name() {
			e.Path = dir.Name() // each try has another name, and one trouble needs the same words
		}
		return nil, err
	}
	return file, nil
}

// discard closes a file that fill has made, and removes its name.
func discard(dir directory, f *os.File) {
	f.Close()
	if dir.Remove(filepath.Base(f.Name())) == nil {
		_ = traced(nil, Op{Kind: "remove", Path: f.Name()})
	}
}

// Swap replaces a file that others save too, and loses nothing that they save. It
// exchanges the new file with the one at path, and calls mine with the displaced
// one (nil if there was no file). If mine returns false, Swap puts that file back.
// Swap returns the new file's info, or nil if the other file stayed. What somebody makes
// of the new file before it is taken back takes its name again; the file that it takes
// the place of stays beside it, and a Conflict names it.
//
// Power loss may leave the old file or the new one, each whole; SyncDir makes it
// the new one.
//
// On a filesystem that cannot exchange files, Swap calls mine just before a rename,
// and a save in between is lost.
func Swap(path string, data []byte, perm fs.FileMode, mine func(fs.FileInfo) bool) (now fs.FileInfo, err error) {
	return swapAt(path, data, perm, mine, syncFile)
}

// SwapView is Swap without the sync: power loss may leave the old file, or the new one empty, cut off or with zeros in
// it. Use it for a view that can be made again, and whose reader recognises such a file.
func SwapView(path string, data []byte, perm fs.FileMode, mine func(fs.FileInfo) bool) (now fs.FileInfo, err error) {
	return swapAt(path, data, perm, mine, func(string, *os.File) error { return nil })
}

func swapAt(
	path string, data []byte, perm fs.FileMode, mine func(fs.FileInfo) bool, sync func(string, *os.File) error,
) (now fs.FileInfo, err error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	byLook := func(there fs.FileInfo, _ string) bool { return mine(there) }
	return swapIn(dir, filepath.Base(path), data, perm, byLook, sync)
}

// SwapIn is Swap of a name in an open directory, made durable: a link that takes the directory's place leads nothing
// elsewhere. mine also gets the displaced file's name in dir. With perm 0 the file gets the mode of any new file, 0644
// less the umask. done is false if the other file stayed.
//
// Where SwapIn puts a save back, somebody may have read the new file meanwhile, and overwrite that save next. So a copy
// of it stays beside the file, and is the error's Conflict.
func SwapIn(
	dir *os.Root, name string, data []byte, perm fs.FileMode, mine func(there fs.FileInfo, name string) bool,
) (done bool, err error) {
	var conflict error
	now, err := swapIn(dir, name, data, perm, func(there fs.FileInfo, at string) bool {
		isMine := mine(there, at)
		if !isMine && at != name && there.Mode().IsRegular() {
			conflict = copyBeside(dir, at, name, there.Mode().Perm())
		}
		return isMine
	}, syncFile)
	if err == nil {
		err = conflict
	}
	if err != nil || now == nil {
		return false, err
	}
	names, err := dir.Open(".")
	return true, syncNames(dir.Name(), names, err)
}

// Conflict is an error: somebody saved a file while it was being replaced. Copy is the name of a file beside it that
// has what they saved.
type Conflict struct{ Copy string }

func (c Conflict) Error() string {
	return "not done: somebody saved it at this moment. A copy of what they saved is " + c.Copy
}

// conflict returns a name for what somebody saved under another name.
func conflict(name string) Conflict {
	return Conflict{fmt.Sprintf("%s.conflict-%08x", name, rand.Uint32())}
}

// copyBeside copies a file of dir to a name that it returns as a Conflict.
func copyBeside(dir *os.Root, from, name string, perm fs.FileMode) error {
	file, err := dir.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	beside := conflict(name)
	err = writeIn(dir, beside.Copy, perm, func(tmp *os.File) error {
		_, err := io.Copy(tmp, file)
		return err
	})
	if err != nil {
		return err
	}
	return beside
}

func swapIn(
	dir *os.Root,
	name string,
	data []byte,
	perm fs.FileMode,
	mine func(there fs.FileInfo, name string) bool,
	sync func(path string, tmp *os.File) error,
) (now fs.FileInfo, err error) {
	path, done := filepath.Join(dir.Name(), name), false
	file, err := fill(dir, perm, whole(path, data))
	if err == nil {
		if err = sync(path, file); err == nil {
			now, err = file.Stat()
		}
		if err == nil {
			done, err = swap(dir, file, name, now, data, mine)
		}
		discard(dir, file)
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if !done {
		return nil, nil
	}
	return now, nil
}

// swap exchanges a file, which is ours, with a name.
func swap(
	dir *os.Root, file *os.File, name string, ours fs.FileInfo, data []byte, mine func(fs.FileInfo, string) bool,
) (done bool, err error) {
	tmp := filepath.Base(file.Name())
	from, to := filepath.Join(dir.Name(), tmp), filepath.Join(dir.Name(), name)
	was, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if !mine(nil, name) {
			return false, nil
		}
		// A link, unlike a rename, displaces nothing.
		err := traced(dir.Link(tmp, name), Op{Kind: "link", Path: from, To: to})
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return err == nil, err
	}
	if err != nil || !mine(was, name) {
		return false, err
	}
	names, err := dir.Open(".")
	if err != nil {
		return false, err
	}
	defer names.Close()
	exchanged := func() error { return traced(exchange(names, tmp, name), Op{Kind: "exchange", Path: from, To: to}) }
	err = exchanged()
	if errors.Is(err, errors.ErrUnsupported) {
		return true, traced(dir.Rename(tmp, name), Op{Kind: "rename", Path: from, To: to})
	}
	if err != nil {
		return false, err
	}
	displaced, err := dir.Lstat(tmp)
	if err != nil || mine(displaced, tmp) {
		return true, err
	}
	for put := ours; ; { // until that comes out which was put in last: anything else is a newer save, and goes back, too
		if err := exchanged(); err != nil {
			return false, err
		}
		out, err := dir.Lstat(tmp)
		if err != nil {
			return false, err
		}
		switch isLast := os.SameFile(out, put); {
		case isLast && put != ours:
			beside := conflict(name)
			to := filepath.Join(dir.Name(), beside.Copy)
			err := traced(dir.Rename(tmp, beside.Copy), Op{Kind: "rename", Path: from, To: to})
			if err == nil {
				err = beside
			}
			return false, err
		case isLast && hasOnly(file, data):
			return false, nil
		}
		put, displaced = displaced, out
	}
}

// hasOnly reports whether a file has these bytes alone.
func hasOnly(file *os.File, data []byte) bool {
	now, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(data))+1))
	return err == nil && bytes.Equal(now, data)
}

// Piece is a run of bytes that Patch writes.
type Piece struct {
	At   int64 // the offset from the start of the file
	Data []byte
}

// Patch overwrites pieces of a file in place and syncs it, so that the old bytes leave the disk. It
// is not atomic; after a crash it can be done again. It returns an error for a piece beyond the
// file's end. It keeps the file's mode, which need not let its owner write.
func Patch(path string, pieces ...Piece) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("patch %s: %w", path, err)
		}
	}()
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if mode := fi.Mode(); mode.IsRegular() && mode.Perm()&0o200 == 0 {
		if err := os.Chmod(path, mode.Perm()|0o200); err != nil {
			return err
		}
		defer func() {
			closed := os.Chmod(path, mode.Perm())
			if err == nil {
				err = closed
			}
		}()
	}
	file, fi, err := OpenRegular(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, piece := range pieces {
		if piece.At < 0 || piece.At+int64(len(piece.Data)) > fi.Size() {
			return errors.New("a piece is not in the file")
		}
		if _, err := file.Seek(piece.At, 0); err != nil {
			return err
		}
		if err := write("write", path, file, piece.Data); err != nil {
			return err
		}
	}
	return syncFile(path, file)
}
