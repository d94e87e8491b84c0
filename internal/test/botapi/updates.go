package botapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// queue holds the updates.
type queue struct {
	next    int64    // id of the next update
	all     []update // in order
	done    int      // so many of them are confirmed
	offset  int64    // the highest ever given
	allowed []string // as set by the last getUpdates; empty: all
	waiting int      // so many getUpdates wait
}

// update is kept as it is sent, whatever happens to its message later.
type update struct {
	id   int64
	body json.RawMessage
}

// Update puts an update into the bot's queue, if it has asked for its kind: {"update_id": …,
// kind: body}. A body that is no json.RawMessage is encoded.
func (s *Server) Update(kind string, body any) {
	defer s.lock()()
	s.push(kind, body)
}

// push is Update with s.mu held.
func (s *Server) push(kind string, body any) {
	q := &s.updates
	if len(q.allowed) == 0 || slices.Contains(q.allowed, kind) {
		q.all = append(q.all, update{q.next, fmt.Appendf(nil, `{"update_id":%d,%q:%s}`, q.next, kind, encode(body))})
		q.next++
	}
}

type getUpdatesParams struct {
	Offset         int64    `json:"offset"`
	Limit          int      `json:"limit"`
	Timeout        int      `json:"timeout"`
	AllowedUpdates []string `json:"allowed_updates"`
}

func (s *Server) getUpdates(req *request) (any, *answer) {
	defer s.lock()()
	var p getUpdatesParams
	if ref := s.decode(req, &p); ref != nil {
		return nil, ref
	}
	if p.Limit < 1 || p.Limit > 100 || p.Timeout < 0 || p.Timeout > 50 {
		s.violate("getUpdates: limit %d is not within 1 and 100, or timeout %d within 0 and 50", p.Limit, p.Timeout)
	}
	q := &s.updates
	q.allowed = p.AllowedUpdates
	s.confirm(p.Offset)
	if req.repeat {
		return q.batch(max(0, q.done-p.Limit), p.Limit), nil
	}
	deadline := time.NewTimer(time.Duration(p.Timeout) * time.Second)
	defer deadline.Stop()
	q.waiting++
	defer func() { q.waiting-- }()
	s.touch() // for those who wait for Pending and Polling
	for over := p.Timeout == 0; len(q.all) == q.done && !over; {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-deadline.C:
			over = true
		case <-req.ctx.Done():
			over = true // nobody hears the answer
		}
		s.mu.Lock()
	}
	return q.batch(q.done, p.Limit), nil
}

// confirm forgets all updates before an offset.
func (s *Server) confirm(offset int64) {
	q := &s.updates
	if offset == 0 {
		return
	}
	if offset < q.offset {
		s.violate("getUpdates: offset %d after %d", offset, q.offset)
	}
	q.offset = max(q.offset, offset)
	for q.done < len(q.all) && q.all[q.done].id < offset {
		q.done++
	}
}

func (q *queue) batch(from, limit int) []json.RawMessage {
	list := []json.RawMessage{} // [] and not null
	for _, u := range q.all[from:min(from+limit, len(q.all))] {
		list = append(list, u.body)
	}
	return list
}

// Polling says whether a getUpdates is waiting now.
func (s *Server) Polling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates.waiting > 0
}

// Pending is the number of updates that the bot has not confirmed.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates.all) - s.updates.done
}

// ResumeAt makes id the id of the next update, wherever the bot's offset is: after a week without
// updates Telegram chooses the next id at random. All updates must be confirmed.
func (s *Server) ResumeAt(id int64) {
	defer s.lock()()
	s.updates.next, s.updates.offset = id, 0
}
