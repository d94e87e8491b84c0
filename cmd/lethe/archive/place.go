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

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/cmd/lethe/check"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
	"lethe/mind/audience"
)

// ReadOptions say what becomes of the life.
type ReadOptions struct {
	Name    string // instead of its own
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

	Hired string // what people hired it for, or ""
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

	was   *mind.State     // of the life that is here; may be nil
	lives bool            // here
	seal  life.Checkpoint // its newest
	had   bool            // it has the lines of the archive
}

// Read takes in an archive. It refuses one that is damaged or contradicts the home, and leaves nothing of it.
func Read(in io.Reader, h home.Home, store *blobs.Store, o ReadOptions) (got Result, err error) {
	i := &importer{ReadOptions: o, home: h, store: store}
	dir := filepath.Join(h.Agents(), ".tmp-import")
	lock := flock.New(h.Blobs(), flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	free, err := lock.TryLock()
	if err != nil {
		return got, err
	}
	if !free {
		return got, ErrImporting
	}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			err = fmt.Errorf("import: %w", err)
		}
	}()
	if err := os.RemoveAll(dir); err != nil { // what a killed import left
		return got, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return got, err
	}
	i.dir, err = os.OpenRoot(dir)
	if err != nil {
		return got, err
	}
	defer i.dir.Close()
	if err := damaged(i.unpack(in)); err != nil {
		return got, err
	}
	return i.take()
}

// take gives a place to the unpacked life, unless it is damaged or contradicts the home.
func (i *importer) take() (got Result, err error) {
	name := cmp.Or(i.ReadOptions.Name, i.Manifest.Name)
	if err := home.CheckName(name); err != nil {
		return got, err
	}
	dir := i.dir.Name()
	i.id = home.Identity{Self: i.Self, Name: name, Dir: dir}
	i.here = i.home.Identity(i.Self, name)
	i.staged, err = blobs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return got, err
	}
	held, err := i.meet()
	if held != nil {
		defer held.Close()
	}
	if err != nil {
		return got, err
	}
	verdict, err := i.check()
	if err != nil {
		return got, err
	}
	known := i.lives && i.isRepeated()
	got = Result{Manifest: i.Manifest, Identity: i.here, Verdict: verdict, Mirror: i.mirrored(), Known: known}
	if known {
		return got, nil
	}
	if i.lives {
		return got, fmt.Errorf("%s is here already, and lives here", i.here.Name)
	}
	if err := i.rehire(&got); err != nil {
		return got, err
	}
	return got, i.place()
}

// rehire has a life that was hired run with its role of this home, whatever came; where there is none, with what came, which
// only narrows, but for the model. A hired.toml that cannot be read stays: the life cannot run with it.
func (i *importer) rehire(got *Result) error {
	work, err := i.id.Hired()
	if work == nil || err != nil {
		return nil
	}
	role, err := config.ReadRole(i.home, work.Role)
	got.Hired = work.String()
	switch {
	case errors.Is(err, home.ErrNotFound):
		got.Hired += ", with the tools and dollars that came with it, since this home has no such role"
		work.With.Model = ""
		for _, usd := range []*float64{&work.With.Day, &work.With.Month} {
			if sane := *usd > 0 && *usd < 1e9; !sane { // what [hire] allows is their sum
				*usd = 0
			}
		}
	case err != nil:
		return err
	default:
		work.With = role.Role
	}
	return i.id.SetHired(*work)
}

// isRepeated reports whether the life came here with this archive before.
func (i *importer) isRepeated() bool {
	goesOn := i.had && !i.mirrored()
	return goesOn && i.state.Custody == i.was.Custody
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
	verdict, err := check.Verify(i.here, i.store, check.VerifyOptions{Against: &theirs})
	i.seal, i.had = verdict.Checkpoint, verdict.Fault == nil
	return held, err
}

// checkpoint is the newest seal of its LIFE, as the archive says.
func (i *importer) checkpoint() string {
	text, _ := i.dir.ReadFile("CHECKPOINT")
	return string(text)
}

// mirrored reports whether the life will go on elsewhere.
func (i *importer) mirrored() bool { return !i.Restore && i.Kind != Move }

// check finds out whether the unpacked files are a life, and continue the life that is here.
func (i *importer) check() (verdict check.Verdict, err error) {
	var o check.VerifyOptions
	if i.was != nil && !i.lives {
		o.Against = &i.seal
	}
	verdict, err = check.Verify(i.id, i.staged, o)
	isOlder := verdict.Fault != nil && verdict.Sealed < i.seal.Size
	if o.Against != nil && isOlder {
		const older = "%s is here already, and the archive is older: it is sealed over %d lines, here %d are"
		return verdict, fmt.Errorf(older,
			i.here.Name, verdict.Sealed, i.seal.Size)
	}
	if err != nil {
		return verdict, damaged(err)
	}
	if verdict.Fault != nil {
		return verdict, damaged(verdict.Fault)
	}
	i.state, err = home.Fold(i.id, i.staged)
	if err != nil {
		return verdict, damaged(err)
	}
	endsSealed := verdict.Unsealed == 0 && verdict.Torn == 0
	agrees := i.checkpoint() == verdict.Checkpoint.String()
	handedOver := i.Kind != Move || i.state.Moved
	isWhole := endsSealed && agrees
	if !isWhole || !handedOver {
		return verdict, damaged(errors.New("its MANIFEST, CHECKPOINT and LIFE do not agree"))
	}
	return verdict, nil
}

// place gives what was unpacked its place: the blobs, then the files of the life, and LIFE last. Until then there is no
// such life, or it is as it was, and the same archive can be imported again.
func (i *importer) place() error {
	err := i.move()
	if err == nil {
		return nil
	}
	if _, there := os.Lstat(i.here.LIFE()); errors.Is(there, fs.ErrNotExist) {
		err = errors.Join(err, os.RemoveAll(i.here.Dir))
	}
	return err
}

