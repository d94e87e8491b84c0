package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/cmd/lethe/check"
	"lethe/internal/secret"
	"lethe/life"
	"lethe/life/event"
)

// WriteOptions choose the content and the readers of an archive.
type WriteOptions struct {
	Copy      bool // the life goes on here
	Workspace bool
	To        []string // age recipients, who alone can read the archive
}

// Summary describes an archive.
type Summary struct {
	Manifest
	Checkpoint life.Checkpoint
	Newer      int64 // lines of the life behind it, which are left out
	Bytes      int64 // unpacked
}

// Files counts the files behind the MANIFEST.
func (manifest Manifest) Files() int { return len(manifest.files) }

// Triggers are the files in it that wake the life when it runs.
func (manifest Manifest) Triggers() (names []string) {
	for _, entry := range manifest.files {
		if name, ok := strings.CutPrefix(entry.path, "triggers/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// exporter writes one archive.
type exporter struct {
	Summary
	home  home.Home
	id    home.Identity
	store *blobs.Store
	end   int64 // of LIFE: behind the newest seal
	open  bool  // it is not encrypted
}

// ErrRecipient says that an archive cannot be encrypted to a recipient.
var ErrRecipient = errors.New("not a recipient of age")

// ErrSecret says that an archive that is not encrypted would have a key that this machine uses.
var ErrSecret = errors.New("it has a key of this machine, and would not be encrypted")

// Write writes an archive of a life that does not run, which then goes on elsewhere; with Copy, of any life up to
// its newest seal. After an error the archive is not whole: write it again.
func Write(w io.Writer, home home.Home, store *blobs.Store, id home.Identity, o WriteOptions) (sum Summary, err error) {
	e := &exporter{home: home, id: id, store: store, open: len(o.To) == 0}
	defer func() {
		if sum = e.Summary; err != nil {
			err = fmt.Errorf("export %s: %w", id.Name, err)
		}
	}()
	recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(o.To, "\n")))
	if err != nil && !e.open {
		return sum, fmt.Errorf("%w: %w", ErrRecipient, err)
	}
	e.Self, e.Name, e.Kind = id.Self, id.Name, Copy
	if id.IsChild() {
		return sum, errors.New("it works for another identity, in whose workspace: export that one")
	}
	if !o.Copy {
		if err := e.gather(o); errors.Is(err, ErrSecret) { // before it can go on nowhere but elsewhere
			return sum, err
		}
		e.Kind = Move
		held, err := leave(home, store, id)
		if err != nil {
			return sum, err
		}
		defer held.Close() // nothing is written into it meanwhile
	}
	if err := e.gather(o); err != nil {
		return sum, err
	}
	if e.open {
		return sum, e.pack(w)
	}
	out, err := age.Encrypt(w, recipients...)
	if err != nil {
		return sum, err
	}
	if err := e.pack(out); err != nil {
		return sum, err
	}
	return sum, out.Close()
}

// leave records that the life goes on elsewhere, unless that is recorded.
func leave(home home.Home, store *blobs.Store, id home.Identity) (*journal.Journal, error) {
	held, err := journal.HoldMoved(home, id, store)
	if err != nil {
		return nil, err
	}
	s := held.State
	if err = id.Elsewhere(s); err == nil {
		moved := journal.Record{Event: event.Moved{Custody: s.Custody + 1}}
		err = errors.Join(id.Unstart(), held.Epoch("stop", nil, moved))
	} else if s.Moved {
		err = nil
	}
	if err != nil {
		held.Close()
	}
	return held, err
}

// gather finds the files of the archive, and reads each for the MANIFEST.
func (e *exporter) gather(o WriteOptions) (err error) {
	verdict, err := check.Verify(e.id, e.store, check.VerifyOptions{})
	if err != nil {
		return err
	}
	if verdict.Fault != nil {
		return verdict.Fault
	}
	if verdict.Seals == 0 {
		return errors.New("nothing of it is sealed yet: run it, and stop it")
	}
	e.Checkpoint, e.Newer, e.end, e.Bytes = verdict.Checkpoint, verdict.Unsealed, verdict.End, 0
	e.files = []file{{path: "CHECKPOINT"}}
	for _, hash := range verdict.Reach.Found[:verdict.Archived] {
		hex := hash.String()
		e.files = append(e.files, file{path: "blobs/" + hex[:blobs.MinPrefix] + "/" + hex[blobs.MinPrefix:]})
	}
	err = fs.WalkDir(os.DirFS(e.id.Dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(path, "/")
		isAlong := path == "." || top == "triggers"
		if top == "workspace" {
			isAlong = o.Workspace
		}
		switch {
		case d.IsDir() && !isAlong:
			return fs.SkipDir
		case d.Type().IsRegular() && known(path):
			e.files = append(e.files, file{path: path})
		}
		return nil
	})
	if err != nil {
		return err
	}
	sort.SliceStable(e.files, func(i, j int) bool { return e.files[i].path < e.files[j].path })
	for i := range e.files {
		if err := e.look(&e.files[i]); err != nil {
			return err
		}
	}
	return nil
}

// look reads a file for the MANIFEST.
func (e *exporter) look(entry *file) (err error) {
	entry.size = math.MaxInt64
	if entry.path == "LIFE.md" {
		entry.size = e.end
	}
	w := io.Discard
	if e.open {
		w = new(keyless)
	}
	entry.sum, entry.size, err = e.copy(w, *entry)
	e.Bytes += entry.size
	return err
}

// keyless is a text without a key of this machine. It keeps the newest bytes, which may begin a key.
type keyless []byte

func (k *keyless) Write(p []byte) (int, error) {
	text := append(*k, p...)
	if !bytes.Equal(secret.Bytes(text), text) {
		return 0, ErrSecret
	}
	*k = bytes.Clone(text[max(0, len(text)-1000):])
	return len(p), nil
}

// copy writes the first bytes of a file, at most its size, and returns their hash and number.
func (e *exporter) copy(w io.Writer, entry file) (blobs.Hash, int64, error) {
	var r io.Reader
	switch entry.path {
	case "MANIFEST":
		r = strings.NewReader(e.Manifest.String())
	case "CHECKPOINT":
		r = strings.NewReader(e.Checkpoint.String())
	default:
		dir := e.id.Dir
		if entry.isBlob() {
			dir = e.home.Dir
		}
		disk, err := os.Open(filepath.Join(dir, entry.path))
		if err != nil {
			return blobs.Hash{}, 0, err
		}
		defer disk.Close()
		r = disk
	}
	sum := blake3.New()
	n, err := io.Copy(io.MultiWriter(sum, w), io.LimitReader(r, entry.size))
	return blobs.Hash(sum.Sum(nil)), n, err
}

// pack writes the archive.
func (e *exporter) pack(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	t, text := tar.NewWriter(z), []byte(e.Manifest.String())
	for _, entry := range append([]file{{blobs.Sum(text), int64(len(text)), "MANIFEST"}}, e.files...) {
		h := tar.Header{
			Name: entry.path, Mode: 0o600, Size: entry.size, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg,
		}
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		sum, _, err := e.copy(t, entry)
		if err == nil && sum != entry.sum {
			err = fmt.Errorf("%s was changed meanwhile: export it again", entry.path)
		}
		if err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}
