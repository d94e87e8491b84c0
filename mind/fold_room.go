package mind

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/chat"
	"lethe/life"
)

// What happens in rooms: lines heard, commands, and what the identity posts.

func (s *State) joined(e life.Event, bodies []Body) error {
	r := s.room(e.Get("room"))
	r.Joined = true
	if e.Get("at") != "" { // a first subscription; a renewed one keeps its cursor
		r.Cursor = chat.Cursor{Inode: inode(e), Offset: e.Int("at"), Before: e.Get("before")}
		r.Began = e.Int("end")
		if last := e.Get("last"); last != "" {
			r.Cursor.Last = strings.Split(last, ",")
		}
	}
	_, err := s.entry(e, bodies)
	return err
}

func (s *State) left(e life.Event, _ []Body) error {
	s.room(e.Get("room")).Joined = false
	return nil
}

func (s *State) inbound(e life.Event, bodies []Body) error {
	r := s.room(e.Get("room"))
	span, err := parseSpan(e.Get("at"))
	if err != nil || len(bodies) == 0 {
		return errors.New("no range or no body")
	}
	var own []Span
	for _, o := range e.All("own") {
		mine, err := parseSpan(o)
		if err != nil {
			return err
		}
		own = AddSpan(own, mine)
	}
	r.move(e)
	if _, err := s.entryOf(e, bodies[0], own); err != nil {
		return err
	}
	r.pass(cursorOf(e, r, span.To), bodies[0].Data)
	s.listen(r, e, bodies[0].Data, own)
	return nil
}

// listen decides what an inbound body owes, and to whom.
func (s *State) listen(r *Room, e life.Event, body []byte, own []Span) {
	room := e.Get("room")
	users, agents := false, false
	var at int64
	for raw := range strings.Lines(string(body)) {
		from := at
		at += int64(len(raw))
		line := chat.Parse([]byte(raw))
		if line.Blank() || Covered(own, from, at) {
			continue
		}
		users, agents = users || !line.Agent, agents || line.Agent
	}
	switch {
	case e.Get("wake") == "no" || !users && !agents:
		return
	case users:
		s.Steps, s.Cut, r.AgentTurns = 0, 0, 0
		s.Paused = ""
		s.Waiting = add(s.Waiting, room)
		s.Peers = remove(s.Peers, room)
	default:
		if !slices.Contains(s.Waiting, room) {
			s.Peers = add(s.Peers, room)
		}
	}
	s.Owes = true
}

// cursorOf is where an event says that the room has been heard to.
func cursorOf(e life.Event, r *Room, offset int64) chat.Cursor {
	return chat.Cursor{Inode: inode(e), Offset: offset, Before: e.Get("before"), Last: r.Cursor.Last}
}

// inode reads a number that may use all of its 64 bits.
func inode(e life.Event) uint64 {
	n, _ := strconv.ParseUint(e.Get("inode"), 10, 64)
	return n
}

// move forgets old offsets where e says that the file is another one.
func (r *Room) move(e life.Event) {
	if e.Get("moved") != "" {
		r.Own, r.Began, r.Stopped = nil, 0, 0
	}
}

// pass moves the cursor of a room to next, over the lines in body.
func (r *Room) pass(next chat.Cursor, body []byte) {
	r.Cursor = next.Remember(body)
	r.Own = r.Own[endsAfter(r.Own, next.Offset):]
	if r.Stopped <= next.Offset {
		r.Stopped = 0
	}
}

// AddSpan adds a span to spans, which are in order, do not touch each other and
// stay so.
func AddSpan(spans []Span, s Span) []Span {
	i := endsAfter(spans, s.From-1)
	j := i
	for ; j < len(spans) && spans[j].From <= s.To; j++ {
		s = Span{min(s.From, spans[j].From), max(s.To, spans[j].To)}
	}
	return slices.Replace(spans, i, j, s)
}

// Covered reports whether one of spans, which are in order, holds [from, to).
func Covered(spans []Span, from, to int64) bool {
	i := endsAfter(spans, to-1)
	return i < len(spans) && spans[i].From <= from
}

