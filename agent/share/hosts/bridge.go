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

// Bridge is what a bridge shares: a book of what is written into its files. Who wrote last has the bridge, and whoever
// begins says so by a text of its own. It is bridge.Shared.
type Bridge struct {
	*Shared
	Lost chan error // gets the error when another host has the bridge
	name string

	mu      sync.Mutex // held over each use of the book
	writes  int        // since all files were written
	stamped string     // what files looked like then that other processes write
}

// Bridge returns what a bridge of the home shares.
func (s *Shared) Bridge(name string) *Bridge {
	return &Bridge{Shared: s, Lost: make(chan error, 1), name: name}
}

// written is the head of a text of the book: which files what stands behind it was written into.
type written struct {
	Host  streams.Host `json:"host"`
	Files []string     `json:"files,omitempty"`
	At    int64        `json:"at,omitempty"`   // where they are written; what was there behind is gone
	Large blobs.Hash   `json:"large,omitzero"` // of the whole text, where it is stored by itself
}

func (b *Bridge) dir() string { return filepath.Join(b.home.Dir, "bridges", b.name) }

func (b *Bridge) book() streams.Book {
	return streams.Book{
		Streams: b.lives.Streams, Stream: "bridges/" + b.name, File: filepath.Join(b.home.Dir, "share", "bridge-"+b.name),
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
	var holder written
	if err == nil && last != nil {
		_, err = streams.Split(last, &holder)
	}
	if err != nil {
		return err
	}
	held := holder.Host.ID != "" && holder.Host.ID != b.Host.ID
	if held && !b.silent(ctx, holder.Host.ID) {
		return b.elsewhere(holder.Host.Label)
	}
	return b.writeAll()
}

func (b *Bridge) elsewhere(host string) error {
	return &home.ElsewhereError{Identity: home.Identity{Name: "bridge " + b.name}, Host: host}
}

// apply brings what another host has written to this disk.
func (b *Bridge) apply(text []byte, _ bool) error {
	var w written
	parts, err := streams.Split(text, &w)
	if err != nil {
		return err
	}
	if w.Host.ID == b.Host.ID { // an answer was lost: it was written here before
		return nil
	}
	if !w.Large.IsZero() {
		whole, err := b.lives.Streams.Large(b.untilEnd(), b.book().Stream, w.Large)
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

// place writes into a file of the bridge: all of it where at is 0, else what it has from there on.
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

// others are the files of a bridge that other processes write: who may speak, and where.
var others = []string{"people.json", "chats.json"}

// stamp tells whether they were changed.
func (b *Bridge) stamp() (stamp string) {
	for _, name := range others {
		if fi, err := os.Stat(filepath.Join(b.dir(), name)); err == nil {
			stamp += fmt.Sprintln(name, fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return stamp
}

// writeAll pushes all that the bridge must not forget.
func (b *Bridge) writeAll() error {
	var w written
	var all [][]byte
	stamp := b.stamp()
	names, err := fs.Glob(os.DirFS(b.dir()), "peers/*.json")
	for _, name := range slices.Concat(names, []string{"inbox.jsonl"}, others) {
		data, rerr := os.ReadFile(filepath.Join(b.dir(), name))
		if rerr == nil {
			w.Files, all = append(w.Files, name), append(all, data)
		} else if !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	if err == nil {
		err = b.push(w, true, all...)
	}
	if err == nil {
		b.writes, b.stamped = 0, stamp
	}
	return err
}

func (b *Bridge) push(w written, whole bool, parts ...[]byte) error {
	w.Host = b.Host
	ctx := b.untilEnd()
	text := streams.Join(w, parts...)
	if len(text) > streams.MaxText {
		large := blobs.Sum(text)
		if err := b.lives.Streams.PutLarge(ctx, b.book().Stream, large, text); err != nil {
			return err
		}
		text = streams.Join(written{Host: b.Host, Large: large})
	}
	err := b.book().Push(ctx, text, whole)
	if errors.Is(err, share.ErrTaken) && b.book().Pull(ctx, b.ours) == nil {
		err = b.book().Push(ctx, text, whole)
	}
	if errors.Is(err, share.ErrTaken) {
		err = b.elsewhere("another host")
		select {
		case b.Lost <- err:
		default: // it is known
		}
	}
	return err
}

// ours returns an error unless a text is of this host, whose answer was lost.
func (b *Bridge) ours(text []byte, _ bool) error {
	var w written
	_, err := streams.Split(text, &w)
	if err == nil && w.Host.ID != b.Host.ID {
		err = b.elsewhere(w.Host.Label)
	}
	return err
}
