package adopt

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
)

// copilotCLI reads the events of Copilot CLI (by hand: 1.0.71). A call stands in the answer and in its start; a
// prompt as it was typed and as it was sent.
type copilotCLI struct{}

func (copilotCLI) Find(store fs.FS) ([]Piece, error) {
	return pieces(store, within(store, "session-state"), named(
		`(^|/)events\.jsonl$`, "session", `^session-state/[^/]+\.jsonl$`, "session"))
}

type copilotEvent struct {
	Type      string
	ID        string
	Timestamp moment
	Data      struct {
		SessionID     string
		Context       struct{ CWD string }
		Content       string
		ReasoningText string
		ToolRequests  []copilotCall
		copilotCall
		Result json.RawMessage
		Error  json.RawMessage
	}
}

type copilotCall struct {
	ToolCallID string
	Name       string
	ToolName   string
	Arguments  json.RawMessage
}

func (c copilotCall) entry(r *record) Entry {
	return r.call(c.ToolCallID, cmp.Or(c.Name, c.ToolName), c.Arguments)
}

func (copilotCLI) Read(out *Stream, piece Piece) error {
	id := strings.TrimSuffix(path.Base(piece.Path), ".jsonl")
	if id == "events" {
		id = path.Base(path.Dir(piece.Path))
	}
	out.open(Session{ID: id})
	return out.records(piece.Path, func(r *record) error {
		var event copilotEvent
		if !r.decode(&event) {
			return nil
		}
		data := event.Data
		base := Entry{ID: event.ID, At: event.Timestamp.Time, Who: Assistant}
		said := Entry{Kind: Said, Text: r.text(data.Content)}
		var all []Entry
		switch event.Type {
		case "session.start":
			out.open(Session{ID: cmp.Or(data.SessionID, id), Dir: data.Context.CWD, Began: base.At})
		case "user.message":
			base.Who, all = Person, []Entry{said}
		case "assistant.message":
			all = []Entry{{Kind: Thought, Text: r.text(data.ReasoningText)}, said}
			for _, call := range data.ToolRequests {
				all = append(all, call.entry(r))
			}
		case "tool.execution_start":
			all = []Entry{data.entry(r)}
		case "tool.execution_complete":
			all = []Entry{r.result(data.ToolCallID, data.ToolName, first(data.Result, data.Error))}
		default:
			kind, _, _ := strings.Cut(event.Type, ".")
			switch kind {
			case "session", "system", "assistant", "tool", "hook", "subagent", "skill", "permission", "abort":
				r.report.Passed++
			default:
				r.notUnderstood("event " + cmp.Or(event.Type, "without a type"))
			}
			return nil
		}
		return out.passAll(event.ID, base, all)
	})
}
