package lethetest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Unpack writes the files of an archive below dir.
func Unpack(t testing.TB, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	Must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	Must(t, err)
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		Must(t, err)
		path := filepath.Join(dir, header.Name)
		Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		switch header.Typeflag {
		case tar.TypeDir:
			Must(t, os.MkdirAll(path, fs.FileMode(header.Mode)))
		case tar.TypeSymlink:
			Must(t, os.Symlink(header.Linkname, path))
		default:
			data, err := io.ReadAll(r)
			Must(t, err)
			Must(t, os.WriteFile(path, data, fs.FileMode(header.Mode)))
		}
	}
}
