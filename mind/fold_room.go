package mind

import (
	"cmp"
	"errors"
	"slices"

	"lethe/chat"
	"lethe/life/event"
)

// Events of rooms: lines heard, commands, and lines that the identity posts.

// joined adds the note about a room. At the first subscription it sets the room's cursor.
func (s *State) joined(joined event.Joined, from source) error {
	room := s.room(joined.Room)
	room.Joined = true
	if first := joined.First; first != nil { // a renewed subscription keeps its cursor
		room.Cursor = first.Cursor()
		room.Began = first.End
	}
	_, err := s.add(Entry{N: joined.N}, from)
	return err
}

// inbound adds the entry of lines that the identity hears, and owes their answers.
func (s *State) inbound(inbound event.Inbound, from source) error {
	entry := Entry{
		N: inbound.N, Room: inbound.Room, Show: inbound.Show, Places: inbound.Places,
		Own: event.JoinSpans(inbound.Own), Images: inbound.Images,
	}
	if inbound.Answers != "" {
		question, err := s.answered(inbound)
		if err != nil {
			return err
		}
		entry.About, entry.Said = &question.Ref, inbound.Choice
		if question.OfStep() && inbound.Choice == Yes {
			s.pass(question.Exact)
		} else if question.OfStep() {
			s.pass(Denied + question.Exact)
		}
	}
	if _, err := s.add(entry, from); err != nil {
		return err
	}
	body := from.bodies[0].Data
	s.move(inbound.Room, inbound.Moved)
	room := s.room(inbound.Room)
	room.pass(inbound.Passage, body)
	for i, hash := range room.Cursor.Last {
		room.Cursor.Last[i] = inbound.Written(hash)
	}
	s.listen(inbound.Room, body, entry.Own, inbound.Asleep)
	return nil
}

// lineKinds are the kinds of lines in an inbound body.
type lineKinds struct {
	users, agents bool // lines that people, or other identities, wrote by themselves
	woken         bool // lines that a Fired of this life has fixed
	work          bool // a parent's lines to its child
}

// listen takes in the lines of an inbound body, and owes the answers. Of lines heard asleep it owes no answer.
func (s *State) listen(room string, body []byte, own []Span, asleep bool) {
	var lines lineKinds
	for line := range Others(body, own) {
		s.hearLine(&lines, room, line, asleep)
		if _, asks := chat.ParseQuestion(line.Text); asks && line.Agent {
			s.placeQuestions(room, func(question *Question) { question.Cite = question.Cite || question.After != 0 })
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
	child := s.Child(room)
	fired := s.hear(room, line.Hash, asleep || child != nil && child.Step != "")
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
	if lines.agents && slices.Contains(s.Said, room) {
		s.room(room).AgentTurns++ // the SAY was answered, and this is: two that SAY would not end
	}
	s.Said = without(s.Said, func(said string) bool { return said == room }) // a SAY before them is no answer to them
	if lines.users || lines.work {
		s.resume()
	}
	if lines.users {
		s.Spoken = true
		for _, child := range s.Children { // their results wake again
			s.room(child.Room).AgentTurns = 0
		}
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

// move forgets old offsets if another file has replaced the room.
func (s *State) move(room string, moved bool) {
	if moved {
		file := s.room(room)
		file.Own, file.Began, file.Stopped = nil, 0, 0
		s.placeQuestions(room, func(q *Question) { q.After = -1 })
	}
}

// actsOnBudget reports whether a command may end a pause for a budget. Other commands only look.
func actsOnBudget(command event.Command) bool {
	switch command.Name {
	case "/stop", "/model":
		return true
	}
	return command.Raise > 0
}

// command obeys a user's line for the harness.
func (s *State) command(command event.Command) error {
	room := s.room(command.Room)
	s.move(command.Room, command.Moved)
	if command.Early { // the identity has not heard the lines before it
		room.Own = event.AddSpan(room.Own, command.At)
	} else {
		room.pass(command.Passage, []byte(command.Line+"\n"))
		if command.Last != "" {
			room.Cursor.Last = append(room.Cursor.Last, command.Last)
		}
	}
	room.posted(cmp.Or(command.Last, chat.Hash([]byte(command.Line))))
	if command.Model != "" {
		s.WantModel, s.Away = command.Model, ""
	}
	if command.Forget.To > 0 {
		s.Forgets = plus(s.Forgets, command.Forget)
	}
	if !chat.Parse([]byte(command.Line)).Agent { // a person is there
		if s.Until.IsZero() || actsOnBudget(command) {
			s.resume()
		}
		s.newTurn()
	}
	if command.Name == "/stop" { // lines that are owed already are still posted
		s.endTurn()
		s.stopWork()
		if err := s.stopChildren(command); err != nil {
			return err
		}
		s.Approved = without(s.Approved, func(q Question) bool {
			if !q.Began {
				s.fails(q, WorkStopped)
			}
			return !q.Began
		})
		if command.Early {
			room.Stopped = command.At.To
		}
	}
	return s.notice(command.ID, command.Notice)
}

// posted removes a line from the outbox that now stands in its room.
func (s *State) posted(posted event.Posted) error {
	at := slices.IndexFunc(s.Outbox, func(p Post) bool { return p.ID == posted.ID && p.Room == posted.Room })
	if at < 0 {
		return errors.New("posted what was not owed")
	}
	post := s.Outbox[at]
	s.Outbox = slices.Delete(slices.Clone(s.Outbox), at, at+1)
	laterPosts := s.Outbox[at:]
	for i := range laterPosts { // a later post to the same room will stand behind this line, even an equal one
		if later := &laterPosts[i]; later.Room == posted.Room {
			later.Mark = posted.Cursor(nil).Mark()
		}
	}
	room := s.room(posted.Room)
	for _, torn := range posted.Torn {
		room.Own = event.AddSpan(room.Own, torn)
	}
	if post.Wakes {
		return nil // the identity hears it when it reads the room
	}
	// No unheard line may stand between the cursor and the line.
	follows := room.Cursor.Offset == posted.At.From && room.Cursor.SameFile(posted.Cursor(nil))
	if room.Joined && follows {
		room.pass(posted.Passage, []byte(post.Line))
	} else if posted.At.To > room.Cursor.Offset {
		room.Own = event.AddSpan(room.Own, posted.At)
	}
	room.posted(chat.Hash([]byte(post.Line)))
	s.placeQuestions(posted.Room, func(q *Question) {
		if q.Notice == posted.ID {
			q.After = posted.At.To
		}
	})
	if call, err := s.find(posted.ID); err == nil && call.Status == "" { // with a result, its turn may be over
		s.Said = with(s.Said, posted.Room)
	}
	return nil
}

// hearChild takes in a line of the room of a child. Only an outcome that the identity waits for
// opens a turn, for the rooms that wait for the work.
func (s *State) hearChild(room string, line chat.Line, asleep bool) {
	s.Children = slices.Clone(s.Children)
	child := s.Child(room)
	if line.Command == "stop" {
		child.stop()
	}
	outcome, ok := chat.ParseOutcome(line.Text)
	if !ok || !line.By(child.Name) {
		return
	}
	awaited := child.end(outcome)
	isStep := child.Step != ""
	if isStep && child.How == WorkDone {
		s.pass(child.Step)
	}
	if !awaited || asleep || isStep {
		return
	}
	s.room(room).AgentTurns++ // bounds the talk of a parent and its child
	s.newTurn()
	s.Owes = true
	for _, room := range child.For {
		if child.Peers {
			s.Peers = with(s.Peers, room)
		} else {
			s.Waiting = with(s.Waiting, room)
		}
	}
}
