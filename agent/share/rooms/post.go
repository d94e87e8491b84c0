package rooms

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"lethe/chat"
)

// post is a line that is to stand in a room. Posts that wait while a round goes on are made by the next one together.
type post struct {
	room   string
	line   []byte
	from   int64 // where its room ended before
	at, to int64
	err    error
	ended  chan struct{} // is closed when it was made, or was not
}

func (p *post) end(err error) {
	p.err = err
	close(p.ended)
}

// Post adds a line to a room at all hosts, once, however often it is called with the same line and mark. It returns the
// bytes of the line in the file in share.
func (r *Rooms) Post(ctx context.Context, room string, line []byte, from chat.Mark) (at, to int64, err error) {
	p := &post{room: room, line: line, from: from.Size(), ended: make(chan struct{})}
	r.mu.Lock()
	r.posts = append(r.posts, p)
	r.mu.Unlock()
	err = r.lockedFor(ctx, p.ended, func(s *round) error { return s.sync(false, false) })
	r.mu.Lock()
	r.posts = slices.DeleteFunc(r.posts, func(q *post) bool { return q == p }) // where no round could begin
	r.mu.Unlock()
	if err == nil {
		<-p.ended
		at, to, err = p.at, p.to, p.err
	}
	if err != nil {
		err = fmt.Errorf("post to room %s: %w", room, err)
	}
	return at, to, err
}

// take takes the posts that wait, once: what comes later waits for another round, so that this one ends.
func (s *round) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts == nil {
		s.posts, s.Rooms.posts = s.Rooms.posts, nil
	}
}

// owed returns items of posts that are not made yet. It ends the others.
func (s *round) owed() (items []item) {
	s.posts = slices.DeleteFunc(s.posts, func(p *post) bool {
		err := p.err // of the look at its room
		if err == nil {
			p.at, p.to, err = s.find(p.room, p.line, p.from)
		}
		if err == nil && p.to == 0 {
			var part item
			if part, err = s.item(p.room, p.line, false); err == nil {
				items = append(items, part)
				return false
			}
		}
		p.end(err)
		return true
	})
	return items
}

// find looks for a line in the file of a room in share, from an offset on. to is 0 where it is not there.
func (s *round) find(room string, line []byte, from int64) (at, to int64, err error) {
	text, err := Said(s.Dir, room, from)
	for l := range bytes.Lines(text) {
		if bytes.Equal(l, line) {
			return from, from + int64(len(l)), err
		}
		from += int64(len(l))
	}
	return 0, 0, err
}
