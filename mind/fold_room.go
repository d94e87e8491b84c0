package mind

import (
	"cmp"
	"errors"
	"slices"

	"lethe/chat"
	"lethe/life/event"
)

// Events of rooms: lines heard, commands, and lines that the identity posts.

func (s *State) joined(e event.Joined, from source) error {
	r := s.room(e.Room)
	r.Joined = true
	if first := e.First; first != nil { // a renewed subscription keeps its cursor
		r.Cursor = first.Cursor()
		r.Began = first.End
	}
	_, err := s.add(Entry{N: e.N}, from)
	return err
}

func (s *State) inbound(e event.Inbound, from source) error {
	entry := Entry{N: e.N, Room: e.Room, Show: e.Show, Places: e.Places, Own: joinSpans(e.Own), Images: e.Images}
	if e.Answers != "" {
		q, err := s.answered(e)
		if err != nil {
			return err
		}
		entry.About, entry.Said = &q.Ref, e.Choice
	}
	if _, err := s.add(entry, from); err != nil {
		return err
	}
	r, body := s.room(e.Room), from.bodies[0].Data
	s.move(e.Room, e.Moved)
	r.pass(e.Passage, body)
	s.listen(e.Room, body, entry.Own, e.Asleep)
	return nil
}

// lineKinds says which kinds of lines an inbound body has.
type lineKinds struct {
	users, agents bool // lines that people, or other identities, wrote by themselves
	woken         bool // lines that a Fired of this life has fixed
	work          bool // lines by which a parent gives work
}

// listen takes in the lines of an inbound body, and owes the answers. Of lines heard asleep it owes no answer.
func (s *State) listen(room string, body []byte, own []Span, asleep bool) {
	var lines lineKinds
	for line := range Others(body, own) {
		s.hearLine(&lines, room, line, asleep)
		if _, asks := chat.ParseQuestion(line.Text); asks && line.Agent {
			s.placeQuestions(room, func(q *Question) { q.Cite = q.Cite || q.After != 0 })
		}
	}
	if lines.users {
		s.room(room).AgentTurns = 0
	}
	if !asleep {
		s.oweHeard(room, lines)
	}
}

// hearLine takes in one line, and adds its kind to lines.
func (s *State) hearLine(lines *lineKinds, room string, line chat.Line, asleep bool) {
	child, fired := s.Child(room), s.hear(room, line.Hash, asleep)
	if child != nil {
		itself := line.Name == child.Name
		if itself || !fired {
			s.hearChild(room, line, asleep)
			return
		}
	}
	switch {
	case fired:
		lines.woken = true
	case s.FromParent(room, line):
		s.giveWork(asleep)
		lines.work = true
	case line.Agent:
		lines.agents = true
	default:
		lines.users = true
	}
}

// oweHeard owes a room the answer to lines of these kinds.
func (s *State) oweHeard(room string, lines lineKinds) {
	if lines.users {
		s.resume()
		s.Spoken = true
		for _, child := range s.Children { // their results wake again
			s.room(child.Room).AgentTurns = 0
		}
	}
	if lines.work {
		s.resume()
	}
	switch {
	case lines.users, lines.woken, lines.work: // each opens a turn with bounds of its own
		s.Owes = true
		s.newTurn()
		s.oweUsers(room)
	case lines.agents:
		s.Owes = true
		s.oweAgents(room)
	}
}

// move forgets old offsets where the file is another one.
func (s *State) move(room string, moved bool) {
	if moved {
		r := s.room(room)
		r.Own, r.Began, r.Stopped = nil, 0, 0
		s.placeQuestions(room, func(q *Question) { q.After = -1 })
	}
}

func (s *State) command(e event.Command) error {
	r := s.room(e.Room)
	s.move(e.Room, e.Moved)
	if e.Early { // lines before it are still unheard
		r.Own = AddSpan(r.Own, e.At)
	} else {
		r.pass(e.Passage, []byte(e.Line+"\n"))
		if e.Last != "" {
			r.Cursor.Last = append(r.Cursor.Last, e.Last)
		}
	}
	r.posted(cmp.Or(e.Last, chat.Hash([]byte(e.Line))))
	if e.Model != "" {
		s.WantModel, s.Away = e.Model, ""
	}
	if e.Forget.To > 0 {
		s.Forgets = plus(s.Forgets, e.Forget)
	}
	if !chat.Parse([]byte(e.Line)).Agent { // somebody is there
		acts := e.Raise > 0 || e.Name == "/stop" || e.Name == "/model" // other commands only look
		if acts || s.Until.IsZero() {
			s.resume()
		}
		s.newTurn()
	}
	if e.Name == "/stop" { // what was decided to be said is said all the same
		s.endTurn()
		s.stopWork()
		if err := s.stopChildren(e); err != nil {
			return err
		}
		s.Approved = without(s.Approved, func(q Question) bool { return !q.Began })
		if e.Early {
			r.Stopped = e.At.To
		}
	}
	return s.notice(e.ID, e.Notice)
}

func (s *State) posted(e event.Posted) error {
	i := slices.IndexFunc(s.Outbox, func(p Post) bool { return p.ID == e.ID && p.Room == e.Room })
	if i < 0 {
		return errors.New("posted what was not owed")
	}
	post := s.Outbox[i]
	s.Outbox = slices.Delete(slices.Clone(s.Outbox), i, i+1)
	for j := range s.Outbox[i:] { // a later line to this room is not before this one, even if it is the same
		if later := &s.Outbox[i+j]; later.Room == e.Room {
			later.Mark = e.Cursor(nil).Mark()
		}
	}
	r := s.room(e.Room)
	for _, torn := range e.Torn {
		r.Own = AddSpan(r.Own, torn)
	}
	if post.Wakes {
		return nil // it is heard when it is read
	}
	if r.Joined && r.Cursor.SameFile(e.Cursor(nil)) && r.Cursor.Offset == e.At.From { // nobody else's line is between
		r.pass(e.Passage, []byte(post.Line))
	} else if e.At.To > r.Cursor.Offset {
		r.Own = AddSpan(r.Own, e.At)
	}
	r.posted(chat.Hash([]byte(post.Line)))
	s.placeQuestions(e.Room, func(q *Question) {
		if q.Notice == e.ID {
			q.After = e.At.To
		}
	})
	if c, err := s.find(e.ID); err == nil && c.Status == "" { // otherwise it was said in a turn that may be over
		s.Said = with(s.Said, e.Room)
	}
	return nil
}

// hearChild takes in a line of the room of a child. Nothing but its results wakes, and each
// such opens a turn for those whom the work was for.
func (s *State) hearChild(room string, l chat.Line, asleep bool) {
	s.Children = slices.Clone(s.Children)
	c := s.Child(room)
	if l.Command == "stop" {
		c.stop()
	}
	o, ok := chat.ParseOutcome(l.Text)
	if !ok || !l.By(c.Name) || !c.end(o) || asleep {
		return
	}
	s.room(room).AgentTurns++ // so that a parent and its child do not go on for ever
	s.Steps, s.Cut, s.Owes = 0, 0, true
	for _, room := range c.For {
		if c.Peers {
			s.Peers = with(s.Peers, room)
		} else {
			s.Waiting = with(s.Waiting, room)
		}
	}
}
