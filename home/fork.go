package home

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"lethe"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// fork is what a new identity begins with that has the mind of another one.
type fork struct {
	Then
	of     Identity
	moment event.Moment
	files  map[string]string // the own ones
	today  []string          // those of them that are not as they were at the moment
}

// Fork boots a new identity with the mind that another one had at a moment. It shares the blobs of its
// ancestor up to then, hears the rooms of o and owes nothing. The ancestor may be running, moved, or a
// mirror. today names the ancestor's own files that the fork has as they are now, since
// how they were then is not known.
func Fork(
	home Home,
	store *blobs.Store,
	of Identity,
	then Then,
	o BootOptions,
) (id Identity, today []string, err error) {
	if _, err := home.Find(o.Name); err == nil { // also one whose boot was cut short before its name
		return id, nil, fmt.Errorf("fork %s as %s: %w", of.Name, o.Name, ErrExists)
	}
	f := &fork{Then: then, of: of, files: map[string]string{}}
	if f.moment, err = of.LineAt(f.End); err != nil {
		return id, nil, err
	}
	self, err := blobs.ParseHash(of.Self)
	if err != nil {
		return id, nil, err
	}
	soul, err := store.Get(self)
	if err != nil {
		return id, nil, ReadError(err)
	}
	if err := f.readOwn(); err != nil {
		return id, nil, err
	}
	if err := durable.SyncAll(home.Dir); err != nil { // the ancestor may have written the moment just now
		return id, nil, err
	}
	o.Soul, o.fork = string(soul.Body), f
	id, err = Boot(home, store, o)
	return id, f.today, err
}

// readOwn finds the own files as they were at the moment: as they are today, or, of MEMORY, as the context began
// with it.
func (f *fork) readOwn() error {
	quiet := slog.New(slog.DiscardHandler)
	for _, name := range Editable {
		now, err := f.of.ReadOwn(name, quiet)
		if err != nil {
			return err
		}
		then, memory := string(now), f.Stable.Memory()
		for _, text := range []string{memory, memory + "\n"} {
			if name == MemoryFile && Digest([]byte(text)) == f.Files[name] {
				then = text
			}
		}
		if f.files[name] = then; Digest([]byte(then)) != f.Files[name] {
			f.today = append(f.today, name)
		}
	}
	return nil
}

// write makes the LIFE of a fork: its boot, the mind that it begins with, and a note. It is there whole, or the
// fork never was.
func (f *fork) write(id Identity, store *blobs.Store, boot life.Event, o BootOptions) error {
	parent, err := blobs.ParseHash(id.Self)
	if err != nil {
		return err
	}
	files := map[string]string{}
	for name, text := range f.files {
		files[name] = Digest([]byte(text))
	}
	state := f.Fork(parent, id.Name, lethe.Version, f.At, files)
	snapshot, err := state.Snapshot()
	if err != nil {
		return err
	}
	lines := []life.Event{boot}
	for _, r := range []struct {
		event event.Event
		gist  string
		data  []byte
	}{
		{event.Epoch{Why: "fork"}, fmt.Sprintf("epoch 0 of %s (fork)", id.Name), snapshot},
		{event.Note{N: state.Next, Why: "fork"}, "forked from " + f.of.Name, f.note(id, o.Rooms)},
	} {
		if parent, err = store.Put(blobs.Meta{At: boot.At, Gist: r.gist, Life: id.Self, Parent: parent}, r.data); err != nil {
			return err
		}
		lines = append(lines, event.Line(boot.At, r.event, blobs.Ref{Hash: store.Short(parent), Gist: r.gist}))
	}
	const unborn = "LIFE.new"
	log, err := life.Create(filepath.Join(id.Dir, unborn))
	if err != nil {
		return err
	}
	if err := errors.Join(log.Append(lines...), log.Close()); err != nil {
		return err
	}
	dir, err := os.OpenRoot(id.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return durable.Move(dir, unborn, filepath.Base(id.LIFE()))
}

//go:embed forked.md
var forked string

// note tells the fork what it is.
func (f *fork) note(id Identity, rooms []string) []byte {
	hears := "You hear no room, whatever stands above, until you JOIN one or people let you hear one."
	if len(rooms) > 0 {
		hears = fmt.Sprintf(
			"You hear these rooms and no others: %s. Lines there that are signed %s are not yours.",
			strings.Join(rooms, ", "),
			f.of.Name,
		)
	}
	files := "self/MEMORY.md is a copy of your own."
	if len(f.today) > 0 {
		files += fmt.Sprintf(
			" Of %s it is not known how it was then: you have it as it is today, which may be later than what stands above.",
			strings.Join(f.today, " and "),
		)
	}
	fill := strings.NewReplacer(
		"{{name}}", id.Name, "{{of}}", f.of.Name, "{{entry}}", mind.EntryID(f.Next-1),
		"{{time}}", f.At.UTC().Format("2006-01-02 15:04"), "{{rooms}}", hears, "{{files}}", files,
	)
	return []byte(fill.Replace(forked))
}
