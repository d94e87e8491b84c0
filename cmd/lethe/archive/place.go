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

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/check"
	"lethe/internal/durable"
	"lethe/internal/must"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// ReadOptions say what becomes of the life.
type ReadOptions struct {
	Name    string // instead of the one that it has
	Restore bool   // it goes on here, since it does nowhere else
	Keys    []byte // a file of age identities
}

// Result describes the life that was taken in.
type Result struct {
	Manifest
	Identity home.Identity
	Verdict  check.Verdict
	Mirror   bool // the life goes on elsewhere
	Known    bool // the life came here with this archive before: nothing was changed
}

// ErrImporting says that another process imports into this home, or moves away what nothing refers to.
var ErrImporting = errors.New("another import, or gc, is under way")

// importer takes in one archive.
type importer struct {
	Manifest
	ReadOptions
	home   home.Home
	store  *blobs.Store
	dir    *os.Root // where the life waits until it is whole and checked
	id     home.Identity
	staged *blobs.Store // in dir
	state  *mind.State
	here   home.Identity // where the life will be

	was   *mind.State     // of the life that is here; nil if there is none
	lives bool            // here
	seal  life.Checkpoint // its newest
	had   bool            // it has the lines of the archive
}

// Read takes in an archive. What is damaged, or does not fit to what is here, is refused, and nothing is left of it.
func Read(in io.Reader, h home.Home, store *blobs.Store, o ReadOptions) (got Result, err error) {
	i := &importer{ReadOptions: o, home: h, store: store}
	dir := filepath.Join(h.Agents(), ".tmp-import")
	lock := flock.New(h.Blobs(), flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	if free, err := lock.TryLock(); err != nil || !free {
		return got, cmp.Or(err, ErrImporting)
	}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			err = fmt.Errorf("import: %w", err)
		}
	}()
	err = must.Run(func() {
		must.Do(os.RemoveAll(dir)) // what a killed import left
		must.Do(os.Mkdir(dir, 0o700))
		i.dir = must.Get(os.OpenRoot(dir))
		defer i.dir.Close()
		must.Do(damaged(i.unpack(in)))
		name := cmp.Or(o.Name, i.Manifest.Name)
		must.Do(home.CheckName(name))
		i.id = home.Identity{Self: i.Self, Name: name, Dir: dir}
		i.here = home.Identity{Self: i.Self, Name: name, Dir: filepath.Join(h.Agents(), i.Self)}
		i.staged = must.Get(blobs.Open(filepath.Join(dir, "blobs")))
		held, err := i.meet()
		if held != nil {
			defer held.Close()
		}
		must.Do(err)
		v := must.Get(i.check())
		known := i.lives && i.had && !i.mirrored() && i.state.Custody == i.was.Custody
		if got = (Result{i.Manifest, i.here, v, i.mirrored(), known}); known {
			return
		}
		if i.lives {
			must.Do(fmt.Errorf("%s is here already, and lives here", i.here.Name))
		}
		must.Do(i.place())
	})
	return got, err
}

// meet holds the life that is here already, if it is. What is taken in has to go on from there.
func (i *importer) meet() (*journal.Journal, error) {
	is, err := i.home.Find(i.Self)
	if _, there := os.Lstat(i.here.LIFE()); there != nil {
		other, err := i.home.Find(i.here.Name)
		if err == nil && other.Name == i.here.Name {
			return nil, fmt.Errorf("%s: %w", other.Name, home.ErrExists)
		}
		return nil, nil
	}
	if err == nil {
		_, err := os.Lstat(filepath.Join(i.home.Names(), is.Name))
		if err == nil { // a kill can leave it without a name
			i.here.Name, i.id.Name = is.Name, is.Name
		}
	}
	held, err := journal.HoldMoved(i.home, i.here, i.store)
	if err != nil {
		return nil, err
	}
	i.was = held.State
	i.lives = i.here.Elsewhere(i.was) == nil
	theirs, _ := life.ParseCheckpoint(i.checkpoint())
	v, err := check.Verify(i.here, i.store, check.VerifyOptions{Against: &theirs})
	i.seal, i.had = v.Checkpoint, v.Fault == nil
	return held, err
}

// checkpoint is what the archive says that the newest seal of its LIFE is.
func (i *importer) checkpoint() string {
	text, _ := i.dir.ReadFile("CHECKPOINT")
	return string(text)
}

// mirrored reports whether the life will go on elsewhere.
func (i *importer) mirrored() bool { return !i.Restore && i.Kind != Move }

// check finds out whether what was unpacked is a life, and goes on from the one that is here.
func (i *importer) check() (v check.Verdict, err error) {
	var o check.VerifyOptions
	if i.was != nil && !i.lives {
		o.Against = &i.seal
	}
	v, err = check.Verify(i.id, i.staged, o)
	if o.Against != nil && v.Fault != nil && v.Sealed < i.seal.Size {
		return v, fmt.Errorf("%s is here already, and the archive is older: it is sealed over %d lines, here %d are",
			i.here.Name, v.Sealed, i.seal.Size)
	}
	if err = cmp.Or(err, v.Fault); err == nil {
		i.state, err = home.Fold(i.id, i.staged)
	}
	whole := v.Unsealed == 0 && v.Torn == 0 && i.checkpoint() == v.Checkpoint.String()
	if err == nil && (!whole || i.Kind == Move && !i.state.Moved) {
		err = errors.New("its MANIFEST, CHECKPOINT and LIFE do not agree")
	}
	if err != nil {
		err = damaged(err)
	}
	return v, err
}

