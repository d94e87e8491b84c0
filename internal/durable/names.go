package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Sync makes the bytes of an existing file and its name durable.
func Sync(path string) error {
	f, err := os.OpenFile(path, syscall.O_NONBLOCK, 0) // which spares os four system calls to find out
	if err != nil {
		return err
	}
	defer f.Close()
	return SyncOpen(f)
}

// SyncOpen is Sync of an open file.
func SyncOpen(f *os.File) error {
	if err := syncFile(f.Name(), f); err != nil {
		return fmt.Errorf("sync %s: %w", f.Name(), err)
	}
	return SyncDir(filepath.Dir(f.Name()))
}

// SyncDir makes the names in dir durable. On a filesystem that cannot sync a
// directory it does nothing: there is no better promise to be had there.
func SyncDir(dir string) error {
	d, err := os.OpenFile(dir, syscall.O_NONBLOCK, 0)
	return syncNames(dir, d, err)
}

// syncNames is SyncDir of a directory that was opened, or not, with err.
func syncNames(dir string, d *os.File, err error) error {
	if err == nil {
		err = step("syncdir", dir, func() error {
			err := d.Sync()
			if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
				err = nil
			}
			return traced(err, Op{Kind: "syncdir", Path: dir})
		})
		err = cmp.Or(err, d.Close())
	}
	if err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// MkdirAll makes dir and its missing parents, each durable in its parent. The
// name of a directory that is there already is synced as well: the process that
// made it may have died, or be about to die, before its own sync.
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
	var s Syncs
	return cmp.Or(MkdirLater(&s, dir, perm), s.Wait())
}

// MkdirLater makes dir where it is missing, and not its parent, and leaves the sync of its name to a set.
func MkdirLater(s *Syncs, dir string, perm fs.FileMode) error {
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
	s.Dir(filepath.Dir(dir))
	return nil
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
		if err := traced(os.Remove(path), Op{Kind: "remove", Path: path}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Link gives a file a further name, durably.
func Link(path, to string) error {
	err := step("link", to, func() error { return traced(os.Link(path, to), Op{Kind: "link", Path: path, To: to}) })
	if err == nil {
		err = SyncDir(filepath.Dir(to))
	}
	return err
}

// Rename gives a file or directory another name on the same file system. It is durable when SyncAll or SyncDir has
// returned.
func Rename(from, to string) error {
	return step("rename", to, func() error { return traced(os.Rename(from, to), Op{Kind: "rename", Path: from, To: to}) })
}

// SyncAll makes all durable that was written below dir.
func SyncAll(dir string) error { return step("sync", dir, func() error { return syncAll(dir) }) }

// Move gives a name in dir another one in a directory below it, which is made, durably.
func Move(dir *os.Root, name, to string) error {
	below, path := filepath.Dir(to), filepath.Join(dir.Name(), to)
	if err := dir.Mkdir(below, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := step("rename", path, func() error {
		return traced(dir.Rename(name, to), Op{Kind: "rename", Path: filepath.Join(dir.Name(), name), To: path})
	}); err != nil {
		return err
	}
	for _, d := range []string{below, "."} {
		names, err := dir.Open(d)
		if err := syncNames(filepath.Join(dir.Name(), d), names, err); err != nil {
			return err
		}
	}
	return nil
}

// Space returns nil when a file of size bytes could be written into dir now. It has the file
// system allocate one, since free blocks say nothing of quotas and of a file system that has
// become read-only; where that cannot be done without writing it, it writes one and removes it.
// Fault is asked for the op "reserve" of dir.
func Space(dir string, size int) error {
	err := step("reserve", dir, func() error {
		err := allocate(dir, size)
		if errors.Is(err, errors.ErrUnsupported) {
			err = occupy(dir, size)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write to %s: %w", dir, err)
	}
	return nil
}

// occupy writes a file of size bytes into dir and removes it.
func occupy(dir string, size int) error {
	f, err := fill(named(dir), 0, func(f *os.File) error { _, err := f.Write(make([]byte, size)); return err })
	if err == nil {
		discard(named(dir), f)
	}
	return err
}
