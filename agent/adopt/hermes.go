package adopt

import (
	"encoding/json"
	"strings"
)

// hermes reads "hermes sessions export FILE.jsonl" (schema 26): a line a session, with its messages in it; and the rows
// of the database that this comes from. A session that grew too long goes on in a child, which names its parent.
var hermes = Agent{
	Name: "hermes", Title: "Hermes", Roots: "$HERMES_HOME .hermes",
	Hint: "hermes sessions export h.jsonl, then: lethe adopt hermes=h.jsonl",
	files: `
		database (^|/)state\.db$
		sessions ^[^/]+\.jsonl$
		memory (^|/)memories/[^/]+\.md$`,
	read: func(out *Stream, piece Piece) {
		if piece.kind == database {
			out.sessionRows(piece.Path, "select * from sessions", "select * from messages order by session_id, id",
				as(out.hermesRow))
			return
		}
		out.records(piece.Path, as(func(session *header) {
			if session.ID == "" || session.Messages == nil {
				out.notUnderstood("line that is no session with messages")
				return
			}
			out.open(session.session())
			for _, raw := range session.Messages {
				out.inner(raw, as(out.hermesRow))
			}
		}))
	},
}

type hermesMessage struct {
	ID        json.Number
	Role      string
	Content   json.RawMessage
	ToolCalls json.RawMessage `json:"tool_calls"`
	CallID    string          `json:"tool_call_id"`
	ToolName  string          `json:"tool_name"`
	Timestamp moment
	Reasoning string
	Active    json.RawMessage
	Compacted json.RawMessage
}

// isNo reports whether a column is there and false.
func isNo(column json.RawMessage) bool { return string(column) == "0" || string(column) == "false" }

// hermesRow passes on a message. A compaction copies some with their times; what was rewound is neither active nor
// compacted.
func (s *Stream) hermesRow(m *hermesMessage) {
	wasRewound := isNo(m.Active) && (m.Compacted == nil || isNo(m.Compacted))
	who := s.voice(m.Role)
	all := []Entry{{Who: Assistant, Kind: Thought, Text: m.Reasoning}}
	switch {
	case wasRewound || who == Harness:
		s.report.Passed++
		return
	case who == Tool:
		all = append(all, s.result(&block{CallID: m.CallID, Name: m.ToolName, Content: m.Content}))
	default:
		all = append(all, s.parts(m.Content)...)
	}
	if isText(m.ToolCalls) { // in a row of the database
		m.ToolCalls = json.RawMessage(plain(m.ToolCalls))
	}
	all = append(all, s.parts(m.ToolCalls)...)
	base, key := Entry{ID: m.ID.String(), At: m.Timestamp.Time, Who: who}, s.session.ID+"/"
	for _, entry := range all {
		if entry.Kind == Said && strings.HasPrefix(entry.Text, "[CONTEXT ") && isHarness(entry.Text) {
			entry.Who, entry.Kind = Harness, Summary
		}
		of := m.Timestamp.String() + "/" + entry.Call
		if m.Timestamp.IsZero() {
			of = base.ID
		}
		s.pass(key+of, base, entry)
	}
}
