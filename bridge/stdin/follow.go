package stdin

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"lethe/events"
	"lethe/life"
)

// follower reads the events of an identity that hears the viewed room.
type follower struct {
	log    events.Log
	stream *events.Stream // nil when the log cannot be read
	began  int64          // where in the log the oldest window begins; older ones are read when they are looked at
}

// begins is where the window of a log begins that ends at an offset: with lines of a room, so that
// what follows has its place. It has lines lines at least.
func begins(path string, end int64, lines int) (at int64) {
	log, err := life.View(path)
	if err != nil {
		return end
	}
	defer log.Close()
	n := 0
	_ = log.Back(end, func(e life.Event, offset int64) bool { // what is damaged ends the window
		n++
		at = offset
		return n < lines || e.Kind != "inbound"
	})
	return at
}

// id is the one of an event that ends at an offset of the log.
func id(offset int64) string {
	if offset == 0 {
		return ""
	}
	return strconv.FormatInt(offset, 10)
}

// happened reads what has happened since to the identities that hear the room.
func (f *files) happened() (all []heard) {
	if f.cfg.Store == nil {
		return nil
	}
	for _, a := range f.all {
		if !slices.Contains(a.Rooms, f.seen.Room) {
			continue
		}
		l := f.follows[a.Self]
		if l == nil {
			l = &follower{log: events.Log{Path: a.dir + "/LIFE.md", Name: a.Name}}
			l.began = begins(l.log.Path, 0, f.window)
			l.stream, _ = events.Open(f.cfg.Store, l.log, id(l.began))
			f.follows[a.Self] = l
			all = append(all, l.read(a.Self, true, 0)...)
			continue
		}
		all = append(all, l.read(a.Self, false, 0)...)
	}
	return all
}

// read returns the events up to an offset of the log, or all there are now.
func (l *follower) read(self string, old bool, to int64) (all []heard) {
	for l.stream != nil {
		e, err := l.stream.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			l.close() // the log was replaced, or is damaged: the daemon says so
			break
		}
		at, _, within := strings.Cut(e.ID, ".")
		if n, _ := strconv.ParseInt(at, 10, 64); to > 0 && (n > to || within && n == to) {
			break
		}
		all = append(all, heard{self, old, e})
	}
	return all
}

func (l *follower) close() {
	if l.stream != nil {
		_ = l.stream.Close() // it was only read
		l.stream = nil
	}
}

// unfollow forgets the logs of a room.
func (f *files) unfollow() {
	for _, l := range f.follows {
		l.close()
	}
	f.follows = map[string]*follower{}
}

// older reads the window before the oldest of each log.
func (f *files) older() (n news) {
	n = f.seen
	n.Older = true
	for self, l := range f.follows {
		if l.began == 0 {
			continue
		}
		from := begins(l.log.Path, l.began, f.window)
		past := &follower{log: l.log}
		past.stream, _ = events.Open(f.cfg.Store, l.log, id(from))
		n.Acts = append(n.Acts, past.read(self, true, l.began)...)
		past.close()
		l.began = from
		n.More = n.More || from > 0
	}
	return n
}
