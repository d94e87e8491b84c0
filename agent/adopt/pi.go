package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

// pi reads the sessions of pi and omp (seen: 1.6.0; versions 1 to 3), a tree of entries in a file. The order is the
// file's, so all branches come. A fork repeats entries of its parent.
type pi struct{}

func (pi) Find(store fs.FS) ([]Piece, error) {
	all, err := pieces(store, within(store, "sessions"), named(`\.jsonl$`, "session"))
	return append(all, alone(store, memory, "AGENTS.md")...), err
}

func (pi) Read(out *Stream, piece Piece) error {
	file := &piFile{Stream: out, newest: 3}
	return out.records(piece.Path, file.row)
}

// piRow is a line of pi, or an event of OpenClaw.
type piRow struct {
	Type          string
	ID            string
	Version       int
	Timestamp     moment
	CWD           string
	ParentSession string // a file
	Message       *piMessage
	Summary       string
	Content       json.RawMessage // of a custom_message
}

type piMessage struct {
	Role       string
	Content    json.RawMessage
	Sections   map[string]string // of the system
	ToolCallID string
	ToolName   string
	Command    string // of a bashExecution, which a person typed
	Output     string
	Summary    string
	Timestamp  moment
	// The file with all of a long output.
	FullOutputPath string
	Details        struct{ FullOutputPath string }
}

// piFile reads the rows of a session.
type piFile struct {
	*Stream
	newest int    // the newest version that is known
	joined bool   // a session may lie in several files
	given  string // the id of a session whose header may be missing
	id     string // of the session; "" before its header
}

func (f *piFile) row(r *record) error {
	var row piRow
	if !r.decode(&row) {
		return nil
	}
	if row.Type == "session" {
		return f.header(row)
	}
	if f.id == "" && f.given != "" {
		f.id = f.given
		f.open(Session{ID: f.id})
	}
	if f.id == "" {
		return &SchemaError{"it does not begin with a session"}
	}
	switch row.Type {
	case "message":
		if row.Message == nil {
			f.notUnderstood("message without a body")
			return nil
		}
		return f.message(r, row, *row.Message)
	case "compaction", "branch_summary":
		return f.add(row, Entry{Who: Harness, Kind: Summary, Text: r.text(row.Summary)})
	case "custom_message":
		return f.said(r, row, Harness, row.Content)
	case "model_change", "thinking_level_change", "label", "session_info", "custom", "leaf":
		f.report.Passed++
	default:
		f.notUnderstood("entry " + cmp.Or(row.Type, "without a type"))
	}
	return nil
}

func (f *piFile) header(row piRow) error {
	if f.id != "" {
		f.report.Passed++
		return nil
	}
	if row.Version > f.newest {
		return &SchemaError{fmt.Sprintf("version %d of a session; the newest known is %d", row.Version, f.newest)}
	}
	f.id = cmp.Or(row.ID, strings.TrimSuffix(path.Base(f.file), ".jsonl"))
	_, parent, _ := strings.Cut(strings.TrimSuffix(path.Base(row.ParentSession), ".jsonl"), "_")
	f.open(Session{ID: f.id, Parent: parent, Dir: row.CWD, Began: row.Timestamp.Time})
	f.report.Passed++
	return nil
}

// add passes on an entry of a row. A fork keeps the ids and times of messages. Version 1 has no ids: each entry is new.
func (f *piFile) add(row piRow, entry Entry) error {
	entry.ID, entry.At = row.ID, row.Timestamp.Time
	if row.Message != nil && !row.Message.Timestamp.IsZero() {
		entry.At = row.Message.Timestamp.Time
	}
	key := ""
	if row.ID != "" {
		key = row.ID + entry.At.String()
	}
	if row.ID != "" && f.joined {
		key = f.id + "/" + row.ID
	}
	return f.pass(key, entry)
}

func (f *piFile) said(r *record, row piRow, who Who, content json.RawMessage) error {
	for _, entry := range r.parts(content) {
		entry.Who = cmp.Or(entry.Who, who)
		if err := f.add(row, entry); err != nil {
			return err
		}
	}
	return nil
}

func (f *piFile) message(r *record, row piRow, message piMessage) error {
	switch message.Role {
	case "user":
		return f.said(r, row, Person, message.Content)
	case "assistant":
		return f.said(r, row, Assistant, message.Content)
	case "system":
		f.report.Passed++ // what the program tells its model anew in each session
		return nil
	case "custom":
		return f.said(r, row, Harness, message.Content)
	case "branchSummary", "compactionSummary":
		return f.add(row, Entry{Who: Harness, Kind: Summary, Text: r.text(message.Summary)})
	case "toolResult":
		entry := r.result(message.ToolCallID, message.ToolName, message.Content)
		f.fullOutput(cmp.Or(message.Details.FullOutputPath, message.FullOutputPath), &entry)
		return f.add(row, entry)
	case "bashExecution":
		call := Entry{Who: Person, Kind: Call, Tool: "bash", Text: r.text(message.Command)}
		if err := f.add(row, call); err != nil {
			return err
		}
		entry := Entry{Who: Tool, Kind: Result, Tool: "bash", Text: r.text(message.Output)}
		f.fullOutput(message.FullOutputPath, &entry)
		return f.add(row, entry)
	}
	f.notUnderstood("role " + message.Role)
	return nil
}

var fullOutput = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pi-[a-z]+-[0-9a-f]+\.log$`) })

// fullOutput puts the whole text in the place of the end of a long result, while the file with it is there. Only the
// file's name counts: it must be one that pi gives, in the temporary directory.
func (f *piFile) fullOutput(file string, entry *Entry) {
	if file == "" {
		return
	}
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	if f.options.Temp == nil || !fullOutput().MatchString(name) {
		f.notUnderstood("long result whose file is gone: its end is read")
		return
	}
	text, err := f.whole(f.options.Temp, name)
	if err != nil || !strings.Contains(string(text), strings.TrimSpace(firstLine(entry.Text))) {
		f.notUnderstood("long result whose file is gone: its end is read")
		return
	}
	entry.Text = string(text)
}

// firstLine returns the line with which a text begins, to tell whether a file has the text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
