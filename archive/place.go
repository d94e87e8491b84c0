package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/check"
	"lethe/internal/durable"
	"lethe/life/event"
	"lethe/mind"
	"lethe/proof"
)

// ReadOptions say what becomes of the life.
type ReadOptions struct {
	Name    string // instead of the one that it has
	Restore bool   // it goes on here, since it does nowhere else
	Mirror  bool   // it does not, even if the archive hands it over
	Keys    []byte // a file of age identities
}

// Result is what was taken in.
type Result struct {
	Manifest
	Identity agent.Identity
	Verdict  check.Verdict
	Mirror   bool // the life goes on elsewhere
	Known    bool // the life came here with this archive before: nothing was changed, and Verdict is empty
}

// ErrImporting says that another process imports into this home, or moves away what nothing refers to.
var ErrImporting = errors.New("another import, or gc, is under way")

// importer takes in one archive.
type importer struct {
	Manifest
	ReadOptions
	home   agent.Home
	store  *blobs.Store
	dir    *os.Root // where the life waits until it is whole and checked
	id     agent.Identity
	staged *blobs.Store // in dir
	state  *mind.State
	here   agent.Identity // where the life will be
	was    *mind.State    // of the life that is there; nil if there is none
}

// Read takes in an archive. What is damaged, or does not fit to what is here, is refused, and nothing is left of it.
func Read(in io.Reader, home agent.Home, store *blobs.Store, o ReadOptions) (got Result, err error) {
	i := &importer{ReadOptions: o, home: home, store: store}
	dir := filepath.Join(home.Agents(), ".tmp-import")
	lock := flock.New(home.Blobs(), flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	if free, err := lock.TryLock(); err != nil || !free {
		return got, cmp.Or(err, ErrImporting)
	}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			err = fmt.Errorf("import: %w", err)
		}
	}()
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil { // what a killed import left
		return got, err
	}
	if i.dir, err = os.OpenRoot(dir); err != nil {
		return got, err
	}
	defer i.dir.Close()
	if err := i.unpack(in); err != nil {
		return got, damaged(err)
	}
	name := cmp.Or(o.Name, i.Manifest.Name)
	if err := agent.CheckName(name); err != nil {
		return got, fmt.Errorf("call it %.99q: %w", name, err)
	}
	i.id, i.here = agent.Identity{Self: i.Self, Name: name, Dir: dir}, agent.Identity{Self: i.Self, Name: name, Dir: filepath.Join(home.Agents(), i.Self)}
	if i.staged, err = blobs.Open(filepath.Join(i.id.Dir, "blobs")); err != nil {
		return got, err
	}
	if i.Kind == Delta {
		i.staged.Over(i.store)
	}
	var options check.VerifyOptions
	if _, err := os.Lstat(i.here.LIFE()); err == nil {
		if is, err := home.Find(i.Self); err == nil && is.Name != name { // unless a kill left it without a name
			if _, err := os.Lstat(filepath.Join(home.Names(), is.Name)); err == nil {
				name, i.here.Name, i.id.Name = is.Name, is.Name, is.Name
			}
		}
		held, err := agent.Hold(i.here, i.config())
		if err != nil {
			return got, err
		}
		defer held.Close()
		seal, _, _, err := seals(i.here, i.store, 0)
		if i.was = held.State(); err == nil && i.here.Elsewhere(i.was) == nil {
			if i.imported() {
				return Result{Manifest: i.Manifest, Identity: i.here, Known: true}, nil
			}
			err = fmt.Errorf("%s is here already, and lives here", name)
		}
		if theirs, _, _, serr := seals(i.id, i.staged, 0); err == nil && serr == nil && theirs.Size < seal.Size {
			err = fmt.Errorf("%s is here already, and the archive is older: it is sealed over %d lines, here %d are", name, theirs.Size, seal.Size)
		}
		if err != nil {
			return got, err
		}
		options.Against = &seal // the life that is here is a beginning of the archive's
	} else if other, err := home.Find(name); err == nil && other.Name == name {
		return got, fmt.Errorf("%s: %w", name, agent.ErrExists)
	} else if i.Kind == Delta {
		return got, fmt.Errorf("this goes on from another archive of %s: import that one first", name)
	}
	v, err := i.check(options)
	if err == nil {
		err = i.through()
	}
	if err == nil {
		err = i.place()
	}
	return Result{i.Manifest, i.here, v, i.mirrored(), false}, err
}

