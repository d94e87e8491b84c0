package mind

import (
	"errors"
	"strings"

	"lethe/blobs"
	"lethe/life/event"
)

// Events of a turn: replies, calls and their results, notes and errors.

// reply adds the entry of a reply. A final one owes its text to the rooms, and ends the turn.
func (s *State) reply(reply event.Reply, from source) error {
	answers := Entry{N: reply.N, Model: reply.Model, Refused: reply.Refused}
	if s.Apart() {
		answers.Room = s.TurnRoom()
	}
	entry, err := s.add(answers, from)
	if err != nil {
		return err
	}
	s.Usage.Replies++
	s.Usage.add(reply.Tokens)
	if reply.In > 0 {
		s.Usage.LastInput, s.Usage.LastWeight = reply.In, reply.Weight
	}
	s.Owes, s.Cut, s.Told, s.Overflows = false, 0, "", 0
	s.Steps++
	s.pass(reply.Passed...)
	s.promise(reply.Checks)
	for _, id := range reply.Withdrawn {
		s.closeQuestion(id)
	}
	if len(entry.Calls) > 0 {
		return nil
	}
	text := blobs.Unescape(entry.Text)
	if reply.Refused {
		s.Owes, s.Refusals = true, with(s.Refusals, RefusalOf(text))
		return nil
	}
	if reply.Caveat != "" {
		text = strings.TrimSpace(text + "\n\n" + reply.Caveat)
	}
	if s.Concludes() {
		err = s.conclude(EntryID(reply.N), text, from.ref(), reply.Caveat != "", reply.Posting)
	} else {
		err = s.owe(EntryID(reply.N), text, reply.Posting)
	}
	if err != nil {
		return err
	}
	s.endTurn()
	return nil
}

// call notes that a tool begins to run, and owes the line of a SAY or SPAWN.
func (s *State) call(began event.Call, from source) error {
	call, err := s.find(began.ID)
	if err != nil {
		return err
	}
	if call.Started || call.Status != "" {
		return errors.New("a second call")
	}
	call.Started, call.Posts = true, len(began.Posts) > 0
	if !call.Posts {
		return nil
	}
	_, message := call.Say()
	if began.Child != "" {
		s.spawned(began.ID, began.Child, began.Posting)
		message = call.Arg("brief")
	}
	if strings.TrimSpace(message) == "" {
		return nil // the tool will find nothing to post
	}
	s.Said = with(s.Said, began.Posts[0].Room)
	return s.owe(began.ID, message+from.files(), began.Posting)
}

// result adds the result of a call. Once the unit has all results, a model call is due, unless the unit asks people.
func (s *State) result(ended event.Result, from source) error {
	call, err := s.find(ended.ID)
	if err != nil {
		return err
	}
	missing := ended.Status == "" || len(from.bodies) == 0
	if missing || call.Status != "" {
		return errors.New("no body, no status, or a second result")
	}
	body := from.bodies[0].Data
	exact := ""
	if ended.Status == NotStarted {
		exact = ExactCall(call.Tool, blobs.Unescape(call.Args))
	}
	if question, ok := s.Asked(ended.ID, exact); ok {
		call.About = &question.Ref
	}
	call.Status, call.Result, call.Images = ended.Status, from.ref(), ended.Images
	call.Show, call.Places = ended.Show, ended.Places
	call.Text = call.shown(body)
	if call.Status != OK {
		s.notSpawned(ended.ID)
	} else if call.Tool == "USE" {
		s.Used = counted(s.Used, call.Arg("name"))
	}
	s.learn(ended.File)
	s.closeQuestion(ended.Withdrawn)
	s.repeat(Digest([]byte(call.Tool + "\x00" + call.Args + "\x00" + string(body))))
	switch {
	case s.Unit().Waits():
	case call.asks():
		s.endTurn()
	default:
		s.Owes = true
	}
	s.goesOn(ended.Job, s.TurnRoom())
	return nil
}

// note adds a message of the harness, which may end an approved call.
func (s *State) note(note event.Note, from source) error {
	s.learn(note.File)
	switch note.Why {
	case "cut":
		s.Cut++
		s.Steps++
	case "repeat":
		s.LastCall, s.Repeats = "", 0
	}
	entry := Entry{N: note.N, Show: note.Show, Places: note.Places}
	if note.Run != "" {
		question, err := s.ran(note.Run, note.Status)
		if err != nil {
			return err
		}
		entry.About, entry.Said = &question.Ref, note.Status
		s.goesOn(note.Job, question.Room)
	}
	_, err := s.add(entry, from)
	return err
}

// paused stops model calls until somebody acts or the pause ends. The answer stays
// owed, unless the event ends the turn, too; a child then concludes its work.
func (s *State) paused(pause event.Paused) error {
	if !pause.Ended {
		s.Paused, s.Until, s.Told = pause.Why, pause.Until, ToldPause(pause.Until)
		return s.notice(pause.ID, pause.Notice)
	}
	s.endTurn()
	if pause.Say != "" && s.Works() {
		s.Notices++
		return s.conclude(pause.ID, pause.Say, Ref{}, true, pause.Posting)
	}
	return s.notice(pause.ID, pause.Notice)
}

// Short is the What of an error of a server that takes Window tokens, and drops the rest without a word.
const Short = "short"

// failed notes an error after which the identity goes on.
func (s *State) failed(failure event.Error) error {
	if failure.Say != "" && failure.What == "model" {
		s.Told = failure.What
	}
	if failure.Window > 0 {
		s.Window, s.Short = failure.Window, failure.What == Short
	}
	if failure.Window > 0 && !s.Short {
		s.Overflows++
	}
	return s.notice(failure.ID, failure.Notice)
}