// endsAfter is the index of the first of spans, which are in order, that ends after offset.
func endsAfter(spans []Span, offset int64) int {
	i, _ := slices.BinarySearchFunc(spans, offset+1, func(s Span, to int64) int { return cmp.Compare(s.To, to) })
	return i
}

// lastPosted is how many hashes of own lines a room keeps, to know them again in
// a file that was changed.
const lastPosted = 100

func (s *State) command(e life.Event, _ []Body) error {
	r := s.room(e.Get("room"))
	span, err := parseSpan(e.Get("at"))
	if err != nil {
		return err
	}
	r.move(e)
	if e.Get("early") != "" { // obeyed while lines before it are still unheard
		r.Own = AddSpan(r.Own, span)
	} else {
		r.pass(cursorOf(e, r, span.To), []byte(e.Get("line")+"\n"))
		if last := e.Get("last"); last != "" { // of a line too long to be recorded
			r.Cursor.Last = append(r.Cursor.Last, last)
		}
	}
	if model := e.Get("model"); model != "" {
		s.WantModel = model
	}
	s.Paused = "" // somebody is there
	s.Steps, s.Cut = 0, 0
	if e.Get("name") == "/stop" { // what was decided to be said is said all the same
		s.endTurn()
		if e.Get("early") != "" {
			r.Stopped = span.To
		}
	}
	return s.notice(e)
}

// notice queues the line that an event of the harness says in rooms.
func (s *State) notice(e life.Event) error {
	text := e.Get("say")
	if text == "" {
		return nil
	}
	s.Notices++
	return s.owePosts(e, e.Arg(0), text)
}

// owePosts puts the line of a text into the outbox for each room of the event.
func (s *State) owePosts(e life.Event, id, text string) error {
	posts := e.All("post")
	if len(posts) == 0 {
		return nil
	}
	at, err := time.Parse(time.RFC3339, e.Get("ts"))
	if err != nil {
		return err
	}
	line, err := chat.Format(true, s.Name, at, text)
	if err != nil {
		return err
	}
	for _, p := range posts {
		place, err := ParsePlace(p)
		if err != nil {
			return err
		}
		s.Outbox = append(s.Outbox, Post{ID: id, Room: place.Room, Line: string(line), Inode: place.Inode, From: place.Size})
	}
	return nil
}

func (s *State) posted(e life.Event, _ []Body) error {
	id, room := e.Arg(0), e.Get("room")
	i := slices.IndexFunc(s.Outbox, func(p Post) bool { return p.ID == id && p.Room == room })
	if i < 0 {
		return errors.New("posted what was not owed")
	}
	post := s.Outbox[i]
	s.Outbox = slices.Delete(slices.Clone(s.Outbox), i, i+1)
	span, err := parseSpan(e.Get("at"))
	if err != nil {
		return err
	}
	for j := range s.Outbox[i:] { // a later line to this room is not before this one, even if it is the same
		if later := &s.Outbox[i+j]; later.Room == room {
			later.Inode, later.From = inode(e), span.To
		}
	}
	r := s.room(room)
	for _, t := range e.All("torn") { // what an earlier attempt left in the room
		part, err := parseSpan(t)
		if err != nil {
			return err
		}
		r.Own = AddSpan(r.Own, part)
	}
	sameFile := r.Cursor.Inode == inode(e) || r.Cursor.Offset == 0
	if r.Joined && sameFile && r.Cursor.Offset == span.From { // nobody else's line is between
		r.pass(cursorOf(e, r, span.To), []byte(post.Line))
	} else if span.To > r.Cursor.Offset {
		r.Own = AddSpan(r.Own, span)
	}
	r.Posted = append(r.Posted, chat.Hash([]byte(post.Line)))
	r.Posted = r.Posted[max(0, len(r.Posted)-lastPosted):]
	if c, err := s.find(id); err == nil && c.Status == "" { // otherwise it was said in a turn that may be over
		s.Said = add(s.Said, room)
	}
	return nil
}