// imported reports whether the life that is here came with this very archive.
func (i *importer) imported() bool {
	moved, err := agent.Fold(i.id, i.staged)
	theirs, _, _, serr := seals(i.id, i.staged, 0)
	if cmp.Or(err, serr) != nil || i.mirrored() || moved.Custody != i.was.Custody {
		return false
	}
	v, err := check.Verify(i.here, i.store, check.VerifyOptions{Against: &theirs})
	return err == nil && v.Fault == nil
}

// mirrored reports whether the life will go on elsewhere.
func (i *importer) mirrored() bool { return !i.Restore && (i.Kind != Move || i.Mirror) }

func (i *importer) config() agent.Config {
	return agent.Config{Home: i.home, Store: i.store, Elsewhere: true}
}

// check finds out whether what was unpacked is a life.
func (i *importer) check(o check.VerifyOptions) (v check.Verdict, err error) {
	v, err = check.Verify(i.id, i.staged, o)
	if err = cmp.Or(err, v.Fault); err == nil {
		i.state, err = agent.Fold(i.id, i.staged)
	}
	if text, _ := i.dir.ReadFile("CHECKPOINT"); err == nil && (string(text) != v.Checkpoint.String() || i.Kind == Move && !i.state.Moved || !i.sealed()) {
		err = errors.New("its MANIFEST, CHECKPOINT and LIFE do not agree")
	}
	if err != nil {
		err = damaged(err)
	}
	return v, err
}

// sealed reports whether nothing stands behind the newest seal of the log.
func (i *importer) sealed() bool {
	_, end, _, err := seals(i.id, i.staged, 0)
	fi, serr := os.Stat(i.id.LIFE())
	return cmp.Or(err, serr) == nil && end == fi.Size()
}

// place gives what was unpacked its place: the blobs, then the files of the life, and LIFE last. Until then there is no
// such life, or it is what it was, and the same archive can be imported again.
func (i *importer) place() error {
	fresh, err := i.sort()
	if err == nil {
		err = durable.SyncAll(i.id.Dir)
	}
	for _, h := range fresh {
		if err == nil {
			err = os.MkdirAll(filepath.Dir(i.store.Path(h)), 0o700)
		}
		if err == nil {
			err = durable.Rename(i.staged.Path(h), i.store.Path(h))
		}
	}
	here := func(path string) string { return filepath.Join(i.here.Dir, path) }
	for _, step := range []func() error{
		i.finish,
		func() error { return errors.Join(os.RemoveAll(here("triggers")), os.RemoveAll(here("context.md"))) },
		func() error {
			return fs.WalkDir(i.dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil || path == "LIFE.md" || path == "lock":
					return err
				case path == "blobs":
					return fs.SkipDir
				case d.IsDir():
					return os.MkdirAll(here(path), 0o700)
				}
				return durable.Rename(filepath.Join(i.id.Dir, path), here(path))
			})
		},
		func() error { return durable.SyncAll(i.home.Blobs()) },
		func() error { return durable.SyncAll(i.here.Dir) },
		func() error { return durable.Rename(i.id.LIFE(), i.here.LIFE()) },
		func() error { return durable.SyncDir(i.here.Dir) },
		func() error { return i.home.Link(i.here) },
	} {
		if err == nil {
			err = step()
		}
	}
	if _, lerr := os.Lstat(i.here.LIFE()); err != nil && errors.Is(lerr, fs.ErrNotExist) {
		err = errors.Join(err, os.RemoveAll(i.here.Dir))
	} else if err == nil && !i.mirrored() {
		err = durable.Remove(here("mirror"))
	}
	return err
}

