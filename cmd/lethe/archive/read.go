package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"

	"lethe/blobs"
)

// unpack writes the files of an archive into the staging directory, if they fit to its MANIFEST. Modes and
// times of the archive mean nothing.
func (i *importer) unpack(in io.Reader) error {
	plain, err := decrypt(bufio.NewReaderSize(in, 1<<16), i.Keys)
	if err != nil {
		return err
	}
	z, err := zstd.NewReader(plain,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer z.Close()
	t := tar.NewReader(z)
	header, err := t.Next()
	if errors.Is(err, zstd.ErrMagicMismatch) {
		return errors.New("it is none that lethe export has written")
	}
	if err != nil {
		return err
	}
	isManifest := header.Name == "MANIFEST" && header.Typeflag == tar.TypeReg
	if !isManifest || header.Size > maxManifest {
		return fmt.Errorf("it begins with %.99q (%d bytes), and not with a MANIFEST", header.Name, header.Size)
	}
	text, err := io.ReadAll(t)
	if err != nil {
		return err
	}
	var total int64
	if i.Manifest, total, err = parse(string(text)); err != nil {
		return err
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(i.dir.Name(), &disk); err == nil && total > int64(disk.Bavail)*int64(disk.Bsize) {
		return &fs.PathError{Op: fmt.Sprintf("unpack %d MB into", total>>20), Path: i.dir.Name(), Err: syscall.ENOSPC}
	}
	for _, entry := range i.files {
		switch h, err := t.Next(); {
		case err == io.EOF:
			return fmt.Errorf("it ends before %.99q", entry.path)
		case err != nil:
			return err
		case h.Name != entry.path, h.Typeflag != tar.TypeReg, h.Size != entry.size:
			return fmt.Errorf("it has %.99q (type %c, %d bytes) where its MANIFEST lists %.99q (%d bytes)",
				h.Name, h.Typeflag, h.Size, entry.path, entry.size)
		}
		if err := i.unpackFile(t, entry); err != nil {
			return err
		}
	}
	return ends(t, z)
}

// ends returns an error unless the archive has no further file, and nothing stands behind its end.
func ends(files *tar.Reader, unpacked io.Reader) error {
	switch header, err := files.Next(); {
	case err == nil:
		return fmt.Errorf("its MANIFEST does not list %.99q", header.Name)
	case err != io.EOF:
		return err
	}
	n, err := unpacked.Read(make([]byte, 1))
	switch {
	case err == io.EOF && n == 0:
		return nil
	case err == io.EOF, err == nil:
		return errors.New("something stands behind its end")
	}
	return err
}

// unpackFile writes a file. It refuses a file below a link in the workspace here: a life can make a link that leads
// elsewhere.
func (i *importer) unpackFile(data io.Reader, entry file) error {
	dir := path.Dir(entry.path)
	for up := dir; strings.Contains(up, "/"); up = path.Dir(up) {
		if fi, err := os.Lstat(filepath.Join(i.home.Agents(), i.Self, up)); err == nil && !fi.IsDir() {
			return &fs.PathError{Op: "import into", Path: up, Err: errors.New("is no directory here: move it away first")}
		}
	}
	mode := fs.FileMode(0o600)
	if entry.isBlob() {
		mode = 0o400
	}
	if err := i.dir.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	out, err := i.dir.OpenFile(entry.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	sum := blake3.New()
	_, err = io.Copy(io.MultiWriter(out, sum), data)
	closed := out.Close()
	if err != nil {
		return err
	}
	if closed != nil {
		return closed
	}
	if blobs.Hash(sum.Sum(nil)) != entry.sum {
		return fmt.Errorf("%.99q is not what its MANIFEST says", entry.path)
	}
	return nil
}

// decrypt returns what was encrypted, if the archive is. What age says of a file of keys could quote one.
func decrypt(in *bufio.Reader, keys []byte) (io.Reader, error) {
	const magic = "age-encryption.org/"
	if head, _ := in.Peek(len(magic)); string(head) != magic {
		return in, nil
	}
	own, err := age.ParseIdentities(bytes.NewReader(keys))
	if err != nil {
		return nil, ErrKey
	}
	plain, err := age.Decrypt(in, own...)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return nil, fmt.Errorf("%w, and to other keys than these", ErrKey)
	}
	return plain, err
}
