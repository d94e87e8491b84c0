package mind

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
)

// notice queues the line that the harness says.
func (s *State) notice(id string, n event.Notice) error {
	if n.Say == "" {
		return nil
	}
	s.Notices++
	return s.owe(id, n.Say, n.Posting)
}

// owe puts the line of a text into the outbox for each room.
func (s *State) owe(id, text string, where event.Posting) error {
	_, err := s.post(Post{ID: id}, s.Name, chat.NoQuestion(s.plain(text)), where)
	return err
}

// post puts the line of a text into the outbox for each room, and returns the first of
// them, which alone wakes. In a room for notices the line says which other room it stands in.
func (s *State) post(like Post, by, text string, where event.Posting) (first []byte, err error) {
	from := ""
	for i, p := range where.Posts {
		said := text
		if chat.ForNotices(p.Room) {
			said = chat.Notice(from, text)
		} else if i == 0 {
			from = p.Room
		}
		line, err := chat.Format(true, by, where.TS, said)
		if err != nil {
			return nil, err
		}
		like.Room, like.Line, like.Mark = p.Room, string(line), p.Mark
		s.Outbox = append(s.Outbox, like)
		if by == s.Name {
			s.gives(p.Room, s.Due)
		}
		if i == 0 {
			first, by, like.Wakes = line, s.Name, false
		}
	}
	return first, nil
}

// conclude owes the line that ends a child's work to its room, and the text as it is to
// the others.
func (s *State) conclude(id, text string, ref Ref, failed bool, where event.Posting) error {
	t := *s.Task
	o := chat.Outcome{N: t.Given, Failed: failed, Text: cmp.Or(strings.TrimSpace(text), "it said nothing")}
	if err := s.owe(id, o.Text, where); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(o.Text); n > maxOutcome {
		o.Text = fmt.Sprintf("%s… [%d characters in all; UNCOMPACT hash=%s]", CutRunes(o.Text, maxOutcome-100), n, ref.Short)
	}
	line, err := chat.Format(true, s.Name, where.TS, o.String())
	for i, p := range s.Outbox {
		if p.ID == id && p.Room == t.Room {
			s.Outbox[i].Line = string(line)
		}
	}
	t.end(o)
	s.Task = &t
	return err
}

// maxOutcome is how many characters of a result stand in its line; the rest is behind its ref.
const maxOutcome = 2000

// stopChildren ends the work of the children that a /stop is relayed to, and owes its
// line to their rooms.
func (s *State) stopChildren(e event.Command) error {
	if len(e.Relay) == 0 {
		return nil
	}
	line, err := chat.Format(false, e.By, e.TS, e.Name)
	if err != nil {
		return err
	}
	s.Children = slices.Clone(s.Children)
	for _, p := range e.Relay {
		if c := s.Child(p.Room); c != nil {
			c.stop()
		}
		s.Outbox = append(s.Outbox, Post{ID: e.ID, Room: p.Room, Line: string(line), Mark: p.Mark})
	}
	return nil
}

func (s *State) endTurn() {
	s.Due.end()
	s.Tally.end()
	s.Alarms.end()
}

// add makes an entry out of the first ref of a line.
func (s *State) add(entry Entry, from source) (*Entry, error) {
	if entry.N != s.Next {
		return nil, fmt.Errorf("entry number is not e%d", s.Next)
	}
	if len(from.bodies) == 0 {
		return nil, errors.New("no body")
	}
	if unit := s.Unit(); unit != nil && unit.Waits() {
		return nil, fmt.Errorf("a result of e%d is still to come", unit.N) // nothing stands inside a unit
	}
	entry.Kind, entry.At, entry.Ref = kindOf(from.Kind), from.At, from.ref()
	if err := entry.load(from.bodies[0].Data); err != nil {
		return nil, err
	}
	s.Live = append(s.Live, &entry)
	s.Next++
	return &entry, nil
}

// Body is a blob that an event refers to, with the whole address.
type Body struct {
	Hash blobs.Hash
	Data []byte
}

// source is the line that an event was read from, with the bodies of its refs.
type source struct {
	life.Event
	bodies []Body
}

// ref is the first ref of a line.
func (from source) ref() Ref {
	return Ref{Hash: from.bodies[0].Hash, Short: from.Refs[0].Hash, Gist: from.Refs[0].Gist}
}

// files names the files that are sent with a line, below its text.
func (from source) files() (tags string) {
	for _, r := range from.Refs {
		if f, ok := blobs.ParseFile(r.Gist); ok {
			tags += "\n" + f.Tag(r.Hash)
		}
	}
	return tags
}
