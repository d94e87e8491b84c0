package mind

import (
	"slices"

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

// Newborn reports whether the identity has no past yet. The rooms that it hears then are given to it.
func (s *State) Newborn() bool { return s.Usage.Replies == 0 && len(s.Ancestors) == 0 }

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
