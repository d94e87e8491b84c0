package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Swap is Replace for a file that others save too: nothing they save is lost.
// The new file is exchanged with the one at path, and mine is asked about what
// was displaced (nil when there was none); what is not ours to displace is put
// back. Swap returns how the new file looks, or nil when the other one stayed.
//
// Power loss may leave the old file or the new one, each whole.
//
// Where the filesystem cannot exchange files, mine is asked just before a rename,
// which leaves an instant in which a save can be lost.
func Swap(path string, data []byte, perm fs.FileMode, mine func(fs.FileInfo) bool) (fs.FileInfo, error) {
	// Half a view would look like somebody's edit after a power loss.
	return swapFile(path, data, perm, mine, fsync)
}

// SwapSynced is Swap whose new file survives power loss.
func SwapSynced(path string, data []byte, perm fs.FileMode, mine func(fs.FileInfo) bool) (fs.FileInfo, error) {
	now, err := swapFile(path, data, perm, mine, func(tmp *os.File) error {
		return step("sync", path, func() error { return fsync(tmp) })
	})
	if err == nil && now != nil {
		err = SyncDir(filepath.Dir(path))
	}
	return now, err
}

func swapFile(path string, data []byte, perm fs.FileMode, mine func(fs.FileInfo) bool, sync func(*os.File) error) (fs.FileInfo, error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return nil, err
	}
	defer remove(tmp.Name()) // the displaced file, or the new one that was not needed
	if err = tmp.Chmod(perm); err == nil {
		err = put(tmp, data)
	}
	if err == nil {
		err = sync(tmp)
	}
	now, serr := tmp.Stat()
	if err = errors.Join(err, serr, tmp.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	done, err := swap(tmp.Name(), path, mine)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if !done {
		return nil, nil
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
	if err != nil {
		return false, err
	}
	if !mine(was) {
		return false, nil
	}
	err = swapNames(tmp, path)
	if errors.Is(err, errors.ErrUnsupported) {
		return true, rename(tmp, path)
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
