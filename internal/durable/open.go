package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxLinks is how many links in a row OpenRegular follows.
const maxLinks = 16

// OpenRegular opens a regular file and never waits for a pipe. It follows a link
// at path only if the user of this process made it: a link of somebody else could
// lead a reader to a secret and a writer to any file. Name of the file returned is
// where the links end.
func OpenRegular(path string, flag int, perm fs.FileMode) (*os.File, fs.FileInfo, error) {
	for at, links := path, 0; links <= maxLinks; links++ {
		f, err := os.OpenFile(at, flag|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, perm)
		if errors.Is(err, syscall.ELOOP) {
			if at, err = ownLink(at); err != nil {
				return nil, nil, err
			}
			continue
		}
		if errors.Is(err, syscall.ENXIO) { // a socket, or a pipe that nobody reads
			err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
		}
		if err != nil {
			return nil, nil, err
		}
		fi, err := f.Stat()
		if err == nil && !fi.Mode().IsRegular() {
			err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
		}
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		return f, fi, nil
	}
	return nil, nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// follow returns the path that a link at path with this target leads to.
func follow(path, target string) (string, error) {
	if !filepath.IsAbs(target) {
		dir, _ := filepath.Split(path)
		target = dir + target // not cleaned: what ".." means depends on links before it
	}
	dir, name := filepath.Split(target)
	dir, err := filepath.EvalSymlinks(dir)
	return filepath.Join(dir, name), err
}
