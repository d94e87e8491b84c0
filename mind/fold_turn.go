package mind

import (
	"errors"
	"strings"

	"lethe/blobs"
	"lethe/life/event"
)

// Events of a turn: replies, calls and their results, notes and errors.

func (s *State) reply(e event.Reply, from source) error {
	entry, err := s.add(Entry{N: e.N, Model: e.Model, Refused: e.Refused}, from)
	if err != nil {
		return err
	}
	s.Usage.Replies++
	s.Usage.add(e.Tokens)
	if e.In > 0 {
		s.Usage.LastInput, s.Usage.LastWeight = e.In, e.Weight
	}
	s.Owes, s.Cut, s.Told, s.Overflows = false, 0, "", 0
	s.Steps++
	if len(entry.Calls) > 0 {
		return nil
	}
	text := blobs.Unescape(entry.Text)
	if e.Refused {
		s.Owes, s.Refusals = true, with(s.Refusals, RefusalOf(text))
		return nil
	}
	if e.Caveat != "" {
		text = strings.TrimSpace(text + "\n\n" + e.Caveat)
	}
	if s.Concludes() {
		err = s.conclude(EntryID(e.N), text, from.ref(), e.Caveat != "", e.Posting)
	} else {
		err = s.owe(EntryID(e.N), text, e.Posting)
	}
	if err != nil {
		return err
	}
	s.countAgentTurn(s.Peers...)
	s.endTurn()
	return nil
}

func (s *State) call(e event.Call, from source) error {
	c, err := s.find(e.ID)
	if err != nil {
		return err
	}
	if c.Started || c.Status != "" {
		return errors.New("a second call")
	}
	c.Started = true
	if len(e.Posts) == 0 {
		return nil
	}
	_, message := c.Say()
	if e.Child != "" {
		s.spawned(e.ID, e.Child, e.Posting)
		message = c.Arg("brief")
	}
	if strings.TrimSpace(message) == "" {
		return nil // no line says it, and the tool will find nothing to post
	}
	s.Said = with(s.Said, e.Posts[0].Room)
	return s.owe(e.ID, message+from.files(), e.Posting)
}

func (s *State) result(e event.Result, from source) error {
	c, err := s.find(e.ID)
	if err != nil {
		return err
	}
	if len(from.bodies) == 0 || c.Status != "" || e.Status == "" {
		return errors.New("no body, no status, or a second result")
	}
	body := from.bodies[0].Data
	exact := ""
	if e.Status == NotStarted {
		exact = ExactCall(c.Tool, blobs.Unescape(c.Args))
	}
	if q, ok := s.Asked(e.ID, exact); ok {
		c.About = &q.Ref
	}
	c.Status, c.Result, c.Show, c.Places, c.Images = e.Status, from.ref(), e.Show, e.Places, e.Images
	c.Text = c.shown(body)
	if c.Status != OK {
		s.notSpawned(e.ID)
	} else if c.Tool == "USE" {
		s.use(c.Arg("name"))
	}
	s.learn(e.File)
	s.closeQuestion(e.Withdrawn)
	s.repeat(Digest([]byte(c.Tool + "\x00" + c.Args + "\x00" + string(body))))
	switch {
	case s.Unit().Waits():
	case c.asks():
		s.countAgentTurn(s.Peers...)
		s.endTurn()
	default:
		s.Owes = true
	}
	s.goesOn(e.Job, s.TurnRoom())
	return nil
}

func (s *State) note(e event.Note, from source) error {
	s.learn(e.File)
	switch e.Why {
	case "cut":
		s.Cut++
		s.Steps++
	case "repeat":
		s.LastCall, s.Repeats = "", 0
	}
	entry := Entry{N: e.N, Show: e.Show, Places: e.Places}
	if e.Run != "" {
		q, err := s.ran(e.Run, e.Status)
		if err != nil {
			return err
		}
		entry.About, entry.Said = &q.Ref, e.Status
		s.goesOn(e.Job, q.Room)
	}
	_, err := s.add(entry, from)
	return err
}

// paused ends the asking until somebody acts. The debt stays, unless the turn
// itself is given up.
func (s *State) paused(e event.Paused) error {
	if e.Ended {
		s.endTurn()
	} else {
		s.Paused, s.Until, s.Told = e.Why, e.Until, ToldPause(e.Until)
	}
	if e.Ended && e.Say != "" && s.Works() {
		s.Notices++
		return s.conclude(e.ID, e.Say, Ref{}, true, e.Posting)
	}
	return s.notice(e.ID, e.Notice)
}

// failed is an error that the identity goes on after.
func (s *State) failed(e event.Error) error {
	if e.Say != "" && e.What == "model" {
		s.Told = e.What
	}
	if e.Window > 0 {
		s.Window = e.Window
		s.Overflows++
	}
	return s.notice(e.ID, e.Notice)
}
