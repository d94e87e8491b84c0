// Package rooms has the rooms of a home hold the same lines in the same order at all of its hosts.
//
//	err := r.Sync(ctx)                              // what people appended here goes out, what others said comes in
//	at, to, err := r.Post(ctx, "dev", line, mark)   // a line that stands there once, at all hosts
//
// All rooms of a home are one stream; an entry adds lines to some rooms. share/rooms/ROOM.md, which this package
// alone writes, has the lines of a room in the order of the stream, so a place in it means the same at each host:
// identities hear there. People and programs read chats/ROOM.md, and append to it. Their lines are published; where
// other hosts were faster the file gets the order of the stream, and lines of the past that an editor changed are put
// back.
//
// A line is in the stream once, through kill -9 and lost answers: a host that adds to the stream has read it to its
// end, and sees whether an earlier attempt arrived.
package rooms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lethe/agent/share"
	"lethe/agent/share/streams"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/durable"
)

// Stream names the stream of all rooms.
const Stream = "rooms"

// Rooms are the rooms of a home, on one of its hosts. It is safe for concurrent use, also by several processes.
type Rooms struct {
	Streams *streams.Streams
	Dir     string // of the home
	Host    streams.Host
	Store   *blobs.Store
	Log     *slog.Logger
	Lost    func(what error) // called for each text that the store has lost, and reading goes on; nil: it does not

	OnLoss func(what error) // called for each loss that this host writes again; may be nil
	Asked  atomic.Bool      // becomes true whenever the store says where the stream ends

	made sync.Once
	turn chan struct{} // full while the lock is held

	mu    sync.Mutex
	posts []*post // for the next round

	mends  time.Time               // when another host has said that it makes the stream anew
	pulled time.Time               // when the stream was last read to its end
	packed time.Time               // when it was last asked whether entries are to be packed
	done   int                     // number of the newest step that was carried out here
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

	posts []*post       // that it is to make
	later durable.Syncs // of the step

	claims bool // entries say that this host makes the stream anew

	anew  string    // directory of the files of rooms while the stream is read from its beginning; else ""
	until time.Time // later entries are not read; zero: all are
}

// locked calls f with a round, after it has finished an earlier round that was cut short.
func (r *Rooms) locked(ctx context.Context, f func(*round) error) error {
	return r.lockedFor(ctx, nil, f)
}

// lockedFor is locked, unless another round has made a post before.
func (r *Rooms) lockedFor(ctx context.Context, made <-chan struct{}, f func(*round) error) error {
	r.made.Do(func() { r.turn = make(chan struct{}, 1) })
	select {
	case r.turn <- struct{}{}:
	case <-made:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("lock the rooms: %w", ctx.Err())
	}
	defer func() { <-r.turn }()
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
	if err != nil && ctx.Err() != nil { // of this caller alone: the posts of others wait for another round
		r.mu.Lock()
		defer r.mu.Unlock()
		r.posts = append(s.posts, r.posts...)
		return err
	}
	for _, p := range s.posts {
		p.end(err)
	}
	return err
}

// begin reads the newest step, and carries it out again if another process took it, which may have been killed. The
// error is durable.ErrShort where the step knows other files in share.
func (s *round) begin() error {
	if s.looks == nil {
		s.sweep()
	}
	err := durable.ReadJSON(s.in(stepFile), all, &s.step)
	ours := err == nil && s.step.Host == s.Host.ID
	if !ours || !s.step.sound() {
		return durable.ErrShort
	}
	if s.looks == nil && s.step.N > 0 { // is it the same store, and the key of the other hosts?
		if err := s.found(); err != nil {
			return s.unread(err)
		}
	}
	if s.looks != nil && s.done == s.step.N {
		return nil
	}
	return s.carryOut(true)
}

// found returns streams.ErrLess where the store is empty or another one. The newest entry that was read may be lost.
func (s *round) found() error {
	err := s.Streams.Holds(s.ctx, Stream, s.step.N)
	if !streams.Unreadable(err) {
		return err
	}
	newest, failed := s.Streams.Newest(s.ctx, Stream, 0)
	if failed != nil || newest == 0 {
		return errors.Join(failed, err)
	}
	s.lose(err)
	return nil
}

// sweep removes files that killed processes have left: their lines may be erased from rooms.
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

// in returns the path of a file in share, such as stepFile.
func (s *round) in(name string) string { return filepath.Join(s.Dir, "share", name) }

// Sync publishes lines that were appended to rooms here, and brings lines of other hosts.
func (r *Rooms) Sync(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error {
		if err := s.sync(true, true); err != nil {
			return err
		}
		return s.pack()
	})
}

// Publish is Sync that asks for no lines of other hosts, unless some came first.
func (r *Rooms) Publish(ctx context.Context) error {
	return r.locked(ctx, func(s *round) error { return s.sync(true, false) })
}

// Pull brings lines of other hosts, and looks at no room where they said nothing.
func (r *Rooms) Pull(ctx context.Context) error {
	return r.locked(ctx, (*round).pull)
}

