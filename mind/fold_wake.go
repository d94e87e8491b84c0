package mind

import (
	"errors"
	"strings"

	"lethe/chat"
	"lethe/life/event"
)

// Events of what wakes the identity by itself: lines in rooms that others sign for it.

// fired owes the line that wakes the identity, and waits for it to be heard.
func (s *State) fired(e event.Fired) error {
	if len(e.Posts) == 0 {
		return errors.New("no room")
	}
	if e.Again != "" {
		return s.firedAgain(e)
	}
	line, err := s.post(Post{ID: e.ID, Wakes: true}, e.By, chat.NoQuestion(e.Say), e.Posting)
	if err != nil {
		return err
	}
	id, once := strings.CutPrefix(e.By, Deadline)
	if once {
		s.closeQuestion(id)
	}
	s.Notices++
	wake := Wake{By: e.By, Room: e.Posts[0].Room, Hash: chat.Hash(line), Line: string(line)}
	s.Wakes = plus(s.Wakes, wake)
	if s.jobEnded(e.By) || once || s.Child(e.Posts[0].Room) != nil { // of which there is nothing more to know
		return nil
	}
	s.countFiring(e)
	return nil
}

// firedAgain owes the line of a firing once more: it has gone from its room before it was heard.
func (s *State) firedAgain(e event.Fired) error {
	for _, w := range s.LostWakes() {
		if p := e.Posts[0]; w.Room == p.Room && w.Hash == e.Again {
			s.Outbox = append(s.Outbox, Post{ID: e.ID, Room: p.Room, Line: w.Line, Mark: p.Mark, Wakes: true})
			s.Notices++
			return nil
		}
	}
	return errors.New("no line that was posted and not heard")
}
