// Package events gives the events of an identity in the form that clients hear:
// each line of LIFE becomes no, one or several events.
//
//	s, err := events.Open(store, events.Log{Path: id.LIFE(), Name: id.Name}, after)
//	for e, err := s.Next(); err == nil; e, err = s.Next() { … } // io.EOF: no more for now
//	err = s.Follow(ctx, watcher, func(e events.Event) error { … }) // for ever, with what streams
//
// The same log and blobs give the same events, whenever and from wherever they are read: an
// event's ID is a place of the log, and Open goes on behind any of them with a seek. Nothing
// is kept in memory for clients, so one that was away for a month misses nothing.
//
// docs/api.md describes the types.
package events

import (
	"encoding/json"
	"slices"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
)

// Types of events.
const (
	TurnStart     = "turn.start"
	UserMessage   = "user.message" // a line of a room that was heard, whoever said it
	ThinkingDelta = "thinking.delta"
	ThinkingDone  = "thinking.done"
	MessageDelta  = "message.delta"
	MessageDone   = "message.done"
	ToolRequest   = "tool.request"
	ToolOutput    = "tool.output"
	ToolResult    = "tool.result"
	FileChanged   = "file.changed"
	Usage         = "usage"
	TurnEnd       = "turn.end"
	Error         = "error"

	Forgot   = "forgot"
	Reminded = "reminded"
	Opened   = "opened"
	Asked    = "asked"
	Answered = "answered"
	Fired    = "fired"
	Noted    = "note"
	Joined   = "joined"
	Left     = "left"
	Paused   = "paused"
	Booted   = "booted"
	Resumed  = "resumed"
	Stopped  = "stopped"
)

// Types are the types of all events.
var Types = []string{
	TurnStart, UserMessage, ThinkingDelta, ThinkingDone, MessageDelta, MessageDone,
	ToolRequest, ToolOutput, ToolResult, FileChanged, Usage, TurnEnd, Error,
	Forgot, Reminded, Opened, Asked, Answered, Fired, Noted, Joined, Left, Paused, Booted, Resumed, Stopped,
}

// Event is something that happened. Which members there are depends on Type. Texts are valid
// UTF-8 and otherwise as somebody wrote them: whoever shows them makes them safe.
type Event struct {
	ID    string    `json:"id,omitempty"` // where to go on behind it; empty while the event is under way
	Type  string    `json:"type"`
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`           // name
	Turn  int       `json:"turn,omitempty"`  // 0 outside of turns
	Entry string    `json:"entry,omitempty"` // e12, of a call e12.1, of an approved call q3fa9c1, of the harness k3
	Room  string    `json:"room,omitempty"`
	Rooms []string  `json:"rooms,omitempty"` // in the place of Room when there are several
	By    string    `json:"by,omitempty"`    // who says it
	Text  string    `json:"text,omitempty"`
	Hash  string    `json:"hash,omitempty"` // of the blob with the original
	Cut   bool      `json:"cut,omitempty"`  // Text is not whole
	Why   string    `json:"why,omitempty"`

	Heard
	Outcome
	Call
	Bill
	Memory
	Inquiry
}

// Heard is of user.message.
type Heard struct {
	Role string `json:"role,omitempty"` // user or agent, as the line's tag claims
	Line string `json:"line,omitempty"` // chat.Hash of the line
	To   int64  `json:"to,omitempty"`   // offset through which the room has been heard with it
}

// Outcome is of message.done, tool.result and paused.
type Outcome struct {
	Final bool `json:"final,omitempty"` // it ends the turn
	// Status is, of a call, ok, error, interrupted or not-started; of a message that is said nowhere, refused, stopped
	// or cut.
	Status string    `json:"status,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// Call is of calls, and of a file that changed.
type Call struct {
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"` // an object; of more than 64 KiB, Text has its beginning
	Job    int             `json:"job,omitempty"`  // that the call goes on as
	Path   string          `json:"path,omitempty"` // of a file, as the agent names it
	Offset int64           `json:"from,omitempty"` // of a delta: where Text begins in the whole text so far, in bytes
}

// Bill is of usage.
type Bill struct {
	Model  string  `json:"model,omitempty"`
	Calls  int     `json:"calls,omitempty"`
	In     int64   `json:"in,omitempty"` // tokens
	Cached int64   `json:"cached,omitempty"`
	Out    int64   `json:"out,omitempty"`
	USD    float64 `json:"usd,omitempty"`
}

// Memory is of forgot and reminded.
type Memory struct {
	Entries   string      `json:"entries,omitempty"` // e1..e21
	Summaries int         `json:"summaries,omitempty"`
	Before    int64       `json:"before,omitempty"` // tokens of the request, estimated
	After     int64       `json:"after,omitempty"`
	Faded     []Fade      `json:"faded,omitempty"`
	Refs      []blobs.Ref `json:"refs,omitempty"`
}

// Inquiry is of asked and answered.
type Inquiry struct {
	Question *chat.Question `json:"question,omitempty"`
	Choice   string         `json:"choice,omitempty"`
}

// Fade is a run of entries that something shorter stands for since.
type Fade struct {
	First       int        `json:"first"`
	Last        int        `json:"last"`
	Level       string     `json:"level"` // summary, gist or card
	Was         string     `json:"was"`   // live, summary, gist or card
	Relevance   int        `json:"relevance,omitempty"`
	Original    *blobs.Ref `json:"original,omitempty"`
	Replacement *blobs.Ref `json:"replacement,omitempty"`
}

// in adds the rooms of a posting.
func (e *Event) in(posts ...event.Place) {
	for _, p := range posts {
		switch {
		case e.Where() == "":
			e.Room = p.Room
		case e.Rooms == nil:
			e.Room, e.Rooms = "", []string{e.Room, p.Room}
		default:
			e.Rooms = append(e.Rooms, p.Room)
		}
	}
}

// InRoom says whether the event happened in a room, or is told there, too.
func (e Event) InRoom(room string) bool { return e.Room == room || slices.Contains(e.Rooms, room) }
