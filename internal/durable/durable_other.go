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

// Changed is when a file came to be as it is, as far as its times tell.
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

// allocate is not to be had everywhere.
func allocate(string, int) error { return errors.ErrUnsupported }

// exchange is not to be had everywhere.
func exchange(_, _ string) error { return errors.ErrUnsupported }

// writers cannot be told everywhere.
func writers(*os.File) (held, known bool) { return false, false }

// ownLink cannot tell safely here who made a link.
func ownLink(path string) (string, error) {
	return "", fmt.Errorf("open %s: links are not followed on this system; put the file itself there", path)
}
