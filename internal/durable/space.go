package durable

import (
	"fmt"
	"os"
)

// Space returns nil when a file of size bytes could be written into dir now. It
// makes one and removes it, since free blocks say nothing of quotas, of a file
// system that has become read-only, and on some of free blocks. Fault is asked
// for the op "reserve" of dir.
func Space(dir string, size int64) error {
	err := step("reserve", dir, func() error {
		f, err := os.CreateTemp(dir, ".tmp-*")
		if err != nil {
			return err
		}
		err = reserve(f, size)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if rerr := os.Remove(f.Name()); err == nil {
			err = rerr
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write to %s: %w", dir, err)
	}
	return nil
}
