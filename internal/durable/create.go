package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create is WriteFile of a name that is not there yet; where it is, that file stays and the error wraps fs.ErrExist. Of
// all processes that share the directory, on whatever machine, one creates the name.
func Create(path string, data []byte, perm fs.FileMode) error {
	dir := named(filepath.Dir(path))
	tmp, err := fill(dir, perm, func(tmp *os.File) error {
		if err := write("write", path, tmp, data); err != nil {
			return err
		}
		return syncFile(path, tmp)
	})
	if err == nil {
		err = step("link", path, func() error {
			return traced(os.Link(tmp.Name(), path), Op{Kind: "link", Path: tmp.Name(), To: path})
		})
		discard(dir, tmp)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return SyncDir(string(dir))
}
