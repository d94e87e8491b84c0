package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"lethe/internal/pattern"
)

// pi reads the sessions of pi and omp (seen: 1.6.0; versions 1 to 3), a tree of entries in a file. The order is the
// file's, so all branches come. A fork repeats entries of its parent.
var pi = Agent{
	Name: "pi", Title: "pi", Roots: "$PI_CODING_AGENT_DIR .pi/agent .omp/agent",
	dirs: "sessions",
	files: `
		sessions \.jsonl$
		memory ^AGENTS\.md$`,
	read: func(out *Stream, piece Piece) {
		out.records(piece.Path, as((&piFile{Stream: out}).row))
	},
}

// piRow is a line of pi, or an event of OpenClaw.
type piRow struct {
	Type          string
	ID            string
	Version       int
	Timestamp     moment
	CWD           string
	ParentSession string // a file
	Message       piMessage
	Summary       string
	Content       json.RawMessage // of a custom_message
}

type piMessage struct {
	block
	Role      string
	Command   string // of a bashExecution, which a person typed
	Summary   string
	Timestamp moment
	// The file with all of a long output.
	FullOutputPath string
	Details        struct{ FullOutputPath string }
}

// piFile reads the rows of a session.
type piFile struct {
	*Stream
	joined bool   // a session may lie in several files
	given  string // the id of a session whose header may be missing
	id     string // of the session; "" before its header

	isUnknown bool // it is of an unknown version
}

func (f *piFile) row(row *piRow) {
	switch {
	case f.isUnknown:
		return
	case row.Type == "session":
		f.header(row)
		return
	case f.id == "" && f.given == "":
		f.refuse("unknown format: it does not begin with a session")
		return
	case f.id == "":
		f.id = f.given
		f.open(Session{ID: f.id})
	}
	message := &row.Message
	base := Entry{ID: row.ID, At: cmp.Or(message.Timestamp, row.Timestamp).Time}
	all := f.parts(first(message.Content, row.Content))
	kind := path.Join(row.Type, message.Role)
	switch kind {
	case "message/user":
		base.Who = Person
	case "message/assistant":
		base.Who = Assistant
	case "message/custom", "custom_message":
		base.Who = Harness
	case "message/branchSummary", "message/compactionSummary", "compaction", "branch_summary":
		all = []Entry{{Who: Harness, Kind: Summary, Text: cmp.Or(row.Summary, message.Summary)}}
	case "message/toolResult":
		all = []Entry{f.result(message)}
	case "message/bashExecution":
		message.Name = "bash"
		all = []Entry{{Who: Person, Kind: Call, Tool: "bash", Text: message.Command}, f.result(message)}
	default: // a system message is what the program tells its model anew in each session
		f.passOver("entry", kind, "message/system model_change thinking_level_change label session_info custom leaf")
		return
	}
	f.pass(f.key(base), base, all...)
}

// key returns the key of a row's entries. A fork keeps the ids and times of messages. Version 1 has no ids: each entry
// is new.
func (f *piFile) key(base Entry) string {
	switch {
	case base.ID == "":
		return ""
	case f.joined:
		return f.id + "/" + base.ID
	}
	return base.ID + base.At.String()
}

func (f *piFile) header(row *piRow) {
	newest := 3
	if f.joined { // OpenClaw's
		newest = 4
	}
	if row.Version > newest {
		f.isUnknown = true
		f.notUnderstood(fmt.Sprintf("unknown format: version %d of a session; the newest known is %d", row.Version, newest))
		return
	}
	f.report.Passed++
	if f.id != "" {
		return
	}
	f.id = cmp.Or(row.ID, stem(f.file))
	_, parent, _ := strings.Cut(stem(row.ParentSession), "_")
	f.open(Session{ID: f.id, Parent: parent, Dir: row.CWD, Began: row.Timestamp.Time})
}

var fullOutput = pattern.Lazy(`^pi-[a-z]+-[0-9a-f]+\.log$`)

// result returns a result, with its whole text in the place of the end of a long one while the file with it is there.
// Only the file's name counts: it must be one that pi gives, in the temporary directory.
func (f *piFile) result(message *piMessage) Entry {
	entry := f.Stream.result(&message.block)
	file := cmp.Or(message.Details.FullOutputPath, message.FullOutputPath)
	if file == "" {
		return entry
	}
	name := baseOf(file)
	var text []byte
	if f.options.Temp != nil && fullOutput().MatchString(name) {
		text, _ = f.whole(f.options.Temp, name)
	}
	firstLine, _, _ := strings.Cut(entry.Text, "\n") // to tell whether the file has the text
	if len(text) == 0 || !strings.Contains(string(text), strings.TrimSpace(firstLine)) {
		f.notUnderstood("long result whose file is gone: its end is read")
		return entry
	}
	entry.Text = string(text)
	return entry
}
