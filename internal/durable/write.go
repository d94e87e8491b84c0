package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// WriteFile replaces path by data, atomically: at every moment a reader finds
// the old file or the new one, whole. A link at path is replaced, not followed.
//
// A crash can leave a file .tmp-* beside path, which no process uses and which
// may be removed; an error leaves none.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return inDir(path, func(dir *os.Root) error { return WriteFileIn(dir, filepath.Base(path), data, perm) })
}

// WriteFileIn is WriteFile of a name in an open directory: a link that takes the
// directory's place leads nothing elsewhere. With perm 0 the file gets the mode of
// any new file, 0644 less the umask.
func WriteFileIn(dir *os.Root, name string, data []byte, perm fs.FileMode) error {
	return writeIn(dir, name, perm, func(path string, tmp *os.File) error { return write("write", path, tmp, data) })
}

// WriteWith is WriteFile of what the function writes.
func WriteWith(path string, perm fs.FileMode, with func(io.Writer) error) error {
	return inDir(path, func(dir *os.Root) error {
		return writeIn(dir, filepath.Base(path), perm, func(_ string, tmp *os.File) error { return with(tmp) })
	})
}

func writeIn(dir *os.Root, name string, perm fs.FileMode, with func(path string, tmp *os.File) error) error {
	path := filepath.Join(dir.Name(), name)
	err := fill(dir, perm, func(tmp *os.File) error {
		if err := with(path, tmp); err != nil {
			return err
		}
		return step("sync", path, func() error { return fsync(tmp) })
	}, func(tmp string, _ fs.FileInfo) error {
		return step("rename", path, func() error { return rename(dir, tmp, name) })
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	names, err := dir.Open(".")
	return syncNames(dir.Name(), names, err)
}

// Replace is WriteFile without the syncs: readers never see half a file, but
// power loss may leave the old one or an empty one. It is for views that can be
// made again, and Fault is not asked.
func Replace(path string, data []byte, perm fs.FileMode) error {
	err := inDir(path, func(dir *os.Root) error {
		return fill(dir, perm, func(tmp *os.File) error { return put(tmp, data) },
			func(tmp string, _ fs.FileInfo) error { return rename(dir, tmp, filepath.Base(path)) })
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// inDir runs do with the directory of path held open.
func inDir(path string, do func(dir *os.Root) error) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(dir)
}

func rename(dir *os.Root, tmp, name string) error {
	return traced(dir.Rename(filepath.Base(tmp), name), Op{Kind: "rename", Path: tmp, To: filepath.Join(dir.Name(), name)})
}

// fill makes a temporary file in dir, has write fill it and use do something with it, by
// its path. What bears its name then is removed, unless use has renamed it.
func fill(dir *os.Root, perm fs.FileMode, write func(*os.File) error, use func(tmp string, fi fs.FileInfo) error) error {
	f, err := temporary(dir)
	if err != nil {
		return err
	}
	var fi fs.FileInfo
	if perm != 0 {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = write(f)
	}
	if err == nil {
		fi, err = f.Stat()
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = use(f.Name(), fi)
	}
	if rerr := dir.Remove(filepath.Base(f.Name())); rerr == nil {
		_ = traced(nil, Op{Kind: "remove", Path: f.Name()})
	}
	return err
}

// temporary makes an empty file in dir. Its error has the whole path: a caller may
// have to restore what is above it.
func temporary(dir *os.Root) (*os.File, error) {
	f, err := dir.OpenFile(".tmp-"+strconv.FormatUint(rand.Uint64(), 10), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = filepath.Join(dir.Name(), e.Path)
	}
	return f, err
}

// Swap is for a file that others save too: nothing they save is lost. The new
// file is exchanged with the one at path, and mine is asked about what was
// displaced (nil when there was none); what is not ours to displace is put back.
// Swap returns how the new file looks, or nil when the other one stayed.
//
// Power loss may leave the old file or the new one, each whole; SyncDir makes it
// the new one.
//
// Where the filesystem cannot exchange files, mine is asked just before a rename,
// which leaves an instant in which a save can be lost.
func Swap(path string, data []byte, perm fs.FileMode, mine func(fs.FileInfo) bool) (now fs.FileInfo, err error) {
	err = inDir(path, func(dir *os.Root) error {
		return fill(dir, perm, func(f *os.File) error {
			if err := put(f, data); err != nil {
				return err
			}
			return step("sync", path, func() error { return fsync(f) })
		}, func(tmp string, fi fs.FileInfo) error {
			done, err := swap(tmp, path, mine)
			if done {
				now = fi
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return now, nil
}

func swap(tmp, path string, mine func(fs.FileInfo) bool) (done bool, err error) {
	was, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !mine(nil) {
			return false, nil
		}
		err := traced(os.Link(tmp, path), Op{Kind: "link", Path: tmp, To: path}) // unlike a rename, it displaces nothing
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return err == nil, err
	}
	if err != nil || !mine(was) {
		return false, err
	}
	err = swapNames(tmp, path)
	if errors.Is(err, errors.ErrUnsupported) {
		return true, traced(os.Rename(tmp, path), Op{Kind: "rename", Path: tmp, To: path})
	}
	if err != nil {
		return false, err
	}
	displaced, err := os.Lstat(tmp)
	if err != nil || mine(displaced) {
		return true, err
	}
	return false, swapNames(tmp, path)
}

func swapNames(a, b string) error {
	return traced(exchange(a, b), Op{Kind: "exchange", Path: a, To: b})
}
