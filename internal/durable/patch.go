package durable

import (
	"cmp"
	"errors"
	"fmt"
	"os"
)

// Piece is bytes that Patch writes, and where, from the start of the file.
type Piece struct {
	At   int64
	Data []byte
}

// Patch writes pieces into a file where they belong, and syncs it: for bytes that are to leave
// the disk. It is not atomic; done again after a crash it ends the same. It makes the file no
// longer, and keeps its mode, which need not let its owner write.
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
		defer func() { err = cmp.Or(err, os.Chmod(path, mode.Perm())) }()
	}
	f, fi, err := OpenRegular(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range pieces {
		if p.At < 0 || p.At+int64(len(p.Data)) > fi.Size() {
			return errors.New("a piece is not in the file")
		}
		if _, err := f.Seek(p.At, 0); err != nil {
			return err
		}
		if err := write("write", path, f, p.Data); err != nil {
			return err
		}
	}
	return syncFile(path, f)
}