// place gives what was unpacked its place: the blobs, then the files of the life, and LIFE last. Until then there is no
// such life, or it is what it was, and the same archive can be imported again.
func (i *importer) place() error {
	here := func(path string) string { return filepath.Join(i.here.Dir, path) }
	err := must.Run(func() {
		fresh := must.Get(i.sort())
		must.Do(durable.SyncAll(i.id.Dir))
		for _, h := range fresh {
			must.Do(os.MkdirAll(filepath.Dir(i.store.Path(h)), 0o700))
			must.Do(durable.Rename(i.staged.Path(h), i.store.Path(h)))
		}
		i.finish()
		must.Do(os.RemoveAll(here("triggers")))
		must.Do(os.RemoveAll(here("context.md")))
		must.Do(fs.WalkDir(i.dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || path == "LIFE.md" || path == "lock":
				return err
			case path == "blobs":
				return fs.SkipDir
			case d.IsDir():
				return os.MkdirAll(here(path), 0o700)
			}
			return durable.Rename(filepath.Join(i.id.Dir, path), here(path))
		}))
		must.Do(durable.SyncAll(i.home.Blobs()))
		must.Do(durable.SyncAll(i.here.Dir))
		must.Do(durable.Rename(i.id.LIFE(), i.here.LIFE()))
		must.Do(durable.SyncDir(i.here.Dir))
		must.Do(i.home.Link(i.here))
		if !i.mirrored() {
			must.Do(durable.Remove(here("mirror")))
		}
	})
	if _, lerr := os.Lstat(i.here.LIFE()); err != nil && errors.Is(lerr, fs.ErrNotExist) {
		err = errors.Join(err, os.RemoveAll(i.here.Dir))
	}
	return err
}

// sort finds the blobs that are not here yet. What is here stays, but for a text that the same life has erased
// elsewhere.
func (i *importer) sort() (fresh []blobs.Hash, err error) {
	var erased []blobs.Blob
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
		case err != nil || sameTombstone(got.Gone, is.Gone):
			return err
		case got.Gone != nil && i.was != nil && is.Life == i.Self:
			erased = append(erased, got)
			return nil
		}
		return fmt.Errorf("blob %s was erased in the archive or in this home, and not in both: erase it in both first", h)
	})
	for _, b := range erased { // once nothing is refused any more
		if err == nil {
			_, err = i.store.Bury(*b.Gone, b.Meta, b.Body)
		}
	}
	return fresh, err
}

func sameTombstone(a, b *blobs.Tombstone) bool { return a == b || a != nil && b != nil && *a == *b }

// finish makes what an archive does not have of the files of a life, and records that it goes on here. It is a step of
// place.
func (i *importer) finish() {
	boot := must.Get(i.store.Get(must.Get(blobs.ParseHash(i.Self))))
	must.Do(i.dir.WriteFile("SOUL.md", boot.Body, 0o400))
	must.Do(i.dir.Remove("CHECKPOINT"))
	must.Do(i.dir.MkdirAll("workspace", 0o700))
	records := i.rooms()
	if i.mirrored() {
		must.Do(i.id.MarkMirror(i.state.Custody))
		return
	}
	key := must.Get(life.LoadKey(i.home.Dir))
	held := must.Get(journal.HoldMoved(i.home, i.id, i.store))
	received := event.Received{Custody: i.state.Custody, Key: key.Public()}
	if i.Restore { // nobody handed it over
		received.Custody++
	}
	must.Do(cmp.Or(held.Epoch("stop", nil, append(records, journal.Record{Event: received})...), held.Close()))
}

// rooms subscribes the life to its rooms. In another room of the same name, it hears what is said from now on; after a
// return, from where it left.
func (i *importer) rooms() (records []journal.Record) {
	for _, room := range slices.Sorted(maps.Keys(i.state.Rooms)) {
		is, path := i.state.Rooms[room], chat.Path(i.home.Dir, room)
		if !is.Joined {
			continue
		}
		err := i.home.Subscribe(i.here, room)
		if errors.Is(err, home.ErrHear) {
			continue // where it comes from, a person has linked it
		}
		must.Do(err)
		b := must.Get(chat.Read(path, is.Cursor, 1<<20))
		_, total, at, err := chat.Tail(path, 0)
		must.Do(err)
		if !b.Restarted || total == 0 || len(i.state.Owed().Calls) > 0 { // a note cannot come before the result of a call
			continue
		}
		text := fmt.Sprintf("Room %s is another one in the home where you are now. "+
			"You hear what is said there from now on.", room)
		if i.was != nil && i.was.Rooms[room] != nil {
			at = i.was.Rooms[room].Cursor
			text = fmt.Sprintf("You are back in a home where you were before. "+
				"You hear room %s from where you left it then.", room)
		}
		first := event.FirstAt(at, total)
		first.End = at.Offset
		records = append(records, journal.Told(event.Joined{Room: room, First: first}, "joined room "+room, text))
	}
	return records
}
