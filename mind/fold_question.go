package mind

import (
	"errors"
	"strings"

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
	s.Notices++
	switch {
	case ask.Tool == "":
	case ask.Step != "": // a plan has given it to a worker, and people have approved the plan
		s.Approved = plus(s.Approved, question)
		return nil
	default:
		question.Exact = ExactCall(ask.Tool, ask.Args)
	}
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
		step := call.step()
		s.Children[len(s.Children)-1].Step = step
		if plan, _, is := strings.Cut(step, "/"); is { // here, since what is not started is given again
			s.Given = counted(s.Given, plan)
		}
	}
	return s.owe(run.ID, run.Say+from.files(), run.Posting)
}

// fails notes, where an approved call was for a step of a plan, that no child works for that.
func (s *State) fails(call Question, how string) {
	if step := call.step(); step != "" {
		s.Children = plus(s.Children, Child{Call: call.ID, Step: step, Work: Work{How: how}})
	}
}

// ran ends an approved call, and owes a turn about its output.
func (s *State) ran(id, status string) (Question, error) {
	call, ok := s.endApproved(id)
	if !ok {
		return Question{}, errors.New("the end of a call that did not run")
	}
	if status != OK && status != NotStarted { // a plan gives again what has not
		s.notSpawned(id)
		s.fails(call, WorkFailed)
	}
	if call.step() == "" {
		s.Owes = true
		if s.joinedTo(call.Room) {
			s.Waiting = with(s.Waiting, call.Room)
		}
	}
	return call, nil
}
