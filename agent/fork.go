package agent

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lethe"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/internal/secret"
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
func Fork(home Home, store *blobs.Store, of Identity, m Moment, o BootOptions) (id Identity, today []string, err error) {
	if _, err := home.Find(o.Name); err == nil { // also one whose boot was cut short before its name
		return id, nil, fmt.Errorf("fork %s as %s: %w", of.Name, o.Name, ErrExists)
	}
	f := &fork{of: of, files: map[string]string{}}
	if f.Then, err = At(of, store, m); err != nil {
		return id, nil, err
	}
	if f.moment, err = of.lineAt(f.End); err != nil {
		return id, nil, err
	}
	self, err := blobs.ParseHash(of.Self)
	if err != nil {
		return id, nil, err
	}
	soul, err := store.Get(self)
	if err != nil {
		return id, nil, notFoundOrCorrupt(err)
	}
	for _, name := range editable {
		if err := f.read(name); err != nil {
			return id, nil, err
		}
	}
	o.Soul, o.fork = string(soul.Body), f
	id, err = Boot(home, store, o)
	return id, f.today, err
}

// read finds an own file as it was at the moment: as it is today, or, of MEMORY, as the context began with it.
func (f *fork) read(name string) error {
	now, _, err := durable.ReadRegular(filepath.Join(f.of.Dir, name), maxOwn)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, durable.ErrNotRegular) {
		return err
	}
	texts := []string{string(secret.Bytes(now))}
	if name == memoryFile {
		texts = append(texts, f.Stable.Memory(), f.Stable.Memory()+"\n")
	}
	for _, f.files[name] = range texts {
		if digest([]byte(f.files[name])) == f.Files[name] {
			return nil
		}
	}
	f.files[name], f.today = texts[0], append(f.today, name)
	return nil
}

// write makes the LIFE of a fork: its boot, the mind that it begins with, and a note. It is there whole, or the
// fork never was.
func (f *fork) write(id Identity, store *blobs.Store, boot life.Event, o BootOptions) error {
	parent, err := blobs.ParseHash(id.Self)
	if err != nil {
		return err
	}
	state := f.Fork(parent, id.Name, lethe.Version, f.At)
	for name, text := range f.files {
		state.Files[name] = digest([]byte(text))
	}
	snapshot, err := state.Snapshot()
	if err != nil {
		return err
	}
	lines := []life.Event{boot}
	for _, r := range []record{
		{event: event.Epoch{Why: "fork"}, bodies: []body{{fmt.Sprintf("epoch 0 of %s (fork)", id.Name), snapshot}}},
		{event: event.Note{N: state.Next, Why: "fork"}, bodies: []body{{"forked from " + f.of.Name, f.note(id, o.Rooms)}}},
	} {
		b := r.bodies[0]
		if parent, err = store.Put(blobs.Meta{At: boot.At, Gist: b.gist, Life: id.Self, Parent: parent}, b.data); err != nil {
			return err
		}
		lines = append(lines, event.Line(boot.At, r.event, blobs.Ref{Hash: store.Short(parent), Gist: b.gist}))
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
		hears = fmt.Sprintf("You hear these rooms and no others: %s. Lines there that are signed %s are not yours.", strings.Join(rooms, ", "), f.of.Name)
	}
	files := "self/MEMORY.md is a copy of your own."
	if len(f.today) > 0 {
		files += fmt.Sprintf(" Of %s it is not known how it was then: you have it as it is today, which may be later than what stands above.", strings.Join(f.today, " and "))
	}
	return []byte(strings.NewReplacer("{{name}}", id.Name, "{{of}}", f.of.Name, "{{entry}}", mind.EntryID(f.Next-1), "{{time}}", f.At.UTC().Format("2006-01-02 15:04"),
		"{{rooms}}", hears, "{{files}}", files).Replace(forked))
}
