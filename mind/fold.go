package mind

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life"
)

// Body is a blob that an event refers to, with the whole address.
type Body struct {
	Hash blobs.Hash
	Data []byte
}

// Apply folds one event into the state. Bodies stand beside e.Refs. An error
// means that the log does not make sense, which is corruption; the state is then
// not to be used.
func (s *State) Apply(e life.Event, bodies ...Body) error {
	if len(bodies) != len(e.Refs) {
		return fmt.Errorf("fold %s: %d bodies for %d refs", e.Kind, len(bodies), len(e.Refs))
	}
	f, ok := folds[e.Kind]
	if !ok {
		return fmt.Errorf("fold %s: unknown event; a newer program wrote this life", e.Kind)
	}
	if room := e.Get("room"); inRoom[e.Kind] && !chat.ValidRoom(room) {
		return fmt.Errorf("fold %s: %q is not a room", e.Kind, room)
	}
	if err := f(s, e, bodies); err != nil {
		return fmt.Errorf("fold %s %s: %w", e.Kind, strings.Join(e.Args, " "), err)
	}
	for _, b := range bodies {
		if e.Kind != "fade" { // a fade is nothing without the epoch that follows
			s.LastBlob = b.Hash
		}
	}
	return nil
}

// inRoom are the events that make no sense without a room.
var inRoom = map[string]bool{"joined": true, "left": true, Inbound: true, "command": true, "posted": true}

var folds map[string]func(*State, life.Event, []Body) error

func init() {
	folds = map[string]func(*State, life.Event, []Body) error{
		"boot":    (*State).boot,
		"epoch":   func(*State, life.Event, []Body) error { return nil }, // see Restore
		"joined":  (*State).joined,
		"left":    (*State).left,
		"inbound": (*State).inbound,
		"command": (*State).command,
		"reply":   (*State).reply,
		"call":    (*State).call,
		"result":  (*State).result,
		"posted":  (*State).posted,
		"note":    (*State).note,
		"hint":    (*State).hint,
		"grant":   (*State).grant,
		"error":   (*State).trouble,
		"fade":    func(*State, life.Event, []Body) error { return nil }, // takes effect through the epoch that follows
		"spent":   (*State).spent,
		"paused":  (*State).paused,
		"resumed": (*State).resumed,
		"stopped": func(*State, life.Event, []Body) error { return nil },
	}
}

func (s *State) boot(e life.Event, bodies []Body) error {
	if len(bodies) < 1 {
		return errors.New("no soul")
	}
	s.Self, s.Name, s.Version = bodies[0].Hash.String(), e.Get("name"), e.Get("version")
	return nil
}

// entry adds the entry that event e describes.
func (s *State) entry(e life.Event, bodies []Body) (*Entry, error) {
	if len(bodies) == 0 || len(e.Refs) == 0 {
		return nil, errors.New("no body")
	}
	return s.entryOf(e, bodies[0], nil)
}

func (s *State) entryOf(e life.Event, body Body, own []Span) (*Entry, error) {
	if e.Arg(0) != EntryID(s.Next) {
		return nil, fmt.Errorf("entry number is not e%d", s.Next)
	}
	if unit := s.Unit(); unit != nil && unit.open() {
		return nil, fmt.Errorf("a result of e%d is still to come", unit.N) // nothing stands inside a unit
	}
	entry := &Entry{N: s.Next, Kind: e.Kind, At: e.At, Ref: refOf(e.Refs[0], body), Room: e.Get("room"), Show: int(e.Int("show")), Own: own}
	if entry.Kind == Position {
		entry.Room = ""
	}
	if err := entry.load(body.Data); err != nil {
		return nil, err
	}
	s.Live = append(s.Live, entry)
	s.Next++
	return entry, nil
}

func refOf(r blobs.Ref, b Body) Ref { return Ref{Hash: b.Hash, Short: r.Hash, Gist: r.Gist} }

func add(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(slices.Clone(list), item)
}

func remove(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}
