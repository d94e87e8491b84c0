package adopt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// claudeCode reads the projects of Claude Code (seen: 2.1.332). A session is a file; the order is the file's, since a
// compaction gives messages a new parent. Several rows with one message.id are one message that was streamed. A fork
// repeats rows of its parent, with their uuid. A side chain has an agentId, and the sessionId of its parent.
type claudeCode struct{}

const prompts = "prompts" // the kind of a list of prompts

func (claudeCode) Find(store fs.FS) ([]Piece, error) {
	all, err := pieces(store, within(store, "projects"), named(
		`(^|/)(tool-results/|history\.jsonl$)`, "", `\.jsonl$`, "session", `(^|/)memory/[^/]+\.md$`, memory))
	heads := map[string]claudeHead{}
	buffer := make([]byte, 1<<16)
	for _, piece := range all {
		heads[piece.Path] = headOf(store, piece.Path, buffer)
	}
	slices.SortStableFunc(all, func(a, b Piece) int {
		x, y := heads[a.Path], heads[b.Path]
		return cmp.Or(strings.Compare(x.began, y.began), x.forked-y.forked)
	})
	all = append(all, alone(store, memory, "CLAUDE.md")...)
	return append(all, alone(store, prompts, "history.jsonl")...), err
}

// claudeHead orders files: a fork comes behind its parent, which began before it or, by the rows it copied, with it.
type claudeHead struct {
	began  string
	forked int
}

var began = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"timestamp":"([^"]+)"`) })

func headOf(store fs.FS, name string, buffer []byte) (head claudeHead) {
	file, err := store.Open(name)
	if err != nil {
		return head
	}
	defer file.Close()
	n, _ := io.ReadFull(file, buffer) // without a head, the reading tells
	text := buffer[:n]
	if at := began().FindSubmatch(text); at != nil {
		head.began = string(at[1])
	}
	own := []byte(`"sessionId":"` + strings.TrimSuffix(path.Base(name), ".jsonl") + `"`)
	isCopy := bytes.Contains(text, []byte(`"requestSessionId"`)) || bytes.Contains(text, []byte(`"forkedFrom"`))
	if isCopy || !bytes.Contains(text, own) {
		head.forked = 1
	}
	return head
}

type claudeRow struct {
	Type             string
	UUID             string
	SessionID        string
	RequestSessionID string // of a row that a fork copied: its parent
	AgentID          string
	CWD              string
	RowSource        string
	PromptSource     string
	IsSidechain      bool
	IsMeta           bool
	IsCompactSummary bool
	APIBlockIndex    *int
	Timestamp        moment
	Summary          string
	Message          *struct {
		ID      string
		Role    string
		Content json.RawMessage
	}
	Attachment struct {
		Type   string
		Prompt json.RawMessage
	}
	ToolUseResult json.RawMessage
}

// passedRows are the rows of Claude Code in which nobody speaks, or that repeat what is said elsewhere.
var passedRows = []string{
	"agent-color", "agent-name", "agent-setting", "ai-title", "api-request", "api-request-blob", "api-request-shape",
	"atis-latch", "attribution-snapshot", "content-replacement", "cost-state", "custom-title", "file-history-snapshot",
	"last-prompt", "mode", "permission-mode", "pr-link", "progress", "queue-operation", "system", "tag",
	"task-summary", "tools-used", "worktree-state",
}

// claudeFile reads one file. It holds the message that is being streamed.
type claudeFile struct {
	*Stream
	known   bool // a row of a known type has come
	message string
	held    []claudePart
}

// claudePart is a block of the held message, or a result that came between its rows.
type claudePart struct {
	Entry
	uuid  string
	index *int
}

