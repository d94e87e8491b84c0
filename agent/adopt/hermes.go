package adopt

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"strings"
)

// hermes reads "hermes sessions export FILE.jsonl" (schema 26): a line a session, with its messages in it; and the rows
// of the database that this comes from. A session that grew too long goes on in a child, which names its parent.
type hermes struct{}

func (hermes) Find(store fs.FS) ([]Piece, error) {
	return pieces(store, ".", named(
		`(^|/)state\.db$`, sqlite, `^[^/]+\.jsonl$`, "export", `(^|/)memories/[^/]+\.md$`, memory))
}

type hermesSession struct {
	ID       string
	Source   string
	Title    string
	CWD      string
	Parent   string `json:"parent_session_id"`
	Started  moment `json:"started_at"`
	Messages []json.RawMessage
}

type hermesMessage struct {
	ID        json.Number
	SessionID string `json:"session_id"`
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

func (s hermesSession) session() Session {
	return Session{
		ID: s.ID, Parent: s.Parent, Side: s.Source == "subagent", Dir: s.CWD, Title: s.Title, Began: s.Started.Time,
	}
}

func (hermes) Read(out *Stream, piece Piece) error {
	if piece.kind == sqlite {
		return out.hermesRows(piece)
	}
	return out.records(piece.Path, func(r *record) error {
		var s hermesSession
		if !r.decode(&s) {
			return nil
		}
		if s.ID == "" || s.Messages == nil {
			r.notUnderstood("line that is no session with messages")
			return nil
		}
		out.open(s.session())
		for _, raw := range s.Messages {
			message := &record{Stream: out, raw: raw, lifted: r.lifted}
			if err := message.hermesMessage(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Stream) hermesRows(piece Piece) error {
	sessions := map[string]hermesSession{}
	err := s.rows(piece.Path, "select * from sessions", func(r *record) error {
		var row hermesSession
		if r.decode(&row) {
			sessions[row.ID] = row
		}
		return nil
	})
	if err != nil || s.options.Rows == nil {
		return err
	}
	return s.rows(piece.Path, "select * from messages order by session_id, id", func(r *record) error {
		var row struct {
			SessionID string `json:"session_id"`
		}
		if !r.decode(&row) {
			return nil
		}
		if row.SessionID != s.session.ID {
			session := sessions[row.SessionID]
			session.ID = row.SessionID
			s.open(session.session())
		}
		return r.hermesMessage()
	})
}

// isNo reports whether a column is there and false.
func isNo(column json.RawMessage) bool { return string(column) == "0" || string(column) == "false" }

// hermesMessage passes on a message. A compaction copies some with their times; what was rewound is neither active nor
// compacted.
func (r *record) hermesMessage() error {
	var m hermesMessage
	if !r.decode(&m) {
		return nil
	}
	wasCompacted := len(m.Compacted) > 0 && !isNo(m.Compacted)
	if isNo(m.Active) && !wasCompacted {
		r.report.Passed++
		return nil
	}
	var all []Entry
	if m.Reasoning != "" {
		all = append(all, Entry{Who: Assistant, Kind: Thought, Text: r.text(m.Reasoning)})
	}
	switch m.Role {
	case "user", "assistant":
		all = append(all, r.parts(m.Content)...)
	case "tool":
		all = append(all, r.result(m.CallID, m.ToolName, m.Content))
	case "system", "session_meta":
		r.report.Passed++
		return nil
	default:
		r.notUnderstood("role " + m.Role)
		return nil
	}
	all = append(all, r.openAICalls(m.ToolCalls)...)
	for _, entry := range all {
		entry.ID, entry.At = m.ID.String(), m.Timestamp.Time
		who := Assistant
		if m.Role == "user" {
			who = Person
		}
		entry.Who = cmp.Or(entry.Who, who)
		if entry.Kind == Said && strings.HasPrefix(entry.Text, "[CONTEXT ") && isHarness(entry.Text) {
			entry.Who, entry.Kind = Harness, Summary
		}
		key := r.session.ID + "/" + m.Timestamp.String() + "/" + entry.Call
		if m.Timestamp.IsZero() {
			key = r.session.ID + "/" + entry.ID
		}
		if err := r.put(key, entry); err != nil {
			return err
		}
	}
	return nil
}

// openAICalls returns the calls of a list as OpenAI writes it, or of a text with one.
func (r *record) openAICalls(raw json.RawMessage) (all []Entry) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var calls []struct {
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if len(raw) > 0 && json.Unmarshal(raw, &calls) != nil {
		r.notUnderstood("tool_calls of another shape")
	}
	for _, c := range calls {
		all = append(all, r.call(c.ID, c.Function.Name, c.Function.Arguments))
	}
	return all
}
