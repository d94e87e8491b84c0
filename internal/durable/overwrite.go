package durable

import (
	"io/fs"
	"os"
)

// Overwrite makes the file at path, which OpenRegular opens, hold data. It is neither
// atomic nor synced: for marks and notes beside a lock.
func Overwrite(path string, data []byte, perm fs.FileMode) error {
	f, _, err := OpenRegular(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
