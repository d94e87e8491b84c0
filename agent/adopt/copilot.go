package adopt

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"
)

// copilotCLI reads the events of Copilot CLI (seen: 1.0.102). A call stands in the answer and in its start; a
// prompt as it was typed and as it was sent.
var copilotCLI = Agent{
	Name: "copilot-cli", Title: "Copilot CLI", Roots: ".copilot",
	dirs: "session-state",
	files: `
		sessions (^|/)events\.jsonl$
		sessions ^session-state/[^/]+\.jsonl$`,
	read: func(out *Stream, piece Piece) {
		id := stem(piece.Path)
		if id == "events" {
			id = path.Base(path.Dir(piece.Path))
		}
		out.open(Session{ID: id})
		out.records(piece.Path, as(out.copilotRow))
	},
}

type copilotEvent struct {
	Type      string
	ID        string
	AgentID   string // of a side chain
	Timestamp moment
	Data      struct {
		block
		Source        json.RawMessage // who wrote a prompt: it is no picture
		SessionID     string
		Context       struct{ CWD string }
		ReasoningText string
		ToolRequests  []block
		Result        json.RawMessage
		Error         json.RawMessage
		Summary       string `json:"summaryContent"`
	}
}

func (s *Stream) copilotRow(event *copilotEvent) {
	data := &event.Data
	base := Entry{ID: event.ID, At: event.Timestamp.Time, Who: Assistant}
	var all []Entry
	switch event.Type {
	case "session.start":
		s.open(Session{ID: cmp.Or(data.SessionID, s.session.ID), Dir: data.Context.CWD, Began: base.At})
	case "user.message":
		if event.AgentID == "" {
			base.Who = Person
		}
		all = s.parts(data.Content)
	case "session.compaction_complete":
		all = []Entry{{Who: Harness, Kind: Summary, Text: data.Summary}}
	case "assistant.message":
		all = append([]Entry{{Kind: Thought, Text: data.ReasoningText}}, s.parts(data.Content)...)
		for _, call := range data.ToolRequests {
			all = append(all, call.call())
		}
	case "tool.execution_start":
		all = []Entry{data.call()}
	case "tool.execution_complete":
		data.Content = first(data.Result, data.Error)
		all = []Entry{s.result(&data.block)}
	default:
		s.passOver("event", strings.Split(event.Type, ".")[0], "session system assistant tool hook subagent skill permission abort model")
	}
	s.pass(event.ID, base, all...)
}
