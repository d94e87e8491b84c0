package mind

import (
	"errors"

	"lethe/life/event"
)

func (s *State) asked(e event.Asked, from source) error {
	if len(from.bodies) == 0 {
		return errors.New("no question")
	}
	k, err := DecodeAsk(from.bodies[0].Data)
	if err != nil {
		return err
	}
	ref := from.ref()
	q := Question{
		Question: k.question(s.questionID(ref.Hash), ref),
		Room:     k.Room, Asked: e.TS, Ref: ref, Call: e.Call, Notice: e.ID, Tool: k.Tool,
	}
	if k.Tool != "" {
		q.Exact = ExactCall(k.Tool, k.Args)
	}
	s.Notices++
	s.Questions = plus(s.Questions, q)
	_, err = s.post(Post{ID: e.ID}, s.Name, q.String(), e.Posting)
	return err
}

// begins marks the approved call that is about to run, and owes the line of a SAY.
func (s *State) begins(e event.Run, from source) error {
	call, ok := s.beginApproved(e.ID)
	if !ok {
		return errors.New("a call that nobody has approved, or a second time")
	}
	if e.Child != "" {
		s.spawned(e.ID, e.Child, e.Posting, call.Room)
	}
	return s.owe(e.ID, e.Say+from.files(), e.Posting)
}

// ran ends an approved call, and owes a turn about its output.
func (s *State) ran(id, status string) (Question, error) {
	call, ok := s.endApproved(id)
	if !ok {
		return Question{}, errors.New("the end of a call that did not run")
	}
	if status != OK {
		s.notSpawned(id)
	}
	s.Owes = true
	if s.joinedTo(call.Room) {
		s.Waiting = with(s.Waiting, call.Room)
	}
	return call, nil
}
