package hosts

import (
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

	mu      sync.Mutex // held over each use of the book
	writes  int        // since all files were written
	stamped string     // the stamp of that time
}

// Bridge returns the bridge of a name.
func (s *Cluster) Bridge(name string) *Bridge {
	return &Bridge{Cluster: s, Lost: make(chan error, 1), name: name}
}

// written is the head of a text of the book: the files that its parts were written into.
type written struct {
	Host  streams.Host `json:"host"`
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

// Begin brings the files of the bridge up to date, and has this host have it. The error is a *home.ElsewhereError where
// another host has it and is there.
func (b *Bridge) Begin() error {
	if err := b.connect(); err != nil {
		return err
	}
	ctx := b.untilEnd()
	if err := b.book().Pull(ctx, b.apply); err != nil {
		return err
	}
	last, err := b.book().Last(ctx)
	if err != nil {
		return err
	}
	if last != nil {
		var newest written
		if _, err := streams.Split(last, &newest); err != nil {
			return err
		}
		holder := newest.Host
		if holder.ID != b.Host.ID && !b.silent(ctx, holder.ID) {
			return b.elsewhere(holder.Label)
		}
	}
	return b.writeAll()
}

func (b *Bridge) elsewhere(host string) error {
	return &home.ElsewhereError{Identity: home.Identity{Name: "bridge " + b.name}, Host: host}
}

// apply writes into files here what another host has written into its own.
func (b *Bridge) apply(text []byte, _ bool) error {
	var w written
	parts, err := streams.Split(text, &w)
	if err != nil {
		return err
	}
	if w.Host.ID == b.Host.ID { // it was written here before, and the answer of the store was lost
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
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes++
	if b.writes > wholeEvery || b.stamp() != b.stamped {
		return b.writeAll()
	}
	return b.push(written{Files: []string{file}, At: at}, false, data)
}

// others are the files of a bridge that other processes write: they say who may speak, and where.
var others = []string{"people.json", "chats.json"}

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
		if errors.Is(err, fs.ErrNotExist) {
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

// push adds a text to the book. Where another host has the bridge, the error is a *home.ElsewhereError.
func (b *Bridge) push(w written, whole bool, parts ...[]byte) error {
	ctx := b.untilEnd()
	w.Host = b.Host
	text := streams.Join(w, parts...)
	if len(text) > streams.MaxText {
		large := blobs.Sum(text)
		if err := b.streams.PutLarge(ctx, b.book().Stream, large, text); err != nil {
			return err
		}
		text = streams.Join(written{Host: b.Host, Large: large})
	}
	err := b.book().Push(ctx, text, whole)
	if errors.Is(err, share.ErrTaken) && b.book().Pull(ctx, b.ours) == nil {
		err = b.book().Push(ctx, text, whole)
	}
	if !errors.Is(err, share.ErrTaken) {
		return err
	}
	err = b.elsewhere("another host")
	select {
	case b.Lost <- err:
	default: // it is known
	}
	return err
}

// ours returns an error unless this host wrote the text, and the answer of the store was lost.
func (b *Bridge) ours(text []byte, _ bool) error {
	var w written
	_, err := streams.Split(text, &w)
	if err == nil && w.Host.ID != b.Host.ID {
		err = b.elsewhere(w.Host.Label)
	}
	return err
}
