//go:build !linux

package durable

import "os"

// reserve writes the bytes: what else a file system promises differs by system.
func reserve(f *os.File, size int64) error {
	_, err := f.Write(make([]byte, size))
	return err
}
