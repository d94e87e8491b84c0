package home

import (
	_ "embed"
	"fmt"
	"log/slog"
	"strings"

	"lethe"
	"lethe/blobs"
	"lethe/internal/durable"
	"lethe/life"
	"lethe/life/event"
	"lethe/mind"
)

// fork is the beginning of a new identity that has the mind of another one.
type fork struct {
	Then
	of     Identity
	moment event.Moment
	texts  []mind.Text // the own files
	today  []string    // own files that have changed since the moment
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
	f := &fork{Then: then, of: of}
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
	for _, room := range o.Rooms {
		if !f.Witnesses().MayRead(home.Readers(room)) {
			return id, nil, of.Refused(room)
		}
	}
	o.Soul, o.fork = string(soul.Body), f
	id, err = Boot(home, store, o)
	return id, f.today, err
}

// readOwn finds the own files as they were at the moment: as they are today, or, of MEMORY, as the context began
// with it.
func (f *fork) readOwn() error {
	texts, err := f.of.Texts(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	memory := f.Stable.Memory()
	for _, text := range []string{memory, memory + "\n"} {
		if began := (mind.Text{Name: MemoryFile, Body: []byte(text)}); f.Knows(began) {
			texts[0] = began
		}
	}
	for _, t := range texts {
		if !f.Knows(t) {
			f.today = append(f.today, t.Name)
		}
	}
	f.texts = texts
	return nil
}

// begin returns the first lines of a fork: its boot, the mind that it begins with, and a note.
func (f *fork) begin(id Identity, store *blobs.Store, boot life.Event, rooms []string) ([]life.Event, error) {
	parent, err := blobs.ParseHash(id.Self)
	if err != nil {
		return nil, err
	}
	state := f.Fork(parent, id.Name, lethe.Version, f.At, f.texts)
	snapshot, err := state.Snapshot()
	if err != nil {
		return nil, err
	}
	lines := []life.Event{boot}
	for _, r := range []struct {
		event event.Event
		gist  string
		data  []byte
	}{
		{event.Epoch{Why: "fork"}, fmt.Sprintf("epoch 0 of %s (fork)", id.Name), snapshot},
		{event.Note{N: state.Next, Why: "fork"}, "forked from " + f.of.Name, f.note(id, rooms)},
	} {
		if parent, err = store.Put(blobs.Meta{At: boot.At, Gist: r.gist, Life: id.Self, Parent: parent}, r.data); err != nil {
			return nil, err
		}
		lines = append(lines, event.Line(boot.At, r.event, blobs.Ref{Hash: store.Short(parent), Gist: r.gist}))
	}
	return lines, nil
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
