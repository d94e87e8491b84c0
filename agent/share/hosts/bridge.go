package hosts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"lethe/agent/home"
	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/internal/durable"
)

// Bridge shares the files of a bridge, as bridge.Shared: a book has all that is written into them. The host that wrote
// last has the bridge, and a host that begins writes every file.
type Bridge struct {
	*Cluster
	Lost chan error // gets the error when another host has the bridge
	name string
	ctx  context.Context // ends the wait for another host

	mu      sync.Mutex // held over each use of the book
	writes  int        // since all files were written
	stamped string     // the stamp of that time
	known   int        // the newest text of the book that this Bridge has seen
	begun   bool       // this Bridge had the bridge at that text
	changed bool       // a host has changed the list of people since the last look
}

// Bridge returns the bridge of a name. It waits for another host until ctx ends.
func (s *Cluster) Bridge(ctx context.Context, name string) *Bridge {
	return &Bridge{Cluster: s, Lost: make(chan error, 1), name: name, ctx: ctx}
}

// written is the head of a text of the book: the files that its parts were written into.
type written struct {
	Host  streams.Host `json:"host"`         // it has the bridge
	By    string       `json:"by,omitempty"` // the number of the host that changed the list of people, and nothing else
	Files []string     `json:"files,omitempty"`
	At    int64        `json:"at,omitempty"`   // where they are written, and end before; 0: all of each
	Large blobs.Hash   `json:"large,omitzero"` // of the whole text, where it is stored by itself
}

func (b *Bridge) dir() string { return filepath.Join(b.home.Dir, "bridges", b.name) }

func (b *Bridge) book() streams.Book {
	return streams.Book{
		Streams: b.streams, Stream: "bridges/" + b.name, File: filepath.Join(b.home.Dir, "share", "bridge-"+b.name),
	}
}

// Begin brings the files of the bridge up to date, and has this host have it. It waits while another host has it and is
// there. The error is a *home.ElsewhereError if the program ends before, or the host is drained.
func (b *Bridge) Begin() error {
	if err := b.connect(); err != nil {
		return err
	}
	for silent := b.Host.ID; ; { // another host may be as patient as this one
		holder, err := b.holder()
		if err != nil {
			return err
		}
		if holder.ID == "" || holder.ID == b.Host.ID || holder.ID == silent {
			break
		}
		if !b.silent(b.ctx, holder.ID, true) {
			return b.elsewhere(holder.Label)
		}
		silent = holder.ID
	}
	return b.alone(func() error {
		err := b.pull(b.apply)
		if err == nil {
			err = b.writeAll()
		}
		b.begun = err == nil
		return err
	})
}

// holder returns the host that has the bridge; the zero Host where no bridge has begun.
func (b *Bridge) holder() (streams.Host, error) {
	last, err := b.book().Last(b.untilEnd())
	if err != nil || last == nil {
		return streams.Host{}, err
	}
	var newest written
	_, err = streams.Split(last, &newest)
	return newest.Host, err
}

// alone runs f while no other process of this host, nor goroutine, uses the book.
func (b *Bridge) alone(f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	lock := durable.Lock(b.book().File + ".lock")
	defer lock.Close()
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	return f()
}

// pull calls apply with the texts of the book that are new.
func (b *Bridge) pull(apply func(text []byte, whole bool) error) error {
	err := b.book().Pull(b.untilEnd(), apply)
	if err == nil {
		b.known, err = b.book().Known()
	}
	return err
}

// Refresh brings the files of the bridge up to date. If this Bridge has begun and another host has the bridge by now,
// the error is a *home.ElsewhereError.
func (b *Bridge) Refresh() error {
	if err := b.connect(); err != nil {
		return err
	}
	return b.alone(func() error {
		if !b.begun {
			return b.pull(b.apply)
		}
		if err := b.still(); err != nil {
			return err
		}
		return b.pull(b.ours)
	})
}

// still returns a *home.ElsewhereError if a command of this host has read the book since this Bridge did, and another
// host has the bridge.
func (b *Bridge) still() error {
	newest, err := b.book().Known()
	if err != nil || newest == b.known {
		return err
	}
	holder, err := b.holder()
	if err == nil && holder.ID != b.Host.ID {
		err = b.lost(holder.Label)
	}
	return err
}

// Change brings the list of people up to date, and shares the list that do returns, whichever host has the bridge. That
// host takes in and sends nothing more before it has read it.
func (b *Bridge) Change(do func() ([]byte, error)) error {
	if err := b.connect(); err != nil {
		return err
	}
	return b.alone(func() error {
		for {
			if err := b.pull(b.apply); err != nil {
				return fmt.Errorf("nothing was changed: %w", err)
			}
			list, err := do()
			if err != nil {
				return err
			}
			err = b.changePeople(list)
			if !share.IsTaken(err) {
				return err
			}
		}
	})
}

// changePeople adds a list of people to the book, and then writes it here. The error is share.ErrTaken where another
// host was faster.
func (b *Bridge) changePeople(list []byte) error {
	holder, err := b.holder()
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	text, err := b.text(written{Host: holder, By: b.Host.ID, Files: []string{peopleFile}}, list)
	if err == nil {
		err = b.book().Add(b.untilEnd(), text)
	}
	if err == nil {
		err = b.pull(b.apply)
	}
	if share.IsAway(err) {
		err = fmt.Errorf("it is not known whether other hosts were told; repeat the command: %w", err)
	}
	return err
}

