// Package rooms has the rooms of a home hold the same lines in the same order at all of its hosts.
//
//	err := r.Sync(ctx)                              // what people appended here goes out, what others said comes in
//	at, to, err := r.Post(ctx, "dev", line, mark)   // a line that stands there once, at all hosts
//
// All rooms of a home are one stream; an entry adds lines to some of them. share/rooms/ROOM.md, which this package alone
// writes, has the lines of a room in the order of the stream, so a place in it means the same at each host: there
// identities hear. chats/ROOM.md is what people and programs read and append to. What they append is published; where
// others were faster the file gets the order of the stream, and what an editor changed of the past is put back.
//
// A line is in the stream once, through kill -9 and lost answers: who adds to the stream has read it to its end, and sees
// whether an earlier attempt arrived.
package rooms

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
	"lethe/share"
	"lethe/share/streams"
)

// Stream is that of all rooms.
const Stream = "rooms"

// Rooms are the rooms of a home, on one of its hosts. It is safe for concurrent use, also by several processes.
type Rooms struct {
	Streams *streams.Streams
	Dir     string // of the home
	Host    streams.Host
	Store   *blobs.Store
	Log     *slog.Logger

	mu     sync.Mutex              // held with the lock
	pulled time.Time               // when the stream was last read to its end
	done   *step                   // the newest that was carried out here
	looks  map[string]durable.Look // at files in chats that had nothing new
	read   map[string]fs.FileInfo  // of those that had
	late   []*replaced
	tried  string // the nonce of the entry that was to bring them
}

// Dir is the directory of the files of rooms in the order of the stream.
func Dir(home string) string { return filepath.Join(home, "share", "rooms") }

// Path is the file of a room in the order of the stream.
func Path(home, room string) string { return filepath.Join(Dir(home), chat.FileName(room)) }

// step is what is being written, in share/rooms.json: it is durable before any file of a room is touched, and done again
// after a crash, to the same end.
type step struct {
	streams.At                 // the entry that it ends with
	Rooms      map[string]*add `json:"rooms,omitempty"`
}

// add is what a step adds to one room.
type add struct {
	At    int64  `json:"at"`              // where Lines begin in the file in share
	Lines []byte `json:"lines"`           // of the stream
	Mine  []byte `json:"mine,omitempty"`  // those of them that the file in chats has there: they come from it
	Waits []byte `json:"waits,omitempty"` // how it went on: with what is not published yet
}

// round is one look at the rooms, while no other process of this host has one.
type round struct {
	*Rooms
	ctx  context.Context
	step step
}

// locked begins a round. What an earlier one left undone is done first.
func (r *Rooms) locked(ctx context.Context, f func(*round) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := durable.MkdirAll(Dir(r.Dir), 0o700); err != nil {
		return err
	}
	lock := durable.Lock(Dir(r.Dir) + ".lock")
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("lock the rooms: %w", err)
	}
	defer lock.Close()
	s := &round{Rooms: r, ctx: ctx}
	text, err := os.ReadFile(s.stepFile())
	if err == nil {
		err = json.Unmarshal(text, &s.step)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", s.stepFile(), err)
	}
	if r.done == nil {
		r.looks, r.read = map[string]durable.Look{}, map[string]fs.FileInfo{}
	}
	if r.done == nil || r.done.N != s.step.N { // another process took it, which may have been killed
		if err := s.carryOut(true); err != nil {
			return err
		}
	}
	return f(s)
}

func (s *round) stepFile() string { return Dir(s.Dir) + ".json" }

// Sync publishes what was appended here to rooms, and brings what others have said.
func (r *Rooms) Sync(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error { return s.sync(nil) })
}

// sync reads the stream to its end, and adds what is new in chats and what more returns, until there is nothing.
func (s *round) sync(more func() ([]item, error)) error {
	for {
		err := s.pull()
		var items, others []item
		if err == nil {
			items, err = s.appended()
		}
		if err == nil && more != nil {
			others, err = more()
			items = append(items, others...)
		}
		if err != nil || len(items) == 0 {
			return err
		}
		err = s.add(fitting(items))
		if errors.Is(err, share.ErrTaken) {
			time.Sleep(rand.N(20 * time.Millisecond)) // hosts that meet are not to meet again
		} else if err != nil {
			return err
		}
	}
}

// fitting returns as many of the items as fit into one entry, and one at least.
func fitting(items []item) []item {
	size := 0
	for n, i := range items {
		if i.Large.IsZero() {
			size += len(i.lines)
		}
		if size > streams.MaxText-maxAdded && n > 0 {
			return items[:n]
		}
	}
	return items
}

// stepSize is how many bytes of lines a step has at most, as long as entries are smaller.
const stepSize = 4 << 20

// pull applies what the stream has more than this host.
func (s *round) pull() error {
	for more := true; more; {
		next := step{At: s.step.At, Rooms: map[string]*add{}}
		size := 0
		full := errors.New("full")
		scan, began := s.Streams.Scan, time.Now()
		if s.lately() {
			scan = s.Streams.ScanLately
		}
		at, err := scan(s.ctx, Stream, s.step.At, func(n int, text []byte) error {
			e, err := decode(text)
			if err != nil {
				return fmt.Errorf("entry %d of the rooms: %w", n, err)
			}
			if size += len(text); size > stepSize && next.N > s.step.N {
				return full
			}
			if err := s.fetch(e.Items); err != nil {
				return err
			}
			next.N = n
			s.brought(e)
			return next.take(s, e.Items, e.Host.ID == s.Host.ID)
		})
		if errors.Is(err, streams.ErrAnew) {
			err = cmp.Or(s.reread(), error(full))
		}
		if more = err == full; err != nil && !more {
			return fmt.Errorf("read the rooms from the store: %w", err)
		}
		if next.N > s.step.N {
			next.Gen = at.Gen
			s.step = next
			if err := s.write(); err != nil {
				return err
			}
		}
		s.pulled = began
	}
	return nil
}

