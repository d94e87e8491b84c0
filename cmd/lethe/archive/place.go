package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind/audience"
)

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