// through refuses files for a directory of the workspace that is a link here, as a life can make one: it leads elsewhere.
func (i *importer) through() error {
	err := fs.WalkDir(i.dir.FS(), "workspace", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != "workspace" {
			if fi, err := os.Lstat(filepath.Join(i.here.Dir, path)); err == nil && !fi.IsDir() {
				return fmt.Errorf("%.199q is no directory in this home: move it away first", path)
			}
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sort finds the blobs that are not here yet. What is here stays, but for a text that the same life has erased
// elsewhere.
func (i *importer) sort() (fresh []blobs.Hash, err error) {
	var gone []blobs.Blob
	err = i.staged.Each(func(h blobs.Hash) error {
		got, err := i.staged.Get(h)
		if err != nil {
			return damaged(err)
		}
		is, err := i.store.Get(h)
		switch {
		case errors.Is(err, blobs.ErrNotFound):
			fresh = append(fresh, h)
			return nil
		case err != nil || got.Gone == nil && is.Gone == nil || got.Gone != nil && is.Gone != nil && *got.Gone == *is.Gone:
			return err
		case got.Gone != nil && i.was != nil && is.Life == i.Self:
			gone = append(gone, got)
			return nil
		}
		return fmt.Errorf("blob %s was erased in the archive or in this home, and not in both: erase it in both first", h)
	})
	for _, b := range gone { // once nothing is refused any more
		if err == nil {
			_, err = i.store.Bury(*b.Gone, b.Meta, b.Body)
		}
	}
	return fresh, err
}

// finish makes what an archive does not have of the files of a life, and records that it goes on here.
func (i *importer) finish() error {
	self, _ := blobs.ParseHash(i.Self)
	boot, err := i.store.Get(self)
	if err = cmp.Or(err, i.dir.Remove("CHECKPOINT"), i.dir.WriteFile("SOUL.md", boot.Body, 0o400), i.dir.MkdirAll("workspace", 0o700)); err != nil {
		return err
	}
	records, err := i.rooms()
	if err != nil || i.mirrored() {
		return cmp.Or(err, i.id.MarkMirror(i.state.Custody))
	}
	key, err := proof.LoadKey(i.home.Dir)
	if err != nil {
		return err
	}
	held, err := agent.Hold(i.id, i.config())
	if err != nil {
		return err
	}
	received := event.Received{Custody: i.state.Custody, Key: key.Public()}
	if i.Restore { // nobody handed it over
		received.Custody++
	}
	return cmp.Or(held.Epoch("stop", nil, append(records, agent.Record{Event: received})...), held.Close())
}

// rooms subscribes the life to its rooms. Where there is a room of that name in which nothing is what it has heard,
// it hears what is said from now on; after a return, from where it left.
func (i *importer) rooms() (records []agent.Record, err error) {
	for _, room := range slices.Sorted(maps.Keys(i.state.Rooms)) {
		if r := i.state.Rooms[room]; !r.Joined {
			continue
		}
		if err := i.home.Subscribe(i.here, room); errors.Is(err, agent.ErrHear) {
			continue // where it comes from, a person has linked it
		} else if err != nil {
			return nil, err
		}
		path := chat.Path(i.home.Dir, room)
		b, err := chat.Read(path, i.state.Rooms[room].Cursor, 1<<20)
		_, total, at, terr := chat.Tail(path, 0)
		if err != nil || terr != nil {
			return nil, cmp.Or(err, terr)
		}
		if !b.Restarted || total == 0 || len(i.state.Owed().Calls) > 0 { // a note cannot come before the result of a call
			continue
		}
		text := fmt.Sprintf("Room %s is another one in the home where you are now. You hear what is said there from now on.", room)
		if i.was != nil && i.was.Rooms[room] != nil {
			at = i.was.Rooms[room].Cursor
			text = fmt.Sprintf("You are back in a home where you were before. You hear room %s from where you left it then.", room)
		}
		records = append(records, agent.Record{
			Event: event.Joined{N: i.state.Next + len(records), Room: room, First: &event.First{Inode: at.Inode, At: at.Offset, Before: at.Before, Last: at.Last, Total: total, End: at.Offset}},
			Texts: []agent.Text{{Gist: "joined room " + room, Data: []byte(text)}},
		})
	}
	return records, nil
}