// move is place, which removes the remains after an error.
func (i *importer) move() error {
	fresh, err := i.sort()
	if err != nil {
		return err
	}
	if err := durable.SyncAll(i.id.Dir); err != nil {
		return err
	}
	for _, hash := range fresh {
		if err := os.MkdirAll(filepath.Dir(i.store.Path(hash)), 0o700); err != nil {
			return err
		}
		if err := durable.Rename(i.staged.Path(hash), i.store.Path(hash)); err != nil {
			return err
		}
	}
	if err := i.finish(); err != nil {
		return err
	}
	if err := i.moveFiles(); err != nil {
		return err
	}
	if err := durable.SyncAll(i.home.Blobs()); err != nil {
		return err
	}
	if err := durable.SyncAll(i.here.Dir); err != nil {
		return err
	}
	if err := durable.Rename(i.id.LIFE(), i.here.LIFE()); err != nil {
		return err
	}
	if err := durable.SyncDir(i.here.Dir); err != nil {
		return err
	}
	if err := i.home.Link(i.here); err != nil {
		return err
	}
	if i.mirrored() {
		return nil
	}
	return i.here.UnmarkMirror()
}

// moveFiles moves the files of the life, except LIFE, in place of its files here.
func (i *importer) moveFiles() error {
	for _, old := range []string{"triggers", "context.md"} {
		if err := os.RemoveAll(filepath.Join(i.here.Dir, old)); err != nil {
			return err
		}
	}
	return fs.WalkDir(i.dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		here := filepath.Join(i.here.Dir, path)
		switch {
		case err != nil:
			return err
		case path == "LIFE.md", path == "lock":
			return nil
		case path == "blobs":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(here, 0o700)
		}
		return durable.Rename(filepath.Join(i.id.Dir, path), here)
	})
}

// sort finds the blobs that are not here yet. The others stay, except a text that the same life has erased
// elsewhere.
func (i *importer) sort() (fresh []blobs.Hash, err error) {
	var erased []blobs.Blob
	isOurs := func(b blobs.Blob) bool { return i.was != nil && b.Life == i.Self }
	err = i.staged.Each(func(hash blobs.Hash) error {
		got, err := i.staged.Get(hash)
		if err != nil {
			return damaged(err)
		}
		is, err := i.store.Get(hash)
		switch {
		case errors.Is(err, blobs.ErrNotFound):
			fresh = append(fresh, hash)
			return nil
		case err != nil || sameTombstone(got.Gone, is.Gone):
			return err
		case got.Gone != nil && isOurs(is):
			erased = append(erased, got)
			return nil
		}
		const one = "blob %s was erased in the archive or in this home, and not in both: erase it in both first"
		return fmt.Errorf(one, hash)
	})
	if err != nil {
		return nil, err
	}
	for _, b := range erased { // now nothing is refused
		if _, err := i.store.Bury(*b.Gone, b.Meta, b.Body); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

func sameTombstone(a, b *blobs.Tombstone) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// finish makes the files of a life that an archive does not have, and records that the life goes on here. It is a step
// of place.
func (i *importer) finish() error {
	if err := i.id.RestoreSoul(i.store); err != nil {
		return err
	}
	if err := i.dir.Remove("CHECKPOINT"); err != nil {
		return err
	}
	if err := i.dir.MkdirAll("workspace", 0o700); err != nil {
		return err
	}
	records, err := i.rooms()
	if err != nil {
		return err
	}
	if i.mirrored() {
		return i.id.MarkMirror(i.state.Custody)
	}
	return i.receive(records)
}

// receive records that the life goes on here, with what was said to it about its rooms.
func (i *importer) receive(records []journal.Record) error {
	key, err := life.LoadKey(i.home.Dir)
	if err != nil {
		return err
	}
	held, err := journal.HoldMoved(i.home, i.id, i.store)
	if err != nil {
		return err
	}
	received := event.Received{Custody: i.state.Custody, Key: key.Public()}
	if i.Restore { // nobody handed it over
		received.Custody++
	}
	err = held.Epoch("stop", nil, append(records, journal.Record{Event: received})...)
	closed := held.Close()
	if err != nil {
		return err
	}
	return closed
}

// rooms subscribes the life to its rooms. In another room of the same name, it hears what is said from now on; after a
// return, from the place where it left.
func (i *importer) rooms() (records []journal.Record, err error) {
	for _, room := range slices.Sorted(maps.Keys(i.state.Rooms)) {
		is, path := i.state.Rooms[room], chat.Path(i.home.Dir, room)
		if !is.Joined {
			continue
		}
		_, missing := os.Stat(path)
		readers := i.home.Readers(room)
		isHere := missing == nil || readers != nil
		if isHere && !audience.Same(readers, is.Readers) {
			continue // other people read it
		}
		err := chat.KeepReaders(i.home.Dir, room, is.Readers) // before anybody says something there
		if err == nil {
			err = i.home.Subscribe(i.here, room)
		}
		if errors.Is(err, home.ErrHear) {
			continue // where it comes from, a person has linked it
		}
		if err != nil {
			return nil, err
		}
		b, err := chat.Read(path, is.Cursor, 1<<20)
		if err != nil {
			return nil, err
		}
		_, total, at, err := chat.Tail(path, 0)
		if err != nil {
			return nil, err
		}
		isOther := b.Restarted && total > 0
		inCall := len(i.state.Owed().Calls) > 0 // a note cannot come before its result
		if !isOther || inCall {
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
	return records, nil
}
