package mind

import (
	"errors"
	"strings"

	"lethe/chat"
	"lethe/life/event"
)

// Events that wake the identity: lines in rooms, signed by triggers and jobs.

// fired owes the line that wakes the identity, and notes its alarm.
func (s *State) fired(fired event.Fired) error {
	if len(fired.Posts) == 0 {
		return errors.New("no room")
	}
	if fired.Again != "" {
		return s.firedAgain(fired)
	}
	line, err := s.post(Post{ID: fired.ID, Wakes: true}, fired.By, chat.NoQuestion(fired.Say), fired.Posting)
	if err != nil {
		return err
	}
	id, once := strings.CutPrefix(fired.By, Deadline)
	if once {
		s.closeQuestion(id)
	}
	s.Notices++
	wake := Wake{By: fired.By, Room: fired.Posts[0].Room, Hash: chat.Hash(line), Line: string(line)}
	s.Wakes = plus(s.Wakes, wake)
	comesOnce := s.jobEnded(fired.By) || once
	if comesOnce || s.Child(fired.Posts[0].Room) != nil { // its signer fires no second time
		return nil
	}
	s.countFiring(fired)
	return nil
}

// firedAgain owes the line of a firing once more, since it vanished from its room before it was heard.
func (s *State) firedAgain(fired event.Fired) error {
	for _, wake := range s.LostWakes() {
		if post := fired.Posts[0]; wake.Room == post.Room && wake.Hash == fired.Again {
			again := Post{ID: fired.ID, Room: post.Room, Line: wake.Line, Mark: post.Mark, Wakes: true}
			s.Outbox = append(s.Outbox, again)
			s.Notices++
			return nil
		}
	}
	return errors.New("no line that was posted and not heard")
}
