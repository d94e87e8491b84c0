package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Sync makes the bytes of an existing file and its name durable.
func Sync(path string) error {
	file, err := os.OpenFile(path, syscall.O_NONBLOCK, 0) // O_NONBLOCK saves four system calls of os
	if err != nil {
		return err
	}
	defer file.Close()
	return SyncOpen(file)
}

// SyncOpen is Sync of an open file.
func SyncOpen(f *os.File) error {
	if err := syncFile(f.Name(), f); err != nil {
		return fmt.Errorf("sync %s: %w", f.Name(), err)
	}
	return SyncDir(filepath.Dir(f.Name()))
}

// SyncDir makes the names in dir durable. On a filesystem that cannot sync a
// directory it does nothing and returns nil: that filesystem offers nothing better.
func SyncDir(dir string) error {
	d, err := os.OpenFile(dir, syscall.O_NONBLOCK, 0)
	return syncNames(dir, d, err)
}

// syncNames is SyncDir after an attempt to open dir, which returned open and err. It closes open.
func syncNames(dir string, open *os.File, err error) error {
	if err == nil {
		err = step("syncdir", dir, func() error {
			err := open.Sync()
			if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
				err = nil
			}
			return traced(err, Op{Kind: "syncdir", Path: dir})
		})
		closed := open.Close()
		if err == nil {
			err = closed
		}
	}
	if err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// MkdirAll makes dir and its missing parents, each durable in its parent. It also
// syncs the name of a directory that exists, since the process that made it may
// have died, or be about to die, before its own sync.
func MkdirAll(dir string, perm fs.FileMode) error {
	parent := filepath.Dir(dir)
	if isDir(dir) {
		err := SyncDir(parent)
		if errors.Is(err, fs.ErrPermission) {
			// This process did not make dir in a parent that it cannot read.
			return nil
		}
		return err
	}
	if parent != dir {
		if err := MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	var syncs Syncs
	if err := MkdirLater(&syncs, dir, perm); err != nil {
		return err
	}
	return syncs.Wait()
}

// MkdirLater makes dir if it is missing, but not its parents, and leaves the sync of its name to a set.
func MkdirLater(syncs *Syncs, dir string, perm fs.FileMode) error {
	err := step("mkdir", dir, func() error {
		err := traced(os.Mkdir(dir, perm), Op{Kind: "mkdir", Path: dir})
		if errors.Is(err, fs.ErrExist) && isDir(dir) { // another process may have made it
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	syncs.Dir(filepath.Dir(dir))
	return nil
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// Symlink makes link point to target, durably. It returns nil if link already points
// there. It leaves anything else of that name as it is and returns an error.
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

// Remove removes the name path, durably. It returns nil if there is no such name.
func Remove(path string) error {
	err := step("remove", path, func() error {
		err := traced(os.Remove(path), Op{Kind: "remove", Path: path})
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
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

// Rename gives a file or directory another name on the same file system. The new name is durable after SyncAll or
// SyncDir.
func Rename(from, to string) error {
	return step("rename", to, func() error {
		return traced(os.Rename(from, to), Op{Kind: "rename", Path: from, To: to})
	})
}

// SyncAll makes all files and names below dir durable.
func SyncAll(dir string) error { return step("sync", dir, func() error { return syncAll(dir) }) }

// Move durably renames name in dir to to, a path in a subdirectory of dir, which it makes if it is missing.
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
	for _, changed := range []string{below, "."} {
		names, err := dir.Open(changed)
		if err := syncNames(filepath.Join(dir.Name(), changed), names, err); err != nil {
			return err
		}
	}
	return nil
}

// Space tells whether a file of Size bytes could be written into Dir. Any goroutine may use it. Close it at the end:
// it keeps a nameless file open, since making one for each look takes ten times as long.
type Space struct {
	Dir  string
	Size int

	mu   sync.Mutex
	file *os.File // empty; nil before the first look, and where the last one failed
}

// Look returns nil if such a file could be written now. It makes the file system allocate one, since the number of
// free blocks tells nothing about quotas or a read-only file system; if the file system cannot allocate, it writes such
// a file and removes it. It calls Fault with the op "reserve" and Dir.
func (s *Space) Look() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := step("reserve", s.Dir, func() error {
		err := s.allocate()
		if errors.Is(err, errors.ErrUnsupported) {
			err = occupy(s.Dir, s.Size)
		}
		return err
	})
	if err != nil {
		s.close()
		return fmt.Errorf("write to %s: %w", s.Dir, err)
	}
	return nil
}

// Close closes what Look keeps open.
func (s *Space) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
}

func (s *Space) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// occupy writes a file of size bytes into dir and removes it.
func occupy(dir string, size int) error {
	file, err := fill(named(dir), 0, func(file *os.File) error { _, err := file.Write(make([]byte, size)); return err })
	if err == nil {
		discard(named(dir), file)
	}
	return err
}
