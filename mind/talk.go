package mind

import (
	"slices"
	"strings"

	"lethe/chat"
	"lethe/life/event"
	"lethe/mind/audience"
)

// Room is a room that the identity hears or has heard.
type Room struct {
	Joined bool        `json:"joined"`
	Cursor chat.Cursor `json:"cursor"` // the identity has heard everything before it
	// Began is the end of the room at the first subscription. Lines before it are
	// history: commands there were meant for others.
	Began int64 `json:"began,omitempty"`
	// Stopped is the end of the newest /stop beyond the cursor that was obeyed
	// already. Lines before it owe no answer when they are heard.
	Stopped int64 `json:"stopped,omitempty"`
	// Own are lines beyond the cursor that the identity does not hear, in order: its
	// own, and commands that were obeyed already.
	Own []Span `json:"own,omitempty"`
	// Posted are the hashes of the newest lines of its own and of commands.
	Posted []string `json:"posted,omitempty"`
	// AgentTurns counts answers in a row to agents: turns that answered them only, and lines behind a SAY.
	AgentTurns int `json:"agent_turns,omitempty"`
	// Readers are the people who may read the room, as the log has it.
	Readers audience.Readers `json:"readers,omitzero"`
}

// pass moves the cursor of a room behind a passage, over the lines in body.
func (r *Room) pass(p event.Passage, body []byte) {
	r.Cursor = p.Cursor(r.Cursor.Last).Remember(body)
	r.Own = event.SpansAfter(r.Own, r.Cursor.Offset)
	if r.Stopped <= r.Cursor.Offset {
		r.Stopped = 0
	}
}

// lastPosted is the number of hashes that Room.Posted keeps, so that the identity recognises its lines in a file that
// was changed.
const lastPosted = 100

func (r *Room) posted(hash string) {
	r.Posted = append(r.Posted, hash)
	r.Posted = r.Posted[max(0, len(r.Posted)-lastPosted):]
}

// Post is a line that is owed to a room. It is recorded before it is appended, so that
// after a crash the identity can look for it and never writes it twice.
type Post struct {
	ID        string `json:"id"` // e12 (a final reply), e12.1 (SAY), k3 (the harness)
	Room      string `json:"room"`
	Line      string `json:"line"` // the exact line, with its newline
	chat.Mark        // the room's end when the intent was recorded
	Wakes     bool   `json:"wakes,omitempty"` // another name signs it, and the identity hears it like any line
}

// Torn returns the parts of the line that earlier attempts at the post left in the room: nobody may take them for
// messages. between are the lines between the intent and the line itself.
func (p Post) Torn(between []chat.Line) (torn []event.Span) {
	tag, _, _ := strings.Cut(p.Line, " ")
	for _, line := range between {
		inside := len(line.Raw) > len(tag) && len(line.Raw) < len(p.Line)-1
		if inside && strings.HasPrefix(p.Line, string(line.Raw)) {
			torn = append(torn, event.Span{From: line.From, To: line.To})
		}
	}
	return torn
}

// Talk holds the rooms of an identity, and the lines that it owes them.
type Talk struct {
	Rooms  map[string]*Room `json:"rooms"`
	Outbox []Post           `json:"outbox,omitempty"` // in the order of posting
	// Readers are the identity's audience: the people who may read what it says.
	Readers audience.Readers `json:"audience,omitzero"`
	// Named is set where a person has named them.
	Named bool `json:"named,omitempty"`
}

// room returns the named room, and makes it if it is new.
func (t *Talk) room(name string) *Room {
	r := t.Rooms[name]
	if r == nil {
		r = &Room{}
		t.Rooms[name] = r
	}
	return r
}

// posts reports whether the line of a wake is still to be posted.
func (t *Talk) posts(w Wake) bool {
	return slices.ContainsFunc(t.Outbox, func(p Post) bool {
		sameLine := p.Room == w.Room && p.Line == w.Line
		return p.Wakes && sameLine
	})
}

// joinedTo reports whether the identity hears a room.
func (t *Talk) joinedTo(room string) bool {
	known := t.Rooms[room]
	return known != nil && known.Joined
}