func (b *Bridge) elsewhere(host string) error {
	return &home.ElsewhereError{Identity: home.Identity{Name: "bridge " + b.name}, Host: host}
}

// lost says that another host has the bridge.
func (b *Bridge) lost(host string) error {
	err := b.elsewhere(host)
	select {
	case b.Lost <- err:
	default: // it is known
	}
	return err
}

// apply writes into files here what another host has written into its own.
func (b *Bridge) apply(text []byte, _ bool) error {
	var w written
	parts, err := streams.Split(text, &w)
	if err != nil {
		return err
	}
	b.changed = b.changed || w.By != ""
	if w.Host.ID == b.Host.ID && w.By == "" { // it was written here before, and the answer of the store was lost
		return nil
	}
	if !w.Large.IsZero() {
		whole, err := b.streams.Large(b.untilEnd(), b.book().Stream, w.Large)
		if err != nil {
			return err
		}
		if parts, err = streams.Split(whole, &w); err != nil {
			return err
		}
	}
	if len(parts) != len(w.Files) {
		return streams.ErrDamaged
	}
	for k, name := range w.Files {
		if err := b.place(name, parts[k], w.At); err != nil {
			return err
		}
	}
	return nil
}

// place writes into a file of the bridge: all of it where at is 0, else its end from there on.
func (b *Bridge) place(name string, data []byte, at int64) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("bridge %s: a host has written %q", b.name, name)
	}
	path := filepath.Join(b.dir(), name)
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if at == 0 {
		return durable.WriteFile(path, data, 0o600)
	}
	var later durable.Syncs
	if err := durable.WriteEnd(&later, path, at, data, 0o600); err != nil {
		return err
	}
	return later.Wait()
}

// wholeEvery is after how many writes all files are written anew.
const wholeEvery = 500

// Wrote is bridge.Shared's.
func (b *Bridge) Wrote(file string, data []byte, at int64) error {
	return b.alone(func() error {
		if err := b.still(); err != nil {
			return err
		}
		b.writes++
		if b.writes > wholeEvery || b.stamp() != b.stamped {
			return b.writeAll()
		}
		return b.push(written{Files: []string{file}, At: at}, false, data)
	})
}

const peopleFile = "people.json"

// others are the files of a bridge that other processes write: they say who may speak, and where.
var others = []string{peopleFile, "chats.json"}

// stamp is another one when one of the others was changed.
func (b *Bridge) stamp() (stamp string) {
	for _, name := range others {
		if fi, err := os.Stat(filepath.Join(b.dir(), name)); err == nil {
			stamp += fmt.Sprintln(name, fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return stamp
}

// writeAll pushes all files that the bridge must not forget.
func (b *Bridge) writeAll() error {
	stamp := b.stamp()
	peers, err := fs.Glob(os.DirFS(b.dir()), "peers/*.json")
	if err != nil {
		return err
	}
	var text written
	var all [][]byte
	for _, name := range slices.Concat(peers, []string{"inbox.jsonl"}, others) {
		data, err := os.ReadFile(filepath.Join(b.dir(), name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		text.Files, all = append(text.Files, name), append(all, data)
	}
	if err := b.push(text, true, all...); err != nil {
		return err
	}
	b.writes, b.stamped = 0, stamp
	return nil
}

// text returns a text of the book.
func (b *Bridge) text(w written, parts ...[]byte) ([]byte, error) {
	text := streams.Join(w, parts...)
	if len(text) <= streams.MaxText {
		return text, nil
	}
	large := blobs.Sum(text)
	short := streams.Join(written{Host: w.Host, By: w.By, Large: large})
	return short, b.streams.PutLarge(b.untilEnd(), b.book().Stream, large, text)
}

// errPeople says that the list of people has changed: what it decided is to be decided again.
var errPeople = errors.New("another host has changed who may speak; it is looked at again")

// push adds a text to the book. Where another host has the bridge, the error is a *home.ElsewhereError.
func (b *Bridge) push(w written, whole bool, parts ...[]byte) error {
	w.Host = b.Host
	text, err := b.text(w, parts...)
	if err != nil {
		return err
	}
	err = b.book().Push(b.untilEnd(), text, whole)
	if share.IsTaken(err) {
		b.changed = false
		if err := b.pull(b.ours); err != nil {
			return err
		}
		if b.changed {
			return errPeople
		}
		err = b.book().Push(b.untilEnd(), text, whole)
	}
	if share.IsTaken(err) {
		return b.lost("another host")
	}
	if err == nil {
		b.known, err = b.book().Known()
	}
	return err
}

// ours is apply for the host that has the bridge: it returns an error where another one has it by now.
func (b *Bridge) ours(text []byte, whole bool) error {
	var w written
	if _, err := streams.Split(text, &w); err != nil {
		return err
	}
	if w.Host.ID != b.Host.ID {
		return b.lost(w.Host.Label)
	}
	return b.apply(text, whole)
}
