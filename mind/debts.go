package mind

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Debts is what a life owes, in the order in which it is paid: posts first,
// since they are already decided, then results of calls, then a model call.
type Debts struct {
	Posts  []Post
	Calls  []Pending // calls without a result, in order
	Answer bool      // a model call is due and nothing forbids it
}

// Pending is a call that has no result yet.
type Pending struct {
	Entry int
	K     int // counts from 1
	Call  *Call
}

// ID is e12.3.
func (p Pending) ID() string { return CallID(p.Entry, p.K) }

// Waits reports whether a result of the entry's calls is still to come.
func (e *Entry) Waits() bool {
	return slices.ContainsFunc(e.Calls, func(c *Call) bool { return c.Status == "" })
}

// Owed tells what is due. Calls can only be pending in the newest reply.
func (s *State) Owed() Debts {
	d := Debts{Posts: s.Outbox}
	if unit := s.Unit(); unit != nil {
		for k, c := range unit.Calls {
			if c.Status == "" {
				d.Calls = append(d.Calls, Pending{unit.N, k + 1, c})
			}
		}
	}
	d.Answer = s.Owes && s.Paused == "" && len(d.Calls) == 0
	return d
}

// Audience returns the rooms that the final text of the turn goes to: those
// whose users wait, or else the rooms where agents do, without those that
// hear a SAY of this turn.
func (s *State) Audience() []string {
	rooms := s.Waiting
	if len(rooms) == 0 {
		rooms = s.Peers
	}
	rooms = without(rooms, func(room string) bool { return slices.Contains(s.Said, room) })
	if s.Works() { // its result, whoever else waits
		rooms = with(rooms, s.Task.Room)
	}
	return rooms
}

// ParseID reads the number of an entry (e12) or of a call (e12.3, where 3 counts
// from 1). The call number is 0 for an entry.
func ParseID(id string) (entry, call int, err error) {
	rest, ok := strings.CutPrefix(id, "e")
	n, k, dotted := strings.Cut(rest, ".")
	entry, err = strconv.Atoi(n)
	if err == nil && dotted {
		call, err = strconv.Atoi(k)
	}
	if !ok || err != nil || entry < 1 || call < 0 || (dotted && call < 1) {
		return 0, 0, fmt.Errorf("%q is not the number of an entry or call", id)
	}
	return entry, call, nil
}

// EntryID is e12.
func EntryID(n int) string { return "e" + strconv.Itoa(n) }

// CallID is e12.3.
func CallID(n, k int) string { return fmt.Sprintf("e%d.%d", n, k) }
