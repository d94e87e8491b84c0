package mind

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
	"lethe/life/event"
)

// Body is a blob that an event refers to, with the whole address.
type Body struct {
	Hash blobs.Hash
	Data []byte
}

// source is the line that an event was read from, with the bodies of its refs.
type source struct {
	life.Event
	bodies []Body
}

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

// add makes an entry out of the first ref of a line.
func (s *State) add(entry Entry, from source) (*Entry, error) {
	if entry.N != s.Next {
		return nil, fmt.Errorf("entry number is not e%d", s.Next)
	}
	if len(from.bodies) == 0 {
		return nil, errors.New("no body")
	}
	if unit := s.Unit(); unit != nil && unit.Waits() {
		return nil, fmt.Errorf("a result of e%d is still to come", unit.N) // nothing stands inside a unit
	}
	entry.Kind, entry.At, entry.Ref = kindOf(from.Kind), from.At, from.ref()
	if err := entry.load(from.bodies[0].Data); err != nil {
		return nil, err
	}
	s.Live = append(s.Live, &entry)
	s.Next++
	return &entry, nil
}

// kindOf is the kind of the entry that an event makes.
func kindOf(event string) string {
	if event == "joined" {
		return Note
	}
	return event
}

// ref is the first ref of a line.
func (from source) ref() Ref {
	return Ref{Hash: from.bodies[0].Hash, Short: from.Refs[0].Hash, Gist: from.Refs[0].Gist}
}

// files names the files that are sent with a line, below its text.
func (from source) files() (tags string) {
	for _, r := range from.Refs {
		if f, ok := blobs.ParseFile(r.Gist); ok {
			tags += "\n" + f.Tag(r.Hash)
		}
	}
	return tags
}

// plus, with and without return other lists: copies of a state share theirs.

func plus[T any](list []T, item T) []T { return append(slices.Clone(list), item) }

func with(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return plus(list, item)
}

func without[T any](list []T, gone func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), gone)
}
