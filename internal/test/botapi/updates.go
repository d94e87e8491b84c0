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
	done    int      // number of confirmed ones
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
	queue := &s.updates
	if len(queue.allowed) == 0 || slices.Contains(queue.allowed, kind) {
		queue.all = append(queue.all, update{queue.next, fmt.Appendf(nil, `{"update_id":%d,%q:%s}`, queue.next, kind, encode(body))})
		queue.next++
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
	var params getUpdatesParams
	if ref := s.decode(req, &params); ref != nil {
		return nil, ref
	}
	badLimit := params.Limit < 1 || params.Limit > 100
	badTimeout := params.Timeout < 0 || params.Timeout > 50
	if badLimit || badTimeout {
		s.violate("getUpdates: limit %d is not within 1 and 100, or timeout %d within 0 and 50", params.Limit, params.Timeout)
	}
	queue := &s.updates
	queue.allowed = params.AllowedUpdates
	s.confirm(params.Offset)
	if req.repeat {
		return queue.batch(max(0, queue.done-params.Limit), params.Limit), nil
	}
	deadline := time.NewTimer(time.Duration(params.Timeout) * time.Second)
	defer deadline.Stop()
	queue.waiting++
	defer func() { queue.waiting-- }()
	s.touch() // for tests that wait for Pending and Polling
	for over := params.Timeout == 0; len(queue.all) == queue.done && !over; {
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
	return queue.batch(queue.done, params.Limit), nil
}

// confirm forgets all updates before an offset.
func (s *Server) confirm(offset int64) {
	queue := &s.updates
	if offset == 0 {
		return
	}
	if offset < queue.offset {
		s.violate("getUpdates: offset %d after %d", offset, queue.offset)
	}
	queue.offset = max(queue.offset, offset)
	for queue.done < len(queue.all) && queue.all[queue.done].id < offset {
		queue.done++
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
