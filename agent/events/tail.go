package events

import (
	"errors"
	"io"
	"sync"

	"lethe/agent/status"
	"lethe/blobs"
)

// A tail is the end of a log, read once for all streams that have come there: each has a place, and no State of its
// own.
type tail struct {
	mu     sync.Mutex
	stream *Stream
	lines  []read // the newest, one behind the other
	size   int    // bytes of their texts
	err    error  // the log cannot be read on

	users int // under tails.mu
}

// read is a line that a tail has read: its events, and the offsets of its beginning and its end.
type read struct {
	from, to int64
	events   []Event
}

// Bounds of the lines that a tail keeps for slow streams. One that falls behind them reads the log by itself again.
const (
	keptLines = 256
	keptBytes = 1 << 20
)

type tailOf struct {
	Log
	store *blobs.Store
}

var tails struct {
	mu  sync.Mutex
	all map[tailOf]*tail
}

var errBehind = errors.New("the stream is behind the lines that are kept")

// share gives up the State of a stream that has come to the end of its log. The tail takes the first stream's State.
func (s *Stream) share() *tail {
	key := tailOf{s.log, s.store}
	tails.mu.Lock()
	defer tails.mu.Unlock()
	t := tails.all[key]
	if t == nil {
		own := *s
		own.queue, own.told = nil, nil
		t = &tail{stream: &own}
		if tails.all == nil {
			tails.all = map[tailOf]*tail{}
		}
		tails.all[key] = t
	} else {
		s.r.Close()
	}
	t.users++
	s.at, s.r, s.state, s.fades = s.r.At.Offset, nil, nil, nil
	return t
}

// leave ends a stream's use of a tail. The last one closes it.
func (t *tail) leave() {
	tails.mu.Lock()
	defer tails.mu.Unlock()
	if t.users--; t.users == 0 {
		t.remove()
		t.stream.Close()
	}
}

// forget has later streams make a tail of their own.
func (t *tail) forget() {
	tails.mu.Lock()
	defer tails.mu.Unlock()
	t.remove()
}

// remove needs tails.mu.
func (t *tail) remove() {
	if key := (tailOf{t.stream.log, t.stream.store}); tails.all[key] == t {
		delete(tails.all, key)
	}
}

// after returns the events behind a place, and the place behind them.
func (t *tail) after(place int64) (events []Event, next int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.grow()
	}
	if t.err != nil {
		t.forget() // another log may be there by now
		return nil, place, t.err
	}
	for _, line := range t.lines {
		if line.from == place {
			events, place = append(events, line.events...), line.to
		}
	}
	if place != t.stream.r.At.Offset {
		return nil, place, errBehind
	}
	return events, place, nil
}

// isFull reports whether lines have to go. The newest line stays, however large it is.
func (t *tail) isFull() bool {
	if len(t.lines) <= 1 {
		return false
	}
	return t.size > keptBytes || len(t.lines) > keptLines
}

// grow reads the log to its end.
func (t *tail) grow() error {
	s := t.stream
	s.ended = true
	for {
		from := s.r.At.Offset
		if err := s.read(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		line := read{from, s.r.At.Offset, s.queue}
		t.lines = append(t.lines, line)
		t.size += line.size()
		for t.isFull() {
			t.size -= t.lines[0].size()
			t.lines = append([]read(nil), t.lines[1:]...)
		}
	}
}

func (r read) size() (n int) {
	for _, e := range r.events {
		n += len(e.Text)
	}
	return n
}

// deltas returns the deltas of events under way, for a client that knows the text until then.
func (t *tail) deltas(told map[string]shown, live status.Live) []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream.told = told
	return t.stream.deltas(live)
}
