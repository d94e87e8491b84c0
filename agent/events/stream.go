package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strconv"

	"lethe/agent/status"
	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/mind"
)

// Log names the file of an identity's log, and the identity.
type Log struct{ Path, Name string }

// ErrAfter is wrapped by the error of Open for a text that is no ID of an event.
var ErrAfter = errors.New("not the id of an event")

// ErrGone says that the log does not have the place of an ID: the log was cut, or it is another
// one. A client starts anew, from "" or from End.
var ErrGone = life.ErrOtherLog

// Stream reads the events of a log. It is for one goroutine.
type Stream struct {
	log   Log
	store *blobs.Store
	r     *life.Reader
	ended bool    // at r's end
	queue []Event // of the line that was read last
	at    int64   // the place, while the stream follows the end of the log; r and state are nil then

	told map[string]shown // of the live files, by type of delta

	state *mind.State // folded up to r, since the newest epoch before
	fades []Fade      // of an append whose epoch is still to come

	replaced map[string]string // arguments by hooks, of calls that run, by their ids
}

// Open begins behind the event with that ID: with the first event of the log for "". Close
// closes the stream.
func Open(store *blobs.Store, log Log, after string) (*Stream, error) {
	offset, skip, err := place(after)
	if err != nil {
		return nil, err
	}
	// The state at a place follows from the newest epoch before it: it is the same for a client
	// that begins there and for a client that reads on.
	epoch, err := epochBefore(log.Path, offset)
	if err != nil {
		return nil, err
	}
	r, err := life.ReadFrom(log.Path, life.Mark{Offset: epoch})
	if err != nil {
		return nil, err
	}
	s := &Stream{
		log: log, store: store, r: r, state: mind.New(),
		told: map[string]shown{}, replaced: map[string]string{},
	}
	for err == nil && s.r.At.Offset < offset {
		err = s.read()
	}
	s.queue = nil
	if err == nil && skip > 0 {
		err = s.read()
	}
	isWithin := err == nil && skip > 0
	if isWithin && len(s.queue) <= skip {
		err = ErrGone
	}
	if err == io.EOF {
		err = ErrGone
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	s.queue = s.queue[skip:]
	return s, nil
}

// epochBefore returns the offset of the newest epoch that ends before an offset; 0 without an epoch.
func epochBefore(path string, offset int64) (epoch int64, err error) {
	if offset == 0 {
		return 0, nil
	}
	log, err := life.View(path)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	if offset > log.Size() {
		return 0, ErrGone
	}
	err = log.Back(offset, func(e life.Event, at int64) bool {
		if e.Kind == life.Epoch {
			epoch = at
		}
		return epoch == 0
	})
	return epoch, err
}

// place reads an ID: behind the byte offset of the log, and behind skip events of the line
// that begins there.
func place(id string) (offset int64, skip int, err error) {
	_, _ = fmt.Sscanf(id, "%d.%d", &offset, &skip) // what it did not take is seen below
	if id == "" {
		return 0, 0, nil
	}
	isPlace := offset >= 0 && skip >= 0
	if !isPlace || id != placeID(offset, skip) {
		return 0, 0, fmt.Errorf("%w: %.40q", ErrAfter, id)
	}
	return offset, skip, nil
}

func placeID(offset int64, skip int) string {
	id := strconv.FormatInt(offset, 10)
	if skip > 0 {
		id += "." + strconv.Itoa(skip)
	}
	return id
}

// End returns the ID that has Open begin with the events from now on.
func End(path string) (after string, err error) {
	log, err := life.View(path)
	if err != nil {
		return "", err
	}
	defer log.Close()
	return placeID(log.End().Offset, 0), nil
}

// Close closes the log.
func (s *Stream) Close() error {
	if s.r == nil { // a tail has it
		return nil
	}
	return s.r.Close()
}

// Next returns the next event. io.EOF says that there is none now; there may be one later.
// ErrGone says that the log was cut or replaced, and a *life.CorruptError where it is damaged.
func (s *Stream) Next() (Event, error) {
	for len(s.queue) == 0 {
		if err := s.read(); err != nil {
			return Event{}, err
		}
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	return e, nil
}

// All yields the events that there are now, as Next returns them up to io.EOF.
func (s *Stream) All() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := s.Next()
			if err == io.EOF {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// read takes in the next line: its events are the queue.
func (s *Stream) read() error {
	if s.ended {
		if err := s.r.More(); err != nil {
			return err
		}
	}
	from := s.r.At.Offset
	line, follows, err := s.r.Next()
	if s.ended = err == io.EOF; err != nil {
		return err
	}
	if !follows {
		s.fades = nil
	}
	s.queue = s.events(line)
	for i := range s.queue {
		s.queue[i].ID = placeID(from, i+1)
	}
	if n := len(s.queue); n > 0 {
		s.queue[n-1].ID = placeID(s.r.At.Offset, 0)
	}
	return nil
}

// bodies reads the blobs of a line. What cannot be read is taken for empty: what happened
// is told all the same.
func (s *Stream) bodies(line life.Event) []mind.Body {
	out := make([]mind.Body, len(line.Refs))
	for i, r := range line.Refs {
		if line.Kind == "fade" || line.Kind == "adopted" { // its texts are not told
			break
		}
		b, err := s.store.Find(r.Hash)
		if out[i] = (mind.Body{Hash: b.Hash, Data: b.Body}); err != nil && line.Kind == "reply" {
			out[i].Data = mind.Answer{}.Encode()
		}
	}
	return out
}

func (s *Stream) restore(body []byte) {
	next, err := mind.Restore(body, func(h blobs.Hash) ([]byte, error) {
		b, err := s.store.Get(h)
		return b.Body, err
	})
	if err == nil {
		s.state = next
	}
}

// Follow calls f for each event from here on, and waits for more until ctx is done; it then
// returns nil. Between those of the log come the deltas of what is under way. An error of f
// ends it, and is returned. At the end of the log the stream shares a State with others. It is of no use afterwards.
func (s *Stream) Follow(ctx context.Context, w *chat.Watcher, f func(Event) error) error {
	dir, name := filepath.Split(s.log.Path)
	changed, cancel := w.Subscribe(chat.Scope{Dir: dir, Names: []string{name, status.LiveFile}})
	defer cancel()
	tellAll := func(events []Event) error {
		for _, e := range events {
			if err := f(e); err != nil || ctx.Err() != nil {
				return err
			}
		}
		return nil
	}
	for {
		for e, err := range s.All() {
			if err == nil {
				err = f(e)
			}
			if err != nil || ctx.Err() != nil {
				return err
			}
		}
		if err := s.followEnd(ctx, changed, dir, tellAll); err != errBehind {
			return err
		}
		again, err := Open(s.store, s.log, placeID(s.at, 0))
		if err != nil {
			return err
		}
		again.told = s.told
		*s = *again
	}
}

// followEnd follows from the end of the log, until ctx is done or the stream is behind what is kept for it.
func (s *Stream) followEnd(
	ctx context.Context, changed <-chan struct{}, dir string, tell func([]Event) error,
) error {
	tail := s.share()
	defer tail.leave()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		events, next, err := tail.after(s.at)
		if err != nil {
			return err
		}
		if err := tell(events); err != nil || ctx.Err() != nil {
			return err
		}
		s.at = next
		if err := tell(tail.deltas(s.told, status.ReadLive(dir))); err != nil || ctx.Err() != nil {
			return err
		}
	}
}
