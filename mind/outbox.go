package mind

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"lethe/chat"
	"lethe/life/event"
)

// notice owes the line that the harness says, if it says anything.
func (s *State) notice(id string, notice event.Notice) error {
	if notice.Say == "" {
		return nil
	}
	s.Notices++
	return s.owe(id, notice.Say, notice.Posting)
}

// owe puts the line of a text into the outbox, once for each room.
func (s *State) owe(id, text string, where event.Posting) error {
	_, err := s.post(Post{ID: id}, s.Name, chat.NoQuestion(s.plain(text)), where)
	return err
}

// post puts the line of a text into the outbox, once for each room, and returns the first.
// Only the first is signed by by, and only it wakes, if like.Wakes is set. A line in a room
// for notices names the room where the same text stands.
func (s *State) post(like Post, by, text string, where event.Posting) (first []byte, err error) {
	from := ""
	for at, to := range where.Posts {
		said := text
		if chat.ForNotices(to.Room) {
			said = chat.Notice(from, text)
		} else if at == 0 {
			from = to.Room
		}
		line, err := chat.Format(true, by, where.TS, said)
		if err != nil {
			return nil, err
		}
		like.Room, like.Line, like.Mark = to.Room, string(line), to.Mark
		s.Outbox = append(s.Outbox, like)
		if by == s.Name {
			s.gives(to.Room, s.Due)
		}
		if at == 0 {
			first, by, like.Wakes = line, s.Name, false
		}
	}
	return first, nil
}

// conclude ends a child's work. It owes the outcome to the room of the task, and the plain text to the
// other rooms.
func (s *State) conclude(id, text string, ref Ref, failed bool, where event.Posting) error {
	task := *s.Task
	outcome := chat.Outcome{N: task.Given, Failed: failed, Text: cmp.Or(strings.TrimSpace(text), "it said nothing")}
	if err := s.owe(id, outcome.Text, where); err != nil {
		return err
	}
	if length := utf8.RuneCountInString(outcome.Text); length > maxOutcome {
		begin := CutRunes(outcome.Text, maxOutcome-100)
		outcome.Text = fmt.Sprintf("%s… [%d characters in all; UNCOMPACT hash=%s]", begin, length, ref.Short)
	}
	line, err := chat.Format(true, s.Name, where.TS, outcome.String())
	for at, post := range s.Outbox {
		if post.ID == id && post.Room == task.Room {
			s.Outbox[at].Line = string(line)
		}
	}
	task.end(outcome)
	s.Task = &task
	return err
}

// maxOutcome is the most characters of a result that its line holds; the line's ref leads to the rest.
const maxOutcome = 2000

// stopChildren relays a /stop to the rooms of children, and ends their work.
func (s *State) stopChildren(command event.Command) error {
	if len(command.Relay) == 0 {
		return nil
	}
	line, err := chat.Format(false, command.By, command.TS, command.Name)
	if err != nil {
		return err
	}
	s.Children = slices.Clone(s.Children)
	for _, to := range command.Relay {
		if child := s.Child(to.Room); child != nil {
			child.stop()
		}
		s.Outbox = append(s.Outbox, Post{ID: command.ID, Room: to.Room, Line: string(line), Mark: to.Mark})
	}
	return nil
}

func (s *State) endTurn() {
	for _, room := range s.Peers {
		s.room(room).AgentTurns++
	}
	s.Due.end()
	s.Tally.end()
	s.Alarms.end()
}
