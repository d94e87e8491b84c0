// Package mind is the fold: it turns the events of a life into the live
// context, the debts of the identity, and the messages of the next request. It
// is pure: it reads no file, no clock and no socket. The caller brings the
// events (package life) and the blobs that they name.
//
//	s := mind.New()
//	for each event e of the log, with the bodies of its refs:
//		err := s.Apply(e, bodies)
//	request := s.Messages("")
//	debts := s.Owed()
//
// The same events always give the same bytes. Inside an epoch, the messages of
// a later request begin with those of an earlier one, byte for byte.
//
// The files read downwards, each uses only later ones: fold and fold_* apply the
// events; outbox owes lines; view, edit and amend show the context to a person
// and take an edit; epoch and fork make snapshots and other states; state is the
// State, and question, ask, children, turn, talk, alarms and knowledge are its
// parts; stable, context, section, prompt, entry, reply, text and lists render.
package mind

import (
	"errors"
	"fmt"
	"strings"

	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
)

// Apply folds the event of one line into the state. Bodies stand beside the
// line's refs. An error means that the log does not make sense, which is
// corruption; the state is then not to be used.
func (s *State) Apply(line life.Event, bodies ...Body) error {
	e, err := event.Parse(line)
	if room := line.Get("room"); room != "" && !chat.ValidRoom(room) {
		err = fmt.Errorf("%q is not a room", room)
	}
	if err == nil && len(bodies) != len(line.Refs) {
		err = fmt.Errorf("%d bodies for %d refs", len(bodies), len(line.Refs))
	}
	if err == nil {
		err = s.apply(e, source{line, bodies})
	}
	if err != nil {
		return fmt.Errorf("fold %s %s: %w", line.Kind, strings.Join(line.Args, " "), err)
	}
	if _, fade := e.(event.Fade); !fade && len(bodies) > 0 { // a fade is nothing without the epoch that follows
		s.LastBlob = bodies[len(bodies)-1].Hash
	}
	return nil
}

func (s *State) apply(e event.Event, from source) error {
	switch e := e.(type) {
	case event.Boot:
		return s.boot(e, from)
	case event.Joined:
		return s.joined(e, from)
	case event.Left:
		s.room(e.Room).Joined = false
		s.Wakes = without(s.Wakes, func(w Wake) bool { return w.Room == e.Room })
		s.Children = without(s.Children, func(c Child) bool { return c.Room == e.Room })
	case event.Inbound:
		return s.inbound(e, from)
	case event.Asked:
		return s.asked(e, from)
	case event.Run:
		return s.begins(e, from)
	case event.Grant:
		s.Grants[e.Hash] = true
	case event.Command:
		return s.command(e)
	case event.Reply:
		return s.reply(e, from)
	case event.Call:
		return s.call(e, from)
	case event.Result:
		return s.result(e, from)
	case event.Posted:
		return s.posted(e)
	case event.Note:
		return s.note(e, from)
	case event.Hint:
		_, err := s.add(Entry{N: e.N}, from)
		return err
	case event.Error:
		return s.failed(e)
	case event.Paused:
		return s.paused(e)
	case event.Model:
		if e.Use != "" {
			s.WantModel, s.Away = e.Use, e.For
			s.resume()
		}
		return s.notice(e.ID, e.Notice)
	case event.Fired:
		return s.fired(e)
	case event.Spent:
		s.Usage.add(e.Tokens)
	case event.Resumed:
		s.resume()
		s.Version = e.Version
	case event.Moved:
		s.Custody, s.Moved = e.Custody, true
	case event.Received:
		s.Custody, s.Moved = e.Custody, false
	case event.Fade, event.Epoch, event.Stopped: // an epoch is Restored, with what has faded
	case event.Sealed, event.Erased, event.Labelled: // they are about the log
	default:
		return fmt.Errorf("no rule for a %T", e)
	}
	return nil
}

func (s *State) boot(e event.Boot, from source) error {
	if len(from.bodies) == 0 {
		return errors.New("no soul")
	}
	s.Self, s.Name, s.Version = from.bodies[0].Hash.String(), e.Name, e.Version
	if e.Task != "" {
		s.Task = &Task{Parent: e.Parent, Room: e.Task}
	}
	return nil
}

// plus, with and without return other lists: copies of a state share theirs.
