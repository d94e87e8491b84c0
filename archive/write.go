package archive

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"
	"golang.org/x/mod/sumdb/tlog"

	"lethe/blobs"
	"lethe/check"
	"lethe/home"
	"lethe/journal"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
	"lethe/proof"
)

// WriteOptions say what is written, and for whom.
type WriteOptions struct {
	Copy      bool  // the life goes on here
	Since     int64 // likewise; left out are the blobs of before the seal over so many lines
	Workspace bool
	To        []string // age recipients, who alone can read the archive
}

// Summary describes an archive.
type Summary struct {
	Manifest
	Checkpoint proof.Checkpoint
	Bytes      int64       // unpacked
	State      *mind.State // its rooms, jobs and children stay behind
	Links      int         // in the workspace, which do, too
	Secrets    []string    // kinds of keys that its files seem to have
}

// Files counts the files behind the MANIFEST.
func (m Manifest) Files() int { return len(m.files) }

// Triggers are the files in it that wake the life when it runs.
func (m Manifest) Triggers() (names []string) {
	for _, f := range m.files {
		if name, ok := strings.CutPrefix(f.path, "triggers/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// exporter writes one archive.
type exporter struct {
	Summary
	id    home.Identity
	store *blobs.Store
	end   int64 // of LIFE: behind the newest seal

	buffer []byte
	keys   scanner
}

// ErrRecipient says that an archive cannot be encrypted to whom it is for.
var ErrRecipient = errors.New("not a recipient of age")

// Write writes an archive of a life that does not run, which then goes on elsewhere; with Copy, of any life up to
// its newest seal. After an error the archive is not whole: write it again.
func Write(w io.Writer, home home.Home, store *blobs.Store, id home.Identity, o WriteOptions) (sum Summary, err error) {
	e := &exporter{id: id, store: store, buffer: make([]byte, 1<<18), keys: scanner{}}
	defer func() {
		if sum = e.Summary; err != nil {
			err = fmt.Errorf("export %s: %w", id.Name, err)
		}
	}()
	recipients, err := age.ParseRecipients(strings.NewReader(strings.Join(o.To, "\n")))
	if err != nil && len(o.To) > 0 {
		return sum, fmt.Errorf("%w: %w", ErrRecipient, err)
	}
	e.Self, e.Name, e.Kind = id.Self, id.Name, Copy
	switch {
	case id.IsChild():
		return sum, errors.New("it works for another identity, in whose workspace: export that one")
	case o.Since > 0:
		e.Kind = Delta
	case !o.Copy:
		e.Kind = Move
		held, err := leave(home, store, id)
		if err != nil {
			return sum, err
		}
		defer held.Close() // nothing is written into it meanwhile
	}
	if err := e.gather(o); err != nil || len(o.To) == 0 {
		if err == nil {
			err = e.pack(w)
		}
		return sum, err
	}
	out, err := age.Encrypt(w, recipients...)
	if err == nil {
		err = cmp.Or(e.pack(out), out.Close())
	}
	return sum, err
}

// leave records that the life goes on elsewhere, unless that is recorded.
func leave(home home.Home, store *blobs.Store, id home.Identity) (*journal.Journal, error) {
	held, err := journal.HoldMoved(home, id, store)
	if err != nil {
		return nil, err
	}
	s := held.State
	if err = id.Elsewhere(s); err == nil {
		err = held.Epoch("stop", nil, journal.Record{Event: event.Moved{Custody: s.Custody + 1}})
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
	var from int64 // where the blobs of LIFE's lines are new
	if e.Checkpoint, e.end, from, err = seals(e.id, e.store, o.Since); err != nil {
		return err
	}
	if e.State, err = home.Fold(e.id, e.store); err != nil {
		return err
	}
	e.files = []file{{path: "CHECKPOINT"}, {path: "LIFE.md"}}
	err = fs.WalkDir(os.DirFS(e.id.Dir), ".", func(path string, d fs.DirEntry, err error) error {
		top, _, _ := strings.Cut(path, "/")
		switch {
		case err != nil || path == "LIFE.md":
		case d.IsDir() && path != "." && top != "triggers" && (top != "workspace" || !o.Workspace):
			return fs.SkipDir
		case d.Type().IsRegular() && known(path):
			e.files = append(e.files, file{path: path})
		case top == "workspace" && !d.IsDir():
			e.Links++
		}
		return err
	})
	old := map[blobs.Hash]bool{}
	if err == nil && o.Since > 0 {
		err = check.Reach(e.id, e.store, from, func(h blobs.Hash) error { old[h] = true; return nil })
		err = cmp.Or(err, life.Scan(e.id.LIFE(), func(line life.Event, at int64) error { // what was erased since is new, too
			erased, _ := event.As[event.Erased](line)
			for _, b := range erased.Blobs {
				if h, err := blobs.ParseHash(b.Address); err == nil && at >= from {
					delete(old, h)
				}
			}
			return nil
		}))
	}
	if err == nil {
		err = check.Reach(e.id, e.store, e.end, func(h blobs.Hash) error {
			if hex := h.String(); !old[h] {
				e.files = append(e.files, file{path: "blobs/" + hex[:blobs.MinPrefix] + "/" + hex[blobs.MinPrefix:]})
			}
			return nil
		})
	}
	slices.SortFunc(e.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	for i := range e.files {
		if err == nil {
			err = e.look(&e.files[i])
		}
	}
	e.Secrets = slices.Sorted(maps.Keys(e.keys))
	return err
}

// seals finds the newest seal of a life, where LIFE ends behind its line, and where the seal over so many lines stands.
func seals(id home.Identity, store *blobs.Store, lines int64) (newest proof.Checkpoint, end, at int64, err error) {
	log, err := home.View(id, store)
	if err != nil {
		return newest, 0, 0, err
	}
	defer log.Close()
	behind, found := log.Size(), lines == 0
	err = log.Back(0, func(line life.Event, offset int64) bool {
		if c, ok := checkpoint(id.Self, line); ok {
			if end == 0 {
				newest, end = c, behind
			}
			if !found && c.Size == lines {
				at, found = offset, true
			}
		}
		behind = offset
		return end == 0 || !found
	})
	if err == nil && end == 0 {
		err = errors.New("nothing of it is sealed yet: run it, and stop it")
	} else if err == nil && !found {
		err = fmt.Errorf("it has no seal over %d lines", lines)
	}
	return newest, end, at, err
}

// look reads a file for the MANIFEST.
func (e *exporter) look(f *file) error {
	f.size = math.MaxInt64
	if f.path == "LIFE.md" {
		f.size = e.end
	}
	var err error
	f.sum, f.size, err = e.copy(e.keys, *f)
	if h := f.address(); err == nil && !h.IsZero() && h != f.sum {
		_, err = e.store.Get(h) // it may be a tombstone
	}
	e.Bytes += f.size
	return err
}

// copy writes a file as far as its size, and returns what its bytes hash to, and how many they are.
func (e *exporter) copy(w io.Writer, f file) (blobs.Hash, int64, error) {
	var r io.Reader
	switch h := f.address(); f.path {
	case "MANIFEST":
		r = strings.NewReader(e.Manifest.String())
	case "CHECKPOINT":
		r = strings.NewReader(e.Checkpoint.String())
	default:
		path := filepath.Join(e.id.Dir, f.path)
		if !h.IsZero() {
			path = e.store.Path(h)
		}
		disk, err := os.Open(path)
		if err != nil {
			return h, 0, err
		}
		defer disk.Close()
		r = disk
	}
	sum := blake3.New()
	n, err := io.CopyBuffer(io.MultiWriter(sum, w), io.LimitReader(r, f.size), e.buffer)
	return blobs.Hash(sum.Sum(nil)), n, err
}

// pack writes the archive.
func (e *exporter) pack(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	t, text := tar.NewWriter(z), []byte(e.Manifest.String())
	for _, f := range append([]file{{blobs.Sum(text), int64(len(text)), "MANIFEST"}}, e.files...) {
		h := tar.Header{Name: f.path, Mode: 0o600, Size: f.size, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		sum, _, err := e.copy(t, f)
		if err == nil && sum != f.sum {
			err = fmt.Errorf("%s was changed meanwhile: export it again", f.path)
		}
		if err != nil {
			return err
		}
	}
	return cmp.Or(t.Close(), z.Close())
}

// checkpoint reads the checkpoint of a line that is a seal.
func checkpoint(self string, line life.Event) (proof.Checkpoint, bool) {
	s, ok := event.As[event.Sealed](line)
	root := proof.Binary(s.Root)
	if !ok || len(root) != tlog.HashSize {
		return proof.Checkpoint{}, false
	}
	return proof.Checkpoint{Self: self, Size: s.Size, Root: tlog.Hash(root), Last: s.Last, Sig: proof.Binary(s.Sig)}, true
}