// sync adds new lines of chats, of all rooms or of those of posts, and the posts that wait, until there is nothing to
// add. Where it does not read the stream first, it does if an entry of another host is there: the next number is free
// only behind the last entry.
func (s *round) sync(everywhere, reads bool) error {
	for reads = reads || !s.lately(); ; {
		var items []item
		var err error
		if reads {
			err = s.pull()
		}
		if err == nil {
			items, err = s.news(everywhere)
		}
		if err != nil || len(items) == 0 {
			return err
		}
		err = s.add(fitting(items), 0)
		if reads = share.IsTaken(err); reads {
			time.Sleep(rand.N(20 * time.Millisecond)) // so that hosts that meet do not meet again
		} else if err != nil {
			return err
		}
	}
}

// fitting returns as many of the items as fit into one entry, and one at least.
func fitting(items []item) []item {
	size := 0
	for n, part := range items {
		if part.Large.IsZero() {
			size += len(part.lines)
		}
		if size > streams.MaxText-maxAdded && n > 0 {
			return items[:n]
		}
	}
	return items
}

// stepSize bounds the bytes of entries in a step, as long as each entry is smaller.
const stepSize = 4 << 20

// pull applies entries that this host lacks.
func (s *round) pull() error {
	for more := true; more; {
		next, size := s.step.next(), 0
		full := errors.New("full")
		began := time.Now()
		visit := func(n int, text []byte, err error) error {
			if err != nil && s.Lost != nil {
				s.Lost(err)
				next.N = n
				return nil
			}
			if err != nil {
				return err
			}
			e, err := decode(text)
			if err != nil {
				return fmt.Errorf("entry %d of the rooms: %w", n, err)
			}
			switch {
			case s.step.N > 0 && e.Erased > s.step.Gen:
				return streams.ErrAnew
			case e.Erased > 0:
				s.mends = time.Time{}
			case e.Mends && e.Host.ID != s.Host.ID:
				s.mends = time.Now()
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
		}
		var at streams.At
		var err error
		if s.lately() && s.anew == "" {
			at, err = s.Streams.ScanLately(s.ctx, Stream, s.step.At, s.pulled, visit)
		} else {
			at, err = s.Streams.Each(s.ctx, Stream, s.step.At, visit)
		}
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
		if !more && s.anew == "" { // or it may yet fail, and numbers behind the step are free where packs hold them
			s.pulled = began
			s.Asked.Store(true)
		}
	}
	return nil
}

func (s *round) unread(err error) error {
	if errors.Is(err, streams.ErrLess) {
		err = fmt.Errorf("%w; if this is meant, remove %s, and the rooms are shared anew", err, s.in(stepFile))
	}
	return fmt.Errorf("read the rooms from the store: %w", err)
}

// Entries stay out of packs for the time unpacked. A host that has read the stream to its end trusts its own clock, for
// the time lately, that no entry which came since is in a pack.
const (
	unpacked = 7 * 24 * time.Hour
	lately   = 6 * time.Hour
)

func (s *round) lately() bool { return streams.Since(s.pulled) < lately }

// fetch gets lines and files that items name and this host lacks.
func (s *round) fetch(items []item) (err error) {
	var later durable.Syncs
	for k := range items {
		part := &items[k]
		if !part.Large.IsZero() {
			part.lines, err = s.Streams.Large(s.ctx, Stream, part.Large)
			if streams.Unreadable(err) && s.Lost != nil {
				s.Lost(err)
				err = nil
			}
			if err != nil {
				return err
			}
		}
		for _, hash := range part.Files {
			if s.Store.Has(hash) {
				continue
			}
			text, err := s.Streams.Large(s.ctx, Stream, hash)
			if err == nil {
				_, err = s.Store.Adopt(&later, text)
			}
			if err != nil && !streams.Unreadable(err) { // missing: an erasure was cut short
				return err
			}
		}
	}
	return later.Wait()
}

// add creates the next entry. erased is the generation of packs that an erasure has made, or 0.
func (s *round) add(items []item, erased int) error {
	for i, part := range items {
		items[i].Readers = s.readers(part.Room)
		for _, hash := range part.Files {
			text, err := os.ReadFile(s.Store.Path(hash))
			if err == nil {
				err = s.Streams.PutLarge(s.ctx, Stream, hash, text)
			}
			if err != nil {
				return fmt.Errorf("share a file that room %s names: %w", part.Room, err)
			}
		}
	}
	e := entry{version, s.Host, streams.Nonce(), time.Now().UTC(), erased, items, s.claims}
	// If another entry came behind this one, the next look finds this one there, unless its number was forgotten.
	if err := s.Streams.CreateLately(s.ctx, Stream, s.step.At, s.pulled, e.encode()); err != nil {
		return err
	}
	s.pulled = e.At
	s.Asked.Store(true)
	s.step = s.step.next()
	s.step.N++
	s.step.take(items, true)
	return s.write()
}
