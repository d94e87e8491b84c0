package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// qwenCode reads the chats of Qwen Code (seen: 0.24.4): rows as Claude Code's around messages as Gemini's.
var qwenCode = Agent{
	Name: "qwen-code", Title: "Qwen Code", Roots: ".qwen",
	dirs: "projects memories",
	files: `
		sessions (^|/)(chats|subagents/[^/]+)/[^/]+\.jsonl$
		memory (^|/)memor(y|ies)/[^/]+\.md$
		memory ^QWEN\.md$`,
	read: func(out *Stream, piece Piece) {
		out.open(Session{ID: stem(piece.Path)})
		out.records(piece.Path, as(out.readQwen))
	},
}

type qwenRow struct {
	UUID       string
	SessionID  string
	AgentID    string // of a side chain
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

func (s *Stream) readQwen(row *qwenRow) {
	s.session.Dir = cmp.Or(s.session.Dir, row.CWD)
	if row.AgentID != "" {
		s.session.ID, s.session.Parent, s.session.Side = row.SessionID+"/"+row.AgentID, row.SessionID, true
	}
	base := Entry{ID: row.UUID, At: row.Timestamp.Time, Who: s.voice(row.Type)}
	content := row.Message.Parts
	switch {
	case row.Subtype == "chat_compression" && len(row.Payload.History) > 0:
		base.Kind, content = Summary, row.Payload.History[0].Parts
	case base.Who == Harness:
		s.report.Passed++
		return
	case base.Who == Person && row.Provenance != "real_user" && row.Provenance != "":
		base.Who = Harness
	}
	s.pass(row.UUID, base, s.prompt(content)...)
}

// prompt returns the entries of a content. What stands in it of files that a person named is the harness's.
func (s *Stream) prompt(content json.RawMessage) []Entry {
	all := s.parts(content)
	isFile := func(e Entry) bool { return strings.Contains(e.Text, "\n--- Content from referenced files ---") }
	if i := slices.IndexFunc(all, isFile); i >= 0 {
		spoken(Harness, "", all[i:])
	}
	return all
}

// geminiCLI reads the chats of Gemini CLI (seen: 0.61.0): a log of edits to a list of messages, or, in older files, the
// list. The last version of a message counts; $set repeats them, $rewindTo drops a message and all behind it.
var geminiCLI = Agent{
	Name: "gemini-cli", Title: "Gemini CLI", Roots: "$GEMINI_CLI_HOME/.gemini .gemini",
	dirs: "tmp",
	files: `
		sessions (^|/)chats/.+\.jsonl?$
		memory ^GEMINI\.md$`,
	read: readGemini,
}

type geminiRow struct {
	geminiMessage
	SessionID string
	Kind      string
	Messages  []geminiMessage
	Set       *struct{ Messages []geminiMessage } `json:"$set"`
	RewindTo  string                              `json:"$rewindTo"`
}

type geminiMessage struct {
	ID        string
	Type      string
	Timestamp moment
	Content   json.RawMessage
	Thoughts  []struct{ Subject, Description string }
	ToolCalls []struct {
		block
		Result json.RawMessage
	}
	line int
}

// geminiFile is the list that a file leads to.
type geminiFile struct {
	*Stream
	messages []geminiMessage
	places   map[string]int // of messages, by their ids
	size     int            // of the rows since the list was repeated, in bytes
}

func readGemini(out *Stream, piece Piece) {
	file := &geminiFile{Stream: out, places: map[string]int{}}
	read := out.records
	if path.Ext(piece.Path) == ".json" {
		read = out.elements
	}
	read(piece.Path, as(file.row))
	if out.session.ID == "" {
		out.refuse("unknown format: no session of Gemini CLI")
	}
	for i := range file.messages {
		if !out.refused {
			out.tell(&file.messages[i])
		}
	}
}

func (f *geminiFile) row(row *geminiRow) {
	if f.session.ID == "" && row.SessionID != "" {
		f.open(Session{ID: row.SessionID, Side: row.Kind == "subagent"})
	}
	messages := row.Messages
	if row.Set != nil && row.Set.Messages != nil {
		f.size, messages = 0, row.Set.Messages
	}
	if f.size += len(f.raw); f.size > maxText {
		f.refuse(fmt.Sprintf("unknown format: a log of edits over %d MB", maxText>>20))
		return
	}
	for _, m := range messages {
		f.keep(m)
	}
	switch {
	case row.RewindTo != "":
		f.rewind(row.RewindTo)
	case row.geminiMessage.ID != "" && row.Type != "":
		f.keep(row.geminiMessage)
	case row.Set == nil && row.SessionID == "":
		f.notUnderstood("row of another shape")
	default:
		f.report.Passed++
	}
}

// keep adds a message to the list, or puts it in the place of its earlier version.
func (f *geminiFile) keep(m geminiMessage) {
	m.line = f.line
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

func (s *Stream) tell(m *geminiMessage) {
	s.line = m.line
	base := Entry{ID: m.ID, At: m.Timestamp.Time, Who: s.voice(m.Type)}
	content := s.prompt(m.Content)
	thinks := slices.ContainsFunc(content, func(e Entry) bool { return e.Kind == Thought })
	var all []Entry
	for _, thought := range m.Thoughts {
		if !thinks { // else they are in the content too
			all = append(all, Entry{Who: Assistant, Kind: Thought, Text: strings.TrimPrefix(thought.Subject+": "+thought.Description, ": ")})
		}
	}
	all = append(all, content...)
	for _, call := range m.ToolCalls {
		all = append(append(all, call.call()), spoken(Tool, Result, s.parts(call.Result))...)
	}
	s.pass(s.session.ID+"/"+m.ID, base, all...)
}
