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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	packed time.Time               // when it was last asked whether entries are to be packed
	done   int                     // the number of the newest step that was carried out here
	looks  map[string]durable.Look // at files in chats that had nothing new; nil before the first round
}

// Dir is the directory of the files of rooms in the order of the stream.
func Dir(home string) string { return filepath.Join(home, "share", "rooms") }

// Path is the file of a room in the order of the stream.
func Path(home, room string) string { return filepath.Join(Dir(home), chat.FileName(room)) }

// step is what is being written, in share/rooms.json: it is durable before any file of a room is touched, and done again
// after a crash, to the same end.
type step struct {
	streams.At                  // the entry that it ends with
	Host       string           `json:"host"`           // that reads
	Sizes      map[string]int64 `json:"sizes"`          // of the files in share behind it
	Late       map[string]int64 `json:"late"`           // how far files that were replaced have been read
	Gone       []blobs.Hash     `json:"gone,omitempty"` // large texts that an erasure is to drop
	Rooms      map[string]*add  `json:"rooms,omitempty"`
}

// next begins a step behind one.
func (p step) next() step {
	p.Sizes, p.Late, p.Rooms = maps.Clone(p.Sizes), maps.Clone(p.Late), map[string]*add{}
	return p
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

	anew  string    // where files of rooms are written while the stream is read from its beginning
	until time.Time // when entries were made that are not read, if there is a bound
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
	err := s.begin()
	if err == nil {
		err = f(s)
	}
	if errors.Is(err, durable.ErrShort) {
		if err = s.readAnew(); err == nil {
			err = f(s)
		}
	}
	return err
}

// begin reads the step that was taken last, and carries it out again if another process took it, which may have been
// killed. It is durable.ErrShort where the files in share are not those that the step knows.
func (s *round) begin() error {
	if s.looks == nil {
		s.sweep()
	}
	text, err := os.ReadFile(s.in(stepFile))
	if err == nil {
		err = json.Unmarshal(text, &s.step)
	}
	if err != nil || s.step.Host != s.Host.ID {
		return durable.ErrShort
	}
	if s.looks != nil && s.done == s.step.N {
		return nil
	}
	return s.carryOut(true)
}

// sweep removes what processes that were killed have left: their lines are to be in no other file.
func (s *round) sweep() {
	_ = os.RemoveAll(s.in(anew))
	for _, dir := range []string{"share", "share/rooms", "chats"} {
		left, _ := filepath.Glob(filepath.Join(s.Dir, dir, ".tmp-*"))
		for _, path := range left {
			if fi, err := os.Stat(path); err == nil && time.Since(fi.ModTime()) > time.Minute {
				_ = os.Remove(path)
			}
		}
	}
}

// in is a file in share, of which stepFile is one.
func (s *round) in(name string) string { return filepath.Join(s.Dir, "share", name) }

const stepFile = "rooms.json"

// Sync publishes what was appended here to rooms, and brings what others have said.
func (r *Rooms) Sync(ctx context.Context) error {
	err := r.locked(ctx, func(s *round) error { return s.sync(nil) })
	if err == nil {
		err = r.pack(ctx)
	}
	return err
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
		err = s.add(fitting(items), 0)
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
		next, size := s.step.next(), 0
		full := errors.New("full")
		scan, began := s.Streams.Scan, time.Now()
		if s.lately() && s.anew == "" {
			scan = s.Streams.ScanLately
		}
		at, err := scan(s.ctx, Stream, s.step.At, func(n int, text []byte) error {
			e, err := decode(text)
			if err != nil {
				return fmt.Errorf("entry %d of the rooms: %w", n, err)
			}
			switch {
			case s.step.N > 0 && e.Erased > s.step.Gen:
				return streams.ErrAnew
			case !s.until.IsZero() && e.At.After(s.until):
				return io.EOF
			}
			if size += len(text); size > stepSize && next.N > s.step.N {
				return full
			}
			if err := s.fetch(e.Items); err != nil {
				return err
			}
			next.N = n
			next.take(e.Items, e.Host.ID == s.Host.ID)
			return nil
		})
		more = err == full
		switch {
		case errors.Is(err, streams.ErrAnew) && s.anew == "":
			return s.readAnew()
		case err != nil && !more && err != io.EOF:
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
func (p *step) take(items []item, ours bool) {
	for _, i := range items {
		a := p.Rooms[i.Room]
		if a == nil {
			a = &add{At: p.Sizes[i.Room]}
			p.Rooms[i.Room] = a
		}
		if i.Here && ours {
			a.Mine = append(a.Mine, i.lines...)
		}
		if i.From != "" && ours {
			p.Late[i.From] = i.Upto
		}
		a.Lines = append(a.Lines, i.lines...)
		p.Sizes[i.Room] += int64(len(i.lines))
	}
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
			if err != nil && !errors.Is(err, share.ErrMissing) { // it is, where an erasure was cut short
				return err
			}
		}
	}
	return later.Wait()
}

// write makes the step durable, and carries it out.
func (s *round) write() error {
	if s.anew != "" {
		return s.extend(s.anew)
	}
	for room, a := range s.step.Rooms {
		a.Waits, _, _ = tail(chat.Path(s.Dir, room), a.At+int64(len(a.Mine)), maxAdded)
	}
	err := s.save()
	if err == nil {
		err = s.carryOut(false)
	}
	return err
}

// save makes the step durable.
func (s *round) save() error {
	text, err := json.Marshal(s.step)
	if err == nil {
		err = durable.WriteFile(s.in(stepFile), text, 0o600)
	}
	return err
}

// extend has the files in a directory have the lines of the step.
func (s *round) extend(dir string) error {
	var later durable.Syncs
	for room, a := range s.step.Rooms {
		if err := durable.WriteEnd(&later, filepath.Join(dir, chat.FileName(room)), a.At, a.Lines, 0o600); err != nil {
			return err
		}
	}
	return later.Wait()
}

// carryOut has the files in share have the lines of the step, and then those in chats; again, if that may have been done.
func (s *round) carryOut(again bool) error {
	if err := s.extend(Dir(s.Dir)); err != nil {
		return err
	}
	for room, size := range s.step.Sizes {
		if end, err := chat.End(Path(s.Dir, room)); again && (err != nil || end.Size() != size) {
			return durable.ErrShort
		}
	}
	for room, a := range s.step.Rooms {
		if !chat.ValidRoom(room) {
			continue
		}
		if err := s.deliver(room, a, again); err != nil {
			return fmt.Errorf("bring room %s what was said elsewhere: %w", room, err)
		}
	}
	if s.done = s.step.N; s.looks == nil {
		s.looks = map[string]durable.Look{}
	}
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
	text, _, err := tail(Path(s.Dir, room), from, all)
	for l := range bytes.Lines(text) {
		if bytes.Equal(l, line) {
			return from, from + int64(len(l)), err
		}
		from += int64(len(l))
	}
	return 0, 0, err
}

// add creates the next entry; erased is the generation of packs that an erasure has made.
func (s *round) add(items []item, erased int) error {
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
	e := entry{version, s.Host, streams.Nonce(), time.Now().UTC(), erased, items}
	// Where another entry came behind it, the next look finds it there, unless the number was a forgotten one.
	if err := s.Streams.CreateNewest(s.ctx, Stream, n, e.encode()); err != nil {
		return err
	}
	s.step = s.step.next()
	s.step.N = n
	s.step.take(items, true)
	return s.write()
}
