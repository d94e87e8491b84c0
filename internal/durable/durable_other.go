//go:build !linux

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Changed returns the time of the last write to a file. Programs can set it.
func Changed(fi fs.FileInfo) time.Time { return fi.ModTime() }

// syncAll syncs each file and directory.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return Sync(path)
	})
}

// allocate returns ErrUnsupported here.
func (s *Space) allocate() error { return errors.ErrUnsupported }

// exchange returns ErrUnsupported here.
func exchange(_ *os.File, _, _ string) error { return errors.ErrUnsupported }

// writers does not know here.
func writers(*os.File) (held, known bool) { return false, false }

// ownLink refuses all links: it cannot find out safely here which user made one.
func ownLink(path string) (string, error) {
	return "", fmt.Errorf("open %s: links are not followed on this system; put the file itself there", path)
}
