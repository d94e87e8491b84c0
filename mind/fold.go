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
// events, outbox owes lines, and source makes entries of texts; amend, edit and view
// take a person's edits and show the context; fork and epoch make other states and snapshots; state is the
// State, and question, children, turn, context, talk, alarms, knowledge and adopted are
// its parts; section, stable, prompt, entry, reply and text render.
package mind

import (
	"errors"
	"fmt"
	"strings"

	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
)

// Apply folds the event of one line into the state. bodies are the blobs of the
// line's refs, in their order. An error means that the log is corrupt: its events
// contradict each other, and the caller must drop the state.
func (s *State) Apply(line life.Event, bodies ...Body) error {
	parsed, err := event.Parse(line)
	if room := line.Get("room"); room != "" && !chat.ValidRoom(room) {
		err = fmt.Errorf("%q is not a room", room)
	}
	if err == nil && len(bodies) != len(line.Refs) {
		err = fmt.Errorf("%d bodies for %d refs", len(bodies), len(line.Refs))
	}
	if err == nil {
		err = s.apply(parsed, source{line, bodies})
	}
	if err != nil {
		return fmt.Errorf("fold %s %s: %w", line.Kind, strings.Join(line.Args, " "), err)
	}
	_, fade := parsed.(event.Fade) // it counts only with the epoch behind it
	adopted, _ := parsed.(event.Adopted)
	isOlder := adopted.Relevance > 0 // the original
	if !fade && !isOlder && len(bodies) > 0 {
		s.LastBlob = bodies[len(bodies)-1].Hash
	}
	return nil
}

func (s *State) apply(ev event.Event, from source) error {
	switch ev := ev.(type) {
	case event.Boot:
		return s.boot(ev, from)
	case event.Joined:
		return s.joined(ev, from)
	case event.Left:
		s.room(ev.Room).Joined = false
		s.Wakes = without(s.Wakes, func(w Wake) bool { return w.Room == ev.Room })
		s.Children = without(s.Children, func(c Child) bool { return c.Room == ev.Room })
	case event.Readers:
		s.room(ev.Room).Readers = readersOf(ev.People)
	case event.Audience:
		s.Readers, s.Named = readersOf(ev.People), ev.By != ""
	case event.Inbound:
		return s.inbound(ev, from)
	case event.Asked:
		return s.asked(ev, from)
	case event.Run:
		return s.begins(ev, from)
	case event.Grant:
		s.Grants[ev.Hash] = true
	case event.Command:
		return s.command(ev)
	case event.Reply:
		return s.reply(ev, from)
	case event.Call:
		return s.call(ev, from)
	case event.Result:
		return s.result(ev, from)
	case event.Posted:
		return s.posted(ev)
	case event.Note:
		return s.note(ev, from)
	case event.Hint:
		_, err := s.add(Entry{N: ev.N}, from)
		return err
	case event.Error:
		return s.failed(ev)
	case event.Paused:
		return s.paused(ev)
	case event.Model:
		if ev.Use != "" {
			s.WantModel, s.Away = ev.Use, ev.For
			s.resume()
		}
		return s.notice(ev.ID, ev.Notice)
	case event.Fired:
		return s.fired(ev)
	case event.Spent:
		s.Usage.add(ev.Tokens)
	case event.Resumed:
		s.resume()
		s.Version = ev.Version
	case event.Moved:
		s.Custody, s.Moved = ev.Custody, true
	case event.Received:
		s.Custody, s.Moved = ev.Custody, false
	case event.Shelved:
		if len(from.bodies) == 0 {
			return errors.New("no list")
		}
		s.inherit(Source{ev.Agents, from.lastRef()})
	case event.Adopted: // the list behind it tells
	case event.Fade, event.Epoch, event.Stopped: // Restore reads the snapshot of an epoch, with its faded ranges
	case event.Sealed, event.Erased, event.Labelled: // about the log, not the mind
	default:
		return fmt.Errorf("no rule for a %T", ev)
	}
	return nil
}

func (s *State) boot(boot event.Boot, from source) error {
	if len(from.bodies) == 0 {
		return errors.New("no soul")
	}
	s.Self, s.Name, s.Version = from.bodies[0].Hash.String(), boot.Name, boot.Version
	if boot.Task != "" {
		s.Task = &Task{Parent: boot.Parent, Room: boot.Task}
	}
	return nil
}

// plus, with and without return other lists: copies of a state share theirs.
