package mind

import (
	"slices"
	"strings"

	"lethe/life/event"
	"lethe/mind/audience"
)

// PeopleOf returns readers as the log has them.
func PeopleOf(readers audience.Readers) event.People {
	if readers.Open() {
		return event.People{Names: []string{audience.All}}
	}
	return event.People{Names: readers, Nobody: len(readers) == 0}
}

func readersOf(people event.People) audience.Readers {
	return append(audience.Readers{}, people.Names...)
}

// Apart reports whether people have named readers for a room that the identity knows.
func (s *State) Apart() bool {
	for _, room := range s.Rooms {
		if !room.Readers.Open() {
			return true
		}
	}
	return !s.Readers.Open()
}

// Newborn reports whether the identity has no past yet, and nobody has named its audience. The rooms that it hears then
// are given to it.
func (s *State) Newborn() bool {
	hasPast := s.Usage.Replies > 0 || len(s.Ancestors) > 0
	return !hasPast && !s.Named
}

// MayHear reports whether the lines of a room with these readers may reach the identity: everybody in its audience may
// read them, or the room is given to it.
func (s *State) MayHear(room string, readers audience.Readers) bool {
	return s.Newborn() || s.joinedTo(room) || readers.MayRead(s.Readers)
}

// Holds reports whether the lines of a room wait for the end of the turn, which answers rooms with other readers.
func (s *State) Holds(room string) bool {
	answered := slices.Concat(s.Waiting, s.Peers)
	return len(answered) > 0 && !s.Together(room, answered[0]) && s.MaySay(room)
}

// Witnesses returns the people who may read all that the identity has ever heard.
func (s *State) Witnesses() audience.Readers {
	all := []audience.Readers{s.Readers}
	for _, room := range s.Rooms {
		all = append(all, room.Readers)
	}
	return audience.Common(all...)
}

// isWithheld reports whether a pin does not stand in the beginning of requests, which all turns share: not everybody in
// the audience may read it.
func (s *State) isWithheld(pin Pin) bool {
	return pin.Room != "" && !s.RoomReaders(pin.Room).MayRead(s.Readers)
}

// shownPins returns the pins for the beginning of requests.
func (s *State) shownPins() (pins []Pin) {
	for _, pin := range s.Pins {
		if s.isWithheld(pin) {
			pin = pin.withheld()
		}
		if !slices.Contains(pins, pin) { // two of the same entries
			pins = append(pins, pin)
		}
	}
	return pins
}

// PinsFor returns the pins that everybody who reads a room may read.
func (s *State) PinsFor(room string) []Pin {
	return without(s.Pins, func(pin Pin) bool { return !s.MayTell(room, pin.Room) })
}

// MayTell reports whether everybody who reads a room may read what was said in some rooms.
func (s *State) MayTell(room string, of ...string) bool {
	return !slices.ContainsFunc(of, func(other string) bool {
		return other != "" && !s.RoomReaders(other).MayRead(s.RoomReaders(room))
	})
}

// Confided renders the pins that are withheld, and that the readers of this turn's answer may read; "" without any.
func (s *State) Confided() string {
	answered := slices.Concat(s.Waiting, s.Peers)
	if len(answered) == 0 {
		return ""
	}
	pins := without(s.PinsFor(answered[0]), func(pin Pin) bool { return !s.isWithheld(pin) })
	return strings.TrimSpace(pinsText(pins))
}
