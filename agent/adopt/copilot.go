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
	Name: "copilot-cli", Title: "Copilot CLI", Roots: []string{".copilot"},
	dirs:  []string{"session-state"},
	files: []pattern{{`(^|/)events\.jsonl$`, sessions}, {`^session-state/[^/]+\.jsonl$`, sessions}},
	read: func(out *Stream, piece Piece) {
		id := stem(piece.Path)
		if id == "events" {
			id = path.Base(path.Dir(piece.Path))
		}
		out.open(Session{ID: id})
		out.records(piece.Path, as(copilotRow))
	},
}

type copilotEvent struct {
	Type      string
	ID        string
	Timestamp moment
	Data      struct {
		block
		SessionID     string
		Context       struct{ CWD string }
		ReasoningText string
		ToolRequests  []block
		Result        json.RawMessage
		Error         json.RawMessage
	}
}

func copilotRow(r *record, event *copilotEvent) {
	data := &event.Data
	base := Entry{ID: event.ID, At: event.Timestamp.Time, Who: Assistant}
	var all []Entry
	switch event.Type {
	case "session.start":
		r.open(Session{ID: cmp.Or(data.SessionID, r.session.ID), Dir: data.Context.CWD, Began: base.At})
	case "user.message":
		base.Who, all = Person, r.parts(data.Content)
	case "assistant.message":
		all = append([]Entry{{Kind: Thought, Text: data.ReasoningText}}, r.parts(data.Content)...)
		for _, call := range data.ToolRequests {
			all = append(all, call.call())
		}
	case "tool.execution_start":
		all = []Entry{data.call()}
	case "tool.execution_complete":
		data.Content = first(data.Result, data.Error)
		all = []Entry{r.result(&data.block)}
	default:
		kind, _, _ := strings.Cut(event.Type, ".")
		switch kind {
		case "session", "system", "assistant", "tool", "hook", "subagent", "skill", "permission", "abort":
			r.report.Passed++
		default:
			r.unknown("event", event.Type)
		}
	}
	r.pass(event.ID, base, all...)
}
