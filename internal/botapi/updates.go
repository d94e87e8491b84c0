package botapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-telegram/bot/models"
)

// A queue holds the updates that the bot has not confirmed.
type queue struct {
	next      int64    // id of the next update
	pending   []update // in order of id
	history   []update // the newest that were confirmed, for Repeat
	confirmed int64    // the highest offset ever given
	allowed   []string // as set by the last getUpdates; empty: all
	poll      *poll    // the one that waits
}

// An update is kept as it is sent, whatever happens to its message later.
type update struct {
	id   int64
	kind string // the name of its one field
	body json.RawMessage
}

func (u update) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"update_id":%d,%q:%s}`, u.id, u.kind, u.body), nil
}

// A poll is a getUpdates that waits.
type poll struct{ reason string } // why another request has ended it

// push queues an update of an allowed type. s.mu is held.
func (s *Server) push(u models.Update) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(encode(u), &fields); err != nil {
		panic(err)
	}
	delete(fields, "update_id")
	for kind, body := range fields {
		s.pushRaw(kind, body)
	}
}

func (s *Server) pushRaw(kind string, body json.RawMessage) {
	q := &s.updates
	if len(q.allowed) == 0 || slices.Contains(q.allowed, kind) {
		q.pending = append(q.pending, update{q.next, kind, body})
		q.next++
	}
}

const (
	otherPoll = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	webhookOn = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)

type getUpdatesParams struct {
	Offset         int64    `json:"offset"`
	Limit          int      `json:"limit"`
	Timeout        int      `json:"timeout"`
	AllowedUpdates []string `json:"allowed_updates"`
}

func (s *Server) getUpdates(req *request) (any, *refusal) {
	p := new(getUpdatesParams)
	me := &poll{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref := s.decode(req, p); ref != nil {
		return nil, ref
	}
	if s.webhook != "" {
		return nil, refuse(http.StatusConflict, webhookOn)
	}
	if p.Limit < 1 || p.Limit > 100 || p.Timeout < 0 || p.Timeout > 50 {
		s.violate("getUpdates: limit %d is not within 1 and 100, or timeout %d within 0 and 50", p.Limit, p.Timeout)
	}
	s.updates.allowed = p.AllowedUpdates
	s.confirm(p.Offset)
	s.touch() // for those who wait for Pending
	if req.repeat {
		return s.updates.again(p.Limit), nil
	}
	deadline := time.NewTimer(time.Duration(p.Timeout) * time.Second)
	defer deadline.Stop()
	defer s.endPoll(me, "")
	for over := p.Timeout == 0; ; {
		if batch := s.updates.batch(p.Limit); len(batch) > 0 || over {
			return batch, nil
		}
		if s.updates.poll != me { // only a poll that has to wait ends another one
			s.endPoll(s.updates.poll, otherPoll)
			s.updates.poll = me
			s.touch()
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-deadline.C:
			over = true
		case <-req.r.Context().Done():
			over = true // nobody hears the answer
		}
		s.mu.Lock()
		if me.reason != "" {
			return nil, refuse(http.StatusConflict, "%s", me.reason)
		}
	}
}

// endPoll ends a poll, if it waits; a reason makes it a conflict. s.mu is held.
func (s *Server) endPoll(p *poll, reason string) {
	if p != nil && s.updates.poll == p {
		s.updates.poll = nil
		p.reason = reason
		s.touch()
	}
}

// confirm forgets all updates before an offset.
func (s *Server) confirm(offset int64) {
	q := &s.updates
	if offset == 0 {
		return
	}
	if offset < q.confirmed {
		s.violate("getUpdates: offset %d after %d", offset, q.confirmed)
	}
	q.confirmed = max(q.confirmed, offset)
	for len(q.pending) > 0 && q.pending[0].id < offset {
		q.history = append(q.history, q.pending[0])
		q.pending = q.pending[1:]
	}
}

func (q *queue) batch(limit int) []update {
	return append([]update{}, q.pending[:min(limit, len(q.pending))]...) // [] and not null
}

// again is a batch that begins with updates that were confirmed.
func (q *queue) again(limit int) []update {
	old := slices.Clone(q.history[max(0, len(q.history)-limit):])
	return append(old, q.batch(limit-len(old))...)
}

// Polling says whether a getUpdates is waiting now.
func (s *Server) Polling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates.poll != nil
}

// Pending is the number of updates that the bot has not confirmed.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates.pending)
}

// Webhook makes a webhook active, as another program with the same token might; "" deletes it.
// While there is one, getUpdates is answered with 409.
func (s *Server) Webhook(url string) {
	defer s.lock()()
	s.webhook = url
	if url != "" {
		s.endPoll(s.updates.poll, "Conflict: terminated by setWebhook request")
	}
}

// ResumeAt makes id the id of the next update, wherever the bot's offset is: after a week without
// updates Telegram chooses the next id at random. All updates must be confirmed.
func (s *Server) ResumeAt(id int64) {
	defer s.lock()()
	if len(s.updates.pending) > 0 {
		panic("botapi: updates are waiting")
	}
	s.updates.next, s.updates.confirmed = id, 0
}
