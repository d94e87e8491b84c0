package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create is WriteFile for a new name. If path exists, its file stays and the error wraps fs.ErrExist. If several
// processes create the name at once, on whatever machines, one succeeds.
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