// Entries stay out of packs for unpacked, and a host that has read the stream to its end trusts its own clock for lately
// that nothing of what came since is in one.
const (
	unpacked = 7 * 24 * time.Hour
	lately   = 6 * time.Hour
)

func (s *round) lately() bool { return time.Now().Round(0).Sub(s.pulled.Round(0)) < lately }

// take adds items of an entry to a step.
func (p *step) take(s *round, items []item, ours bool) error {
	for _, i := range items {
		a := p.Rooms[i.Room]
		if a == nil {
			a = &add{}
			fi, err := os.Stat(Path(s.Dir, i.Room))
			if err == nil {
				a.At = fi.Size()
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			p.Rooms[i.Room] = a
		}
		if i.Here && ours {
			a.Mine = append(a.Mine, i.lines...)
		}
		a.Lines = append(a.Lines, i.lines...)
	}
	return nil
}

// fetch gets what items name and this host lacks.
func (s *round) fetch(items []item) error {
	var later durable.Syncs
	for k := range items {
		i := &items[k]
		if !i.Large.IsZero() {
			lines, err := s.Streams.Large(s.ctx, Stream, i.Large)
			if err != nil {
				return err
			}
			i.lines = lines
		}
		for _, h := range i.Files {
			if s.Store.Has(h) {
				continue
			}
			text, err := s.Streams.Large(s.ctx, Stream, h)
			if err == nil {
				_, err = s.Store.Adopt(&later, text)
			}
			if err != nil {
				return err
			}
		}
	}
	return later.Wait()
}

// write makes the step durable, and carries it out.
func (s *round) write() error {
	for room, a := range s.step.Rooms {
		there, _, _ := tail(chat.Path(s.Dir, room), a.At+int64(len(a.Mine)))
		a.Waits = there[:min(len(there), maxAdded)]
	}
	text, err := json.Marshal(s.step)
	if err == nil {
		err = durable.WriteFile(s.stepFile(), text, 0o600)
	}
	if err == nil {
		err = s.carryOut(false)
	}
	return err
}

// carryOut has the files in share have the lines of the step, and then those in chats; again, if that may have been done.
func (s *round) carryOut(again bool) error {
	var later durable.Syncs
	for room, a := range s.step.Rooms {
		if err := durable.WriteEnd(&later, Path(s.Dir, room), a.At, a.Lines, 0o600); err != nil {
			return err
		}
	}
	if err := later.Wait(); err != nil {
		return err
	}
	for room, a := range s.step.Rooms {
		if !chat.ValidRoom(room) {
			continue
		}
		if err := s.deliver(room, a, again); err != nil {
			return fmt.Errorf("bring room %s what was said elsewhere: %w", room, err)
		}
	}
	done := s.step
	s.done = &done
	return nil
}

// Post has a line stand in a room once, at all hosts, however often it is called with the same line and mark. It returns
// the bytes of the line in the file in share.
func (r *Rooms) Post(ctx context.Context, room string, line []byte, from chat.Mark) (at, to int64, err error) {
	err = r.locked(ctx, func(s *round) error {
		return s.sync(func() (items []item, err error) {
			if at, to, err = s.find(room, line, from.Size()); err != nil || to > 0 {
				return nil, err
			}
			i, err := s.item(room, line, false)
			return []item{i}, err
		})
	})
	if err != nil {
		err = fmt.Errorf("post to room %s: %w", room, err)
	}
	return at, to, err
}

// find looks for a line in the file of a room in share, from an offset on. to is 0 where it is not there.
func (s *round) find(room string, line []byte, from int64) (at, to int64, err error) {
	f, err := os.Open(Path(s.Dir, room))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	} else if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	from = min(from, size)
	text := make([]byte, size-from)
	if err == nil && len(text) > 0 {
		_, err = f.ReadAt(text, from)
	}
	for l := range bytes.Lines(text) {
		if bytes.Equal(l, line) {
			return from, from + int64(len(l)), err
		}
		from += int64(len(l))
	}
	return 0, 0, err
}

// add creates the next entry.
func (s *round) add(items []item) error {
	n := s.step.N + 1
	for _, i := range items {
		for _, h := range i.Files {
			text, err := os.ReadFile(s.Store.Path(h))
			if err == nil {
				err = s.Streams.PutLarge(s.ctx, Stream, h, text)
			}
			if err != nil {
				return fmt.Errorf("share a file that room %s names: %w", i.Room, err)
			}
		}
	}
	// Where another entry came behind it, the next look finds it there, unless the number was a forgotten one.
	e := newEntry(s.Host, items)
	s.tried = e.Nonce
	if err := s.Streams.CreateNewest(s.ctx, Stream, n, e.encode()); err != nil {
		return err
	}
	next := step{At: streams.At{N: n, Gen: s.step.Gen}, Rooms: map[string]*add{}}
	if err := next.take(s, items, true); err != nil {
		return err
	}
	s.step = next
	s.brought(e)
	return s.write()
}
