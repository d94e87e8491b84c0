package adopt

import (
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"strings"
)

// claudeCode reads the projects of Claude Code (seen: 2.1.332). A session is a file; the order is the file's, since a
// compaction gives messages a new parent. Several rows with one message.id are one message that was streamed. A fork
// repeats rows of its parent, with their uuid. A side chain has an agentId, and the sessionId of its parent.
var claudeCode = Agent{
	Name: "claude-code", Title: "Claude Code", Roots: "$CLAUDE_CONFIG_DIR .claude .config/claude",
	dirs: "projects",
	files: `
		memory (^|/)memory/[^/]+\.md$
		sessions \.jsonl$
		- (^|/)tool-results/
		memory ^CLAUDE\.md$
		prompts (^|/)history\.jsonl$`,
	key: headOf,
	read: func(out *Stream, piece Piece) {
		file := &claudeFile{Stream: out}
		out.open(Session{ID: stem(piece.Path)})
		out.records(piece.Path, as(file.row))
		file.flush()
	},
}

// headOf returns what orders files: a fork comes behind its parent, which began before it or, by the rows it copied, with
// it.
func headOf(store fs.FS, name string) string {
	file, err := store.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	buffer := make([]byte, 1<<16)
	n, _ := io.ReadFull(file, buffer) // without a head, the reading tells
	text := string(buffer[:n])
	_, began, _ := strings.Cut(text, `"timestamp":"`)
	began, _, _ = strings.Cut(began, `"`)
	isCopy := strings.Contains(text, `"requestSessionId"`) || strings.Contains(text, `"forkedFrom"`)
	_, first, _ := strings.Cut(text, `"sessionId":"`) // an older fork begins with its parent's
	if isCopy || !strings.HasPrefix(first, stem(name)) {
		began += " forked"
	}
	return began
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
	Summary          json.RawMessage
	Message          struct {
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
const passedRows = `
	agent-color agent-name agent-setting ai-title api-request api-request-blob api-request-shape atis-latch
	attachment attribution-snapshot content-replacement cost-state custom-title file-history-snapshot last-prompt mode
	permission-mode pr-link progress queue-operation system tag task-summary tools-used worktree-state`

// claudeFile reads one file. It holds the message that is being streamed.
type claudeFile struct {
	*Stream
	message string
	held    []claudePart
}

// claudePart is a block of the held message, or a result that came between its rows.
type claudePart struct {
	Entry
	uuid  string
	index *int
}

func (f *claudeFile) row(row *claudeRow) {
	f.place(row)
	isAnswer := row.Type == "assistant"
	speaks := isAnswer || row.Type == "user"
	isHarness := row.IsMeta || row.RowSource == "harness" || row.PromptSource == "system"
	key, content := row.UUID, row.Message.Content
	base := Entry{ID: row.UUID, At: row.Timestamp.Time, Who: Person}
	switch {
	case speaks && len(content) == 0:
		f.notUnderstood(row.Type + " without a message")
		return
	case isAnswer:
		if row.Message.ID == "" || row.Message.ID != f.message {
			f.flush()
		} else {
			f.report.Merged++
		}
		f.message, base.ID, base.Who = row.Message.ID, cmp.Or(row.Message.ID, row.UUID), Assistant
	case speaks && row.IsCompactSummary:
		base.Who, base.Kind = Harness, Summary
	case speaks && isHarness:
		base.Who = Harness
	case speaks && row.IsSidechain && !f.session.Side: // put knows the others
		base.Who = Assistant // the parent's
	case speaks:
	case row.Type == "summary":
		key, content = "summary/"+string(row.Summary), row.Summary
		base.Who, base.Kind = Harness, Summary
	case row.Attachment.Type == "queued_command": // a person typed it while the assistant worked
		key, content = "queued/"+row.Timestamp.String(), row.Attachment.Prompt
	default:
		f.passOver("row", row.Type, passedRows)
		return
	}
	all := f.parts(content)
	if len(all) > 1 {
		row.ToolUseResult = nil // nobody knows of which
	}
	for _, entry := range all {
		isResult := entry.Kind == Result // it does not end the message that is streamed
		if isResult {
			f.resultFile(row, &entry)
		}
		if isAnswer || isResult {
			f.hold(claudePart{f.of(base, entry), row.UUID, row.APIBlockIndex})
			continue
		}
		f.flush()
		f.pass(key, base, entry)
	}
}

// place takes from a row what it tells of the session.
func (f *claudeFile) place(row *claudeRow) {
	session := &f.session
	session.Dir = cmp.Or(session.Dir, row.CWD)
	if row.AgentID != "" && strings.HasSuffix(session.ID, row.AgentID) {
		session.ID, session.Parent, session.Side = row.AgentID, row.SessionID, true
	}
	if row.RequestSessionID != session.ID {
		session.Parent = cmp.Or(session.Parent, row.RequestSessionID)
	}
}

// hold adds a block to the held message. It replaces one that it continues, and is dropped if it is a part of one.
func (f *claudeFile) hold(part claudePart) {
	for i := range f.held {
		held := &f.held[i]
		isOther := held.index != nil && part.index != nil && *held.index != *part.index
		if isOther || part.Kind == Result || held.Kind != part.Kind || held.Call != part.Call || len(held.Media)+len(part.Media) > 0 {
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
func (f *claudeFile) flush() {
	for _, part := range f.held {
		f.put(part.uuid, part.Entry)
	}
	f.held, f.message = nil, ""
}

// resultFile puts the whole text in the place of the beginning of a result whose rest stands in a file, in tool-results
// beside the session. The row has its path, also when a compaction has cleared the text that tells it.
func (f *claudeFile) resultFile(row *claudeRow, entry *Entry) {
	var told struct{ PersistedOutputPath string }
	_ = parse(row.ToolUseResult, &told) // it may be a text
	_, rest, _ := strings.Cut(entry.Text, "saved to: ")
	line, _, _ := strings.Cut(rest, "\n")
	if !strings.HasPrefix(entry.Text, "<persisted-output>") {
		line = ""
	}
	dir := strings.TrimSuffix(f.file, ".jsonl")
	if f.session.Side {
		dir = path.Dir(path.Dir(f.file))
	}
	entry.Text = f.besides(path.Join(dir, "tool-results"), cmp.Or(strings.TrimSpace(line), told.PersistedOutputPath), entry.Text)
}
