package mind

import (
	"errors"

	"lethe/life/event"
)

func (s *State) asked(asked event.Asked, from source) error {
	if len(from.bodies) == 0 {
		return errors.New("no question")
	}
	ask, err := DecodeAsk(from.bodies[0].Data)
	if err != nil {
		return err
	}
	ref := from.ref()
	question := Question{
		Question: ask.question(s.questionID(ref.Hash), ref),
		Room:     ask.Room, Asked: asked.TS, Ref: ref, Call: asked.Call, Notice: asked.ID, Tool: ask.Tool, Exact: ask.Step,
	}
	if ask.Tool != "" {
		question.Exact = ExactCall(ask.Tool, ask.Args)
	}
	s.Notices++
	s.Questions = plus(s.Questions, question)
	_, err = s.post(Post{ID: asked.ID}, s.Name, question.String(), asked.Posting)
	return err
}

// begins marks the approved call that is about to run, and owes the line of a SAY.
func (s *State) begins(run event.Run, from source) error {
	call, ok := s.beginApproved(run.ID, len(run.Posts) > 0)
	if !ok {
		return errors.New("a call that nobody has approved, or a second time")
	}
	if run.Child != "" {
		s.spawned(run.ID, run.Child, run.Posting, call.Room)
	}
	return s.owe(run.ID, run.Say+from.files(), run.Posting)
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