func (claudeCode) Read(out *Stream, piece Piece) error {
	if piece.kind == prompts {
		return out.prompts(piece)
	}
	file := &claudeFile{Stream: out}
	id := strings.TrimSuffix(path.Base(piece.Path), ".jsonl")
	out.open(Session{ID: id})
	before := out.report.Records
	if err := out.records(piece.Path, file.row); err != nil {
		return err
	}
	if !file.known && out.report.Records > before {
		out.line = 0
		return &SchemaError{"no row of Claude Code"}
	}
	return file.flush()
}

func (f *claudeFile) row(r *record) error {
	var row claudeRow
	if !r.decode(&row) {
		return nil
	}
	f.place(&row)
	speaks := row.Type == "user" || row.Type == "assistant"
	hasContent := row.Message != nil && len(row.Message.Content) > 0
	switch {
	case speaks && !hasContent:
		f.notUnderstood(row.Type + " without a message")
		return nil
	case speaks && row.Type == "assistant":
		f.known = true
		return f.answer(r, &row)
	case speaks:
		f.known = true
		return f.user(r, &row)
	case row.Type == "summary":
		f.known = true
		return f.say("summary/"+row.Summary, Entry{Who: Harness, Kind: Summary, Text: row.Summary})
	case row.Attachment.Type == "queued_command":
		f.known = true
		return f.queued(r, &row)
	case row.Type == "attachment" || slices.Contains(passedRows, row.Type):
		f.known = true
		f.report.Passed++
	default:
		f.notUnderstood("row " + cmp.Or(row.Type, "without a type"))
	}
	return nil
}

// place takes from a row what it tells of the session.
func (f *claudeFile) place(row *claudeRow) {
	session := &f.session
	session.Dir = cmp.Or(session.Dir, row.CWD)
	if session.Began.IsZero() {
		session.Began = row.Timestamp.Time
	}
	if row.AgentID != "" && strings.HasSuffix(session.ID, row.AgentID) {
		session.ID, session.Parent, session.Side = row.AgentID, row.SessionID, true
	}
	if row.RequestSessionID != "" && row.RequestSessionID != session.ID && session.Parent == "" {
		session.Parent = row.RequestSessionID
	}
}

// answer holds the blocks of a row back until its message is complete.
func (f *claudeFile) answer(r *record, row *claudeRow) error {
	if row.Message.ID == "" || row.Message.ID != f.message {
		if err := f.flush(); err != nil {
			return err
		}
	} else {
		f.report.Merged++
	}
	f.message = row.Message.ID
	for _, entry := range r.parts(row.Message.Content) {
		entry.Who = cmp.Or(entry.Who, Assistant)
		entry.ID, entry.At, entry.Line = cmp.Or(row.Message.ID, row.UUID), row.Timestamp.Time, r.line
		f.merge(claudePart{entry, row.UUID, row.APIBlockIndex})
	}
	return nil
}

// merge adds a block to the held message. It replaces one that it continues, and is dropped if it is a part of one.
func (f *claudeFile) merge(part claudePart) {
	for i := range f.held {
		held := &f.held[i]
		isOther := held.index != nil && part.index != nil && *held.index != *part.index
		if isOther || held.Kind != part.Kind || held.Call != part.Call || len(held.Media)+len(part.Media) > 0 {
			continue
		}
		isLonger := strings.HasPrefix(part.Text, held.Text)
		if part.Kind == Call {
			isLonger = len(part.Text) > len(held.Text)
		}
		if isLonger {
			held.Text = part.Text
		}
		if isLonger || part.Kind == Call || strings.HasPrefix(held.Text, part.Text) {
			return
		}
	}
	f.held = append(f.held, part)
}

// flush passes on the held message.
func (f *claudeFile) flush() error {
	held := f.held
	f.held, f.message = nil, ""
	for _, part := range held {
		if err := f.put(part.uuid, part.Entry); err != nil {
			return err
		}
	}
	return nil
}

// say passes on the held message, then an entry.
func (f *claudeFile) say(key string, entry Entry) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.pass(key, entry)
}

