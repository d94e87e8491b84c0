package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// qwenCode reads the chats of Qwen Code (seen: 0.24.4): rows as Claude Code's around messages as Gemini's.
type qwenCode struct{}

func (qwenCode) Find(store fs.FS) ([]Piece, error) {
	all, err := pieces(store, within(store, "projects"), named(
		`(^|/)chats/[^/]+\.jsonl$`, "session", `(^|/)memory/[^/]+\.md$`, memory))
	return append(all, alone(store, memory, "QWEN.md")...), err
}

type qwenRow struct {
	UUID       string
	SessionID  string
	Type       string
	Subtype    string
	Provenance string
	CWD        string
	Timestamp  moment
	Message    struct{ Parts json.RawMessage }
	Payload    struct {
		History []struct{ Parts json.RawMessage } `json:"compressedHistory"`
	} `json:"systemPayload"`
}

func (qwenCode) Read(out *Stream, piece Piece) error {
	out.open(Session{ID: strings.TrimSuffix(path.Base(piece.Path), ".jsonl")})
	return out.records(piece.Path, func(r *record) error {
		var row qwenRow
		if !r.decode(&row) {
			return nil
		}
		out.session.Dir = cmp.Or(out.session.Dir, row.CWD)
		base := Entry{ID: row.UUID, At: row.Timestamp.Time}
		content := row.Message.Parts
		switch {
		case row.Type == "user" && (row.Provenance == "real_user" || row.Provenance == ""):
			base.Who = Person
		case row.Type == "user":
			base.Who = Harness
		case row.Type == "assistant":
			base.Who = Assistant
		case row.Type == "tool_result":
			base.Who = Tool
		case row.Type == "system" && row.Subtype == "chat_compression" && len(row.Payload.History) > 0:
			base.Who, base.Kind, content = Harness, Summary, row.Payload.History[0].Parts
		case row.Type == "system":
			out.report.Passed++
			return nil
		default:
			out.notUnderstood("row " + cmp.Or(row.Type, "without a type"))
			return nil
		}
		return out.passAll(row.UUID, base, r.parts(content))
	})
}

// geminiCLI reads the chats of Gemini CLI (seen: 0.61.0): a log of edits to a list of messages, or, in older files, the
// list. The last version of a message counts; $set replaces the list, $rewindTo drops a message and all behind it.
type geminiCLI struct{}

func (geminiCLI) Find(store fs.FS) ([]Piece, error) {
	all, err := pieces(store, within(store, "tmp"), named(
		`(^|/)chats/.+\.jsonl$`, "edits", `(^|/)chats/.+\.json$`, "list"))
	return append(all, alone(store, memory, "GEMINI.md")...), err
}

type geminiRow struct {
	geminiMessage
	SessionID string
	Kind      string
	Messages  []json.RawMessage
	Set       *struct {
		SessionID string
		Messages  []json.RawMessage
	} `json:"$set"`
	RewindTo string `json:"$rewindTo"`
}

type geminiMessage struct {
	ID        string
	Type      string
	Timestamp moment
	Content   json.RawMessage
	Thoughts  []struct{ Subject, Description string }
	ToolCalls []struct {
		ID, Name string
		Args     json.RawMessage
		Result   json.RawMessage
	}
	record *record
	line   int
}

// geminiFile is the list that a file leads to.
type geminiFile struct {
	*Stream
	messages []geminiMessage
	places   map[string]int // of messages, by their ids
	size     int            // of the rows since the list was replaced, in bytes
}

func (geminiCLI) Read(out *Stream, piece Piece) error {
	file := &geminiFile{Stream: out, places: map[string]int{}}
	read := out.records
	if piece.kind == "list" {
		read = out.elements
	}
	if err := read(piece.Path, file.row); err != nil {
		return err
	}
	if out.session.ID == "" {
		return &SchemaError{"no session of Gemini CLI"}
	}
	for _, message := range file.messages {
		if err := message.tell(); err != nil {
			return err
		}
	}
	return nil
}

func (f *geminiFile) row(r *record) error {
	var row geminiRow
	if !r.decode(&row) {
		return nil
	}
	if f.session.ID == "" && row.SessionID != "" {
		f.open(Session{ID: row.SessionID, Side: row.Kind == "subagent"})
	}
	messages := row.Messages
	if row.Set != nil && row.Set.Messages != nil {
		f.messages, messages = nil, row.Set.Messages
		f.size = 0
		clear(f.places)
	}
	if f.size += len(r.raw); f.size > maxText {
		return &SchemaError{fmt.Sprintf("a log of edits over %d MB", maxText>>20)}
	}
	for _, raw := range messages {
		var m geminiMessage
		inner := &record{Stream: r.Stream, raw: raw, lifted: r.lifted}
		if inner.decode(&m) {
			f.keep(m, inner)
		}
	}
	switch {
	case row.RewindTo != "":
		f.rewind(row.RewindTo)
	case row.geminiMessage.ID != "" && row.Type != "":
		f.keep(row.geminiMessage, r)
	case row.Set == nil && row.SessionID == "":
		f.notUnderstood("row of another shape")
	default:
		f.report.Passed++
	}
	return nil
}

// keep adds a message to the list, or puts it in the place of its earlier version.
func (f *geminiFile) keep(m geminiMessage, r *record) {
	r.raw = nil // the message has what it needs of it
	m.record, m.line = r, f.line
	if i, known := f.places[m.ID]; known {
		f.messages[i] = m
		f.report.Merged++
		return
	}
	f.places[m.ID] = len(f.messages)
	f.messages = append(f.messages, m)
}

func (f *geminiFile) rewind(id string) {
	from, known := f.places[id]
	if !known {
		return
	}
	for _, message := range f.messages[from:] {
		delete(f.places, message.ID)
	}
	f.messages = f.messages[:from]
}

func (m *geminiMessage) tell() error {
	r := m.record
	base := Entry{ID: m.ID, At: m.Timestamp.Time, Line: m.line}
	switch m.Type {
	case "user":
		base.Who = Person
	case "gemini":
		base.Who = Assistant
	case "info", "error", "warning":
		base.Who = Harness
	default:
		r.line = m.line
		r.notUnderstood("message " + m.Type)
		return nil
	}
	content := r.parts(m.Content)
	thinks := slices.ContainsFunc(content, func(e Entry) bool { return e.Kind == Thought })
	var all []Entry
	for _, thought := range m.Thoughts {
		if !thinks { // else they are in the content too
			all = append(all, Entry{Who: Assistant, Kind: Thought, Text: thought.Subject + ": " + thought.Description})
		}
	}
	all = append(all, content...)
	for _, call := range m.ToolCalls {
		all = append(all, r.call(call.ID, call.Name, call.Args))
		for _, entry := range r.parts(call.Result) {
			entry.Who, entry.Kind = Tool, Result
			all = append(all, entry)
		}
	}
	return r.passAll(r.session.ID+"/"+m.ID, base, all)
}
