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
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
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
	if s.looks == nil && s.step.N > 0 { // the store is the one that was read, and the key is the one of the others
		if err := s.Streams.Holds(s.ctx, Stream, s.step.N); err != nil {
			return s.unread(err)
		}
	}
	if s.looks != nil && s.done == s.step.N {
		return nil
	}
	return s.carryOut(true)
}

// sweep removes what processes that were killed have left: their lines are to be in no other file.
func (s *round) sweep() {
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

// Sync publishes what was appended here to rooms, and brings what others have said.
func (r *Rooms) Sync(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error {
		if err := s.sync("", nil); err != nil {
			return err
		}
		return s.pack()
	})
}

// Pull brings what others have said, and looks at no room where they said nothing.
func (r *Rooms) Pull(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error { return s.pull() })
}

// sync reads the stream to its end, and adds what is new in chats, of one room or of all, and what more returns, until there
// is nothing.
func (s *round) sync(room string, more func() ([]item, error)) error {
	for {
		err := s.pull()
		var items, others []item
		if err == nil {
			items, err = s.appended(room)
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
		if errors.Is(err, streams.ErrAnew) && s.anew == "" {
			return s.readAnew()
		}
		cutHere := more || err == io.EOF
		if err != nil && !cutHere {
			return s.unread(err)
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

func (s *round) unread(err error) error {
	if errors.Is(err, streams.ErrLess) {
		err = fmt.Errorf("%w; if this is meant, remove %s, and the rooms are shared anew", err, s.in(stepFile))
	}
	return fmt.Errorf("read the rooms from the store: %w", err)
}

// Entries stay out of packs for unpacked, and a host that has read the stream to its end trusts its own clock for lately
// that nothing of what came since is in one.
const (
	unpacked = 7 * 24 * time.Hour
	lately   = 6 * time.Hour
)

func (s *round) lately() bool { return time.Now().Round(0).Sub(s.pulled.Round(0)) < lately }

// fetch gets what items name and this host lacks.
func (s *round) fetch(items []item) (err error) {
	var later durable.Syncs
	for k := range items {
		i := &items[k]
		if !i.Large.IsZero() {
			if i.lines, err = s.Streams.Large(s.ctx, Stream, i.Large); err != nil {
				return err
			}
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

// Post has a line stand in a room once, at all hosts, however often it is called with the same line and mark. It returns
// the bytes of the line in the file in share.
func (r *Rooms) Post(ctx context.Context, room string, line []byte, from chat.Mark) (at, to int64, err error) {
	err = r.locked(ctx, func(s *round) error {
		return s.sync(room, func() (items []item, err error) {
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