// user tells by the blocks who spoke: a result is a tool's, and does not end the message that is streamed.
func (f *claudeFile) user(r *record, row *claudeRow) error {
	isHarness := row.IsMeta || row.RowSource == "harness" || row.PromptSource == "system"
	for _, entry := range r.parts(row.Message.Content) {
		entry.ID, entry.At, entry.Line = row.UUID, row.Timestamp.Time, r.line
		if entry.Kind == Result {
			f.resultFile(row, &entry)
			f.held = append(f.held, claudePart{entry, row.UUID, nil})
			continue
		}
		switch {
		case row.IsCompactSummary:
			entry.Who, entry.Kind = Harness, Summary
		case isHarness:
			entry.Who = Harness
		case row.IsSidechain:
			entry.Who = Assistant // the parent's
		default:
			entry.Who = Person
		}
		if err := f.say(row.UUID, entry); err != nil {
			return err
		}
	}
	return nil
}

// queued passes on what a person typed while the assistant worked.
func (f *claudeFile) queued(r *record, row *claudeRow) error {
	if err := f.flush(); err != nil {
		return err
	}
	base := Entry{ID: row.UUID, At: row.Timestamp.Time, Who: Person}
	return f.passAll("queued/"+row.Timestamp.String(), base, r.parts(row.Attachment.Prompt))
}

var persisted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^<persisted-output>.*?saved to: ([^\n]+)`)
})

// resultFile puts the whole text in the place of the beginning of a result whose rest stands in a file. The row has its
// path on the machine that wrote it: only the last part counts, in tool-results beside the session.
func (f *claudeFile) resultFile(row *claudeRow, entry *Entry) {
	var told struct{ PersistedOutputPath string }
	_ = json.Unmarshal(row.ToolUseResult, &told) // it may be a text
	if found := persisted().FindStringSubmatch(entry.Text); found != nil && told.PersistedOutputPath == "" {
		told.PersistedOutputPath = strings.TrimSpace(found[1])
	}
	if told.PersistedOutputPath == "" {
		return
	}
	name := path.Base(strings.ReplaceAll(told.PersistedOutputPath, `\`, "/"))
	dir := strings.TrimSuffix(f.file, ".jsonl")
	if f.session.Side {
		dir = path.Dir(path.Dir(f.file))
	}
	text, err := f.whole(f.store, path.Join(dir, "tool-results", name))
	if err != nil {
		f.notUnderstood("result in a file that is gone")
		return
	}
	entry.Text = string(text)
}

// prompts passes on the prompts of sessions that have no file any more, from a list of all prompts.
func (s *Stream) prompts(piece Piece) error {
	type prompt struct {
		Display, Text string // of Claude Code, of Codex
		Project       string
		SessionID     string
		ThreadID      string `json:"session_id"`
		Timestamp, TS moment
	}
	sessions := map[string][]Entry{}
	dirs := map[string]string{}
	var order []string
	err := s.records(piece.Path, func(r *record) error {
		var p prompt
		if !r.decode(&p) {
			return nil
		}
		id := cmp.Or(p.SessionID, p.ThreadID)
		if id == "" {
			s.notUnderstood("prompt without a session")
			return nil
		}
		if s.listed[id] {
			s.report.Doubled++
			return nil
		}
		if sessions[id] == nil {
			order = append(order, id)
			dirs[id] = p.Project
		}
		at := cmp.Or(p.Timestamp, p.TS).Time
		entry := Entry{At: at, Who: Person, Kind: Said, Text: r.text(cmp.Or(p.Display, p.Text)), Line: r.line}
		sessions[id] = append(sessions[id], entry)
		return nil
	})
	for _, id := range order {
		s.open(Session{ID: id, Dir: dirs[id], Began: sessions[id][0].At})
		for _, entry := range sessions[id] {
			if err := s.pass(id+entry.At.Format(time.RFC3339Nano), entry); err != nil {
				return err
			}
		}
	}
	return err
}
