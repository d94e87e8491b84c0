package mind

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/life/event"
	"lethe/mind/audience"
	"lethe/mind/message"
)

// State is a life folded: everything that the next step depends on. Its parts are embedded, so a caller reads
// state.Rooms or state.Owes. Each part holds the rules that need only its own fields; a rule that needs several parts
// is a method of State. A snapshot is the state in JSON: the order of fields and parts is a format.
type State struct {
	Self    string `json:"self"` // the identity, in hex
	Name    string `json:"name"`
	Version string `json:"version"` // the program that wrote the epoch

	Epoch   int    `json:"epoch"`
	Size    int    `json:"-"` // bytes of the newest snapshot
	Stable  Stable `json:"stable"`
	Context        // the entries, live and faded
	Next    int    `json:"next"` // number of the next entry

	Talk       // rooms, and lines owed to them
	Due        // the answer that is owed now
	Tally      // counts of turns, steps and failures
	Alarms     // lines that wake the identity
	Inquiries  // questions to people, and approved calls
	Background // commands that go on
	Knowledge  // texts, tools and blobs that it knows
	Family     // its children, and its own task
	NextEpoch  // wishes for the next epoch

	Ancestors []Ancestor `json:"ancestors,omitempty"` // the lives that a fork descends from, oldest first

	Inheritance // what was adopted

	Custody int  `json:"custody,omitempty"` // times that the life was handed over to another home
	Moved   bool `json:"moved,omitempty"`   // the life goes on in another home

	LastBlob blobs.Hash `json:"last_blob"` // parent of the next blob

	Usage   Usage           `json:"usage"`
	Carried json.RawMessage `json:"spending,omitempty"` // see Carry
}

// NextEpoch holds wishes that the next epoch carries out.
type NextEpoch struct {
	// Forgets are ranges that are to fade as soon as possible.
	Forgets []event.Entries `json:"forgets,omitempty"`
	// WantModel is the model for the next epoch; "": the present one.
	WantModel string `json:"want_model,omitempty"`
	// Away is a model that does not answer, while another one stands in for it.
	Away string `json:"away,omitempty"`
}

// Usage counts the cost of the whole life. It also holds the size of the last request, so that callers can estimate the
// tokens of a character.
type Usage struct {
	Replies    int64   `json:"replies"`
	Input      int64   `json:"input"`  // tokens
	Cached     int64   `json:"cached"` // tokens of Input that the provider's cache served
	Output     int64   `json:"output"` // tokens
	USD        float64 `json:"usd"`
	LastWeight int64   `json:"last_weight"` // weighted characters of the last request; see package message
	LastInput  int64   `json:"last_input"`  // tokens that the provider counted for it
}

// New returns the state before the first event.
func New() *State {
	state := &State{Next: 1}
	state.Rooms = map[string]*Room{}
	state.Files = map[string]string{}
	state.Grants = map[string]bool{}
	state.Fires = map[string]Firing{}
	return state
}

func (u *Usage) add(t event.Tokens) {
	u.Input += t.In
	u.Cached += t.Cached
	u.Output += t.Out
	u.USD += t.USD
}

// Debts are the debts of a life in the order of their payment: posts first, since
// they are already decided, then results of calls, then a model call.
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

// ID returns the call's number, such as e12.3.
func (p Pending) ID() string { return CallID(p.Entry, p.K) }

// Owed returns the debts. Calls can only be pending in the newest reply.
func (s *State) Owed() Debts {
	debts := Debts{Posts: s.Outbox}
	if unit := s.Unit(); unit != nil {
		for at, call := range unit.Calls {
			if call.Status == "" {
				debts.Calls = append(debts.Calls, Pending{unit.N, at + 1, call})
			}
		}
	}
	mayAsk := s.Paused == "" && len(debts.Calls) == 0
	debts.Answer = s.Owes && mayAsk
	return debts
}

// Audience returns the rooms that get the final text of the turn: the rooms
// whose users wait, or else the rooms whose agents wait. It leaves out rooms that
// have heard a SAY in this turn since their last line.
func (s *State) Audience() []string {
	rooms := s.Waiting
	if len(rooms) == 0 {
		rooms = s.Peers
	}
	rooms = without(rooms, func(room string) bool {
		return slices.Contains(s.Said, room) || !s.Together(room, rooms[0])
	})
	if s.Works() { // its parent gets the result, whoever else waits
		rooms = with(rooms, s.Task.Room)
	}
	return rooms
}

// Concludes reports whether the final text of the turn is the result that a child
// owes. A child that still expects a line does not conclude.
func (s *State) Concludes() bool { return s.Works() && !s.Expects() }

// Expects reports whether a line will come by itself: from a child that works, at the end of a job, or from an alarm
// that was not heard yet.
func (s *State) Expects() bool {
	if len(s.Working()) > 0 || len(s.Jobs) > 0 {
		return true
	}
	return slices.ContainsFunc(s.Wakes, func(w Wake) bool { return !w.Heard })
}

// MaySay reports whether the identity may speak in a room: everybody who reads it is in the audience.
func (s *State) MaySay(room string) bool { return s.Readers.MayRead(s.RoomReaders(room)) }

// RoomReaders returns the people who may read the answers to a room. In the room of a child they are those of the room
// that waits for its work.
func (s *State) RoomReaders(room string) audience.Readers {
	if child := s.Child(room); child != nil && len(child.For) > 0 {
		room = child.For[0]
	}
	if known := s.Rooms[room]; known != nil {
		return known.Readers
	}
	return nil
}

// Together reports whether one turn may answer two rooms: the same people read them.
func (s *State) Together(room, other string) bool {
	return audience.Same(s.RoomReaders(room), s.RoomReaders(other))
}

// TurnRoom returns the first room that the turn under way answers, or else the first that the identity hears; "" if it
// hears no room.
func (s *State) TurnRoom() string {
	for _, room := range slices.Concat(s.Waiting, s.Peers, slices.Sorted(maps.Keys(s.Rooms))) {
		if s.joinedTo(room) && s.MaySay(room) {
			return room
		}
	}
	return ""
}

// LostWakes returns the lines that were posted and not heard. If the identity has read its rooms to the end, these
// lines are gone from them.
func (s *State) LostWakes() []Wake {
	return without(s.Wakes, func(wake Wake) bool {
		heard := wake.Heard || wake.Line == ""
		return heard || s.posts(wake)
	})
}

// An Ancestor is a life that this one descends from by forks. The ancestor's blobs up to the moment of the fork belong
// to this life, too.
type Ancestor struct {
	Self string    `json:"self"`
	At   time.Time `json:"at"` // the moment of the fork
}

// Messages renders the next request. tail, which is empty in the default order,
// goes last. A unit that still lacks a result is left out, with all entries behind
// it, since a later request may not change a message of an earlier one.
func (s *State) Messages(tail string) []Message {
	out := []Message{{Role: "system", Content: message.Text(s.Stable.System)}}
	if s.Stable.Past != "" {
		out = append(out, Message{Role: "user", Content: message.Text(s.Stable.Past)})
	}
	for _, entry := range s.Live {
		if entry.Waits() {
			break
		}
		out = append(out, entry.Messages(s.Stable)...)
	}
	if tail != "" {
		out = append(out, Message{Role: "user", Content: message.Text(tail), Aside: true})
	}
	return out
}
