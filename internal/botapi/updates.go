package botapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/go-telegram/bot/models"
)

const (
	maxPoll    = 50  // seconds; the real server takes longer timeouts for this
	maxBatch   = 100 // updates
	maxHistory = 1000
	future     = 10 // an offset so far beyond the newest update is taken for none
)

// notByDefault are the updates that come only when asked for.
var notByDefault = []string{"chat_member", "message_reaction", "message_reaction_count"}

// A queue holds the updates that the bot has not confirmed.
type queue struct {
	next      int64    // id of the next update
	pending   []update // in order of id
	history   []update // the newest that were confirmed, for Repeat
	confirmed int64    // the highest offset ever given
	allowed   []string // as set by the last getUpdates that said; empty: all but notByDefault
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
type poll struct {
	ended  chan struct{} // closed when another request ends it
	reason string        // why
}

// push queues an update of an allowed type and returns its id; 0: not allowed.
// s.mu is held.
func (s *Server) push(u models.Update) int64 {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(encode(u), &fields); err != nil {
		panic(err)
	}
	delete(fields, "update_id")
	if len(fields) != 1 {
		panic("botapi: an update has one field")
	}
	for kind, body := range fields {
		return s.pushRaw(kind, body)
	}
	return 0
}

func (s *Server) pushRaw(kind string, body json.RawMessage) int64 {
	q := &s.updates
	if !q.takes(kind) {
		return 0
	}
	u := update{id: q.next, kind: kind, body: body}
	q.next++
	q.pending = append(q.pending, u)
	return u.id
}

func (q *queue) takes(kind string) bool {
	if len(q.allowed) == 0 {
		return !slices.Contains(notByDefault, kind)
	}
	return slices.Contains(q.allowed, kind)
}

const (
	otherPoll = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	webhookOn = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	setHook   = "Conflict: terminated by setWebhook request"
)

// grace is how long a poll that another one has ended stays open to see whether
// its client has left: a bot that gave up its poll and began a new one, or was
// killed and started again, does nothing wrong.
const grace = time.Second

func (s *Server) getUpdates(req *request) (any, *refusal) {
	p := new(getUpdatesParams)
	if ref := req.decode(p); ref != nil {
		return nil, ref
	}
	me := &poll{ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.webhook != "" {
		return nil, refuse(http.StatusConflict, webhookOn)
	}
	limit, timeout := s.bounds(p)
	s.allow(p.AllowedUpdates)
	s.confirm(p.Offset)
	s.touch() // for those who wait for Offset or Pending
	if req.repeat {
		return s.updates.again(limit), nil
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		if batch := s.updates.batch(limit); len(batch) > 0 || timeout == 0 {
			s.endPoll(me, "")
			return batch, nil
		}
		s.beginPoll(me)
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-me.ended:
		case <-deadline.C:
			timeout = 0
		case <-req.r.Context().Done():
			timeout = 0 // nobody hears the answer
		}
		s.mu.Lock()
		if me.reason != "" {
			return nil, s.conflict(req, me)
		}
	}
}

// bounds are the limit and the timeout that count. The real server repairs those
// out of range without a word.
func (s *Server) bounds(p *getUpdatesParams) (limit int, timeout time.Duration) {
	limit = maxBatch
	if p.Limit != nil {
		limit = min(max(*p.Limit, 1), maxBatch)
		if limit != *p.Limit {
			s.violate("getUpdates: limit %d is not within 1 and %d", *p.Limit, maxBatch)
		}
	}
	seconds := min(max(p.Timeout, 0), maxPoll)
	if seconds != p.Timeout {
		s.violate("getUpdates: timeout %d is not within 0 and %d", p.Timeout, maxPoll)
	}
	return limit, time.Duration(seconds) * time.Second
}

// allow sets which updates are queued from now on; nil leaves it as it is.
func (s *Server) allow(names []string) {
	for _, name := range names {
		if _, known := field(reflect.TypeFor[models.Update](), name); !known {
			s.violate("getUpdates: no update is called %q", name)
		}
	}
	if names != nil {
		s.updates.allowed = names
	}
}

// confirm forgets all updates before an offset. A negative one counts from the
// end of the queue; one far beyond it is taken for none, which is how a bot
// survives that ids begin anew.
func (s *Server) confirm(offset int64) {
	q := &s.updates
	switch {
	case offset == 0 || offset > q.next+future:
		return
	case offset < 0:
		offset += q.next
	case offset < q.confirmed:
		s.violate("getUpdates: offset %d after %d", offset, q.confirmed)
	}
	q.confirmed = max(q.confirmed, offset)
	for len(q.pending) > 0 && q.pending[0].id < offset {
		q.history = append(q.history, q.pending[0])
		q.pending = q.pending[1:]
	}
	q.history = q.history[max(0, len(q.history)-maxHistory):]
}

func (q *queue) batch(limit int) []update {
	return append([]update{}, q.pending[:min(limit, len(q.pending))]...) // [] and not null
}

// again is a batch that begins with updates that were confirmed.
func (q *queue) again(limit int) []update {
	old := slices.Clone(q.history[max(0, len(q.history)-limit):])
	return append(old, q.batch(limit-len(old))...)
}

// beginPoll makes me the poll that waits. Only a poll that has to wait ends
// another one, as with the real server. s.mu is held.
func (s *Server) beginPoll(me *poll) {
	if s.updates.poll != me {
		s.endPoll(s.updates.poll, otherPoll)
		s.updates.poll = me
		s.touch()
	}
}

// endPoll ends a poll, if it waits; a reason makes it a conflict. s.mu is held.
func (s *Server) endPoll(p *poll, reason string) {
	if p == nil || s.updates.poll != p {
		return
	}
	s.updates.poll = nil
	s.touch()
	if reason != "" {
		p.reason = reason
		close(p.ended)
	}
}

// conflict is the answer to a poll that was ended. Two bots are a violation, if
// there is still somebody to hear it; a webhook is not the bot's fault. s.mu is
// held, but not while it looks.
func (s *Server) conflict(req *request, p *poll) *refusal {
	s.mu.Unlock()
	t := time.NewTimer(grace)
	defer t.Stop()
	left := false
	select {
	case <-t.C:
	case <-req.r.Context().Done():
		left = true
	}
	s.mu.Lock()
	if !left && p.reason == otherPoll {
		s.violate("getUpdates: %s", p.reason)
	}
	return refuse(http.StatusConflict, "%s", p.reason)
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

// Webhook makes a webhook active, as another program with the same token might;
// "" deletes it. While there is one, getUpdates is answered with 409.
func (s *Server) Webhook(url string) {
	defer s.lock()()
	s.webhook = url
	if url != "" {
		s.endPoll(s.updates.poll, setHook)
	}
}
