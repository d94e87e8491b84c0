package adopt

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// codex reads the rollouts of Codex (seen: 0.171.0; history modes legacy and paginated, and the first ones without
// payloads). What is said stands in response_item, and again in event_msg. A fork repeats its parent with new times,
// session_meta too: the first one is the thread's. Of two copies of a file the plain one counts, and the live one.
type codex struct{}

func (codex) Find(store fs.FS) ([]Piece, error) {
	rollout := named(`(^|/)rollout-[^/]*\.jsonl(\.zst)?$`, "rollout")
	live, err := pieces(store, within(store, "sessions"), rollout)
	if err != nil {
		return nil, err
	}
	archived, err := pieces(store, "archived_sessions", rollout)
	if err != nil {
		return nil, err
	}
	live = append(live, archived...)
	name := func(p Piece) string { return strings.TrimSuffix(path.Base(p.Path), ".zst") }
	slices.SortStableFunc(live, func(a, b Piece) int {
		return cmp.Or(strings.Compare(name(a), name(b)), len(path.Base(a.Path))-len(path.Base(b.Path)))
	})
	live = slices.CompactFunc(live, func(a, b Piece) bool { return name(a) == name(b) })
	memories, err := pieces(store, "memories", named(`\.md$`, memory))
	live = append(live, memories...)
	live = append(live, alone(store, memory, "AGENTS.md")...)
	return append(live, alone(store, prompts, "history.jsonl")...), err
}

type codexRow struct {
	Timestamp moment
	Type      string
	Payload   json.RawMessage
	Metadata  struct {
		CompactionOutput bool `json:"compaction_output"`
	}
}

// codexItem is a payload of any kind.
type codexItem struct {
	Type      string
	ID        string
	Role      string
	State     string `json:"record_type"` // of a first rollout
	Content   json.RawMessage
	Summary   json.RawMessage
	Name      string
	CallID    string `json:"call_id"`
	Arguments json.RawMessage
	Input     json.RawMessage
	Action    json.RawMessage
	Output    json.RawMessage
	Result    string          // of an image_generation_call: base64
	Message   string          // of events, and of compacted: the summary
	Text      string          // of agent_reasoning
	Item      *codexItem      // of item_completed
	Raw       json.RawMessage `json:"raw_content"`
	TurnID    string          `json:"turn_id"`
	Told      struct {
		TurnID string `json:"turn_id"`
		Items  []struct {
			Provenance struct{ Type string }
		} `json:"content_item_metadata"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

type codexMeta struct {
	ID          string
	Timestamp   moment
	CWD         string
	HistoryMode string          `json:"history_mode"`
	ForkedFrom  string          `json:"forked_from_id"`
	Source      json.RawMessage // a text, or an object that names the parent of a subagent
}

// codexFile reads one rollout.
type codexFile struct {
	*Stream
	fallback string // the thread's id by the name of the file
	metas    int
	said     bool   // items have roles, so events only double them
	root     string // the thread, or the first one of its forks
	scope    string // the turn
	chain    string // of the texts of the turn, or since the root
	summary  string // the last one
}

var errFound = errors.New("found")

func (codex) Read(out *Stream, piece Piece) error {
	if piece.kind == prompts {
		return out.prompts(piece)
	}
	file := &codexFile{Stream: out, fallback: threadOf(piece.Path)}
	before := *out.report
	unknown := slices.Clone(out.report.Unknown)
	err := out.records(piece.Path, func(r *record) error {
		return file.look(r)
	})
	*out.report, out.report.Unknown = before, unknown // the second reading counts
	if err != nil && !errors.Is(err, errFound) {
		out.line = 0
		return err
	}
	return out.records(piece.Path, file.row)
}

var threadID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
})

// threadOf returns the id in the name of a rollout.
func threadOf(name string) string {
	base, _, _ := strings.Cut(path.Base(name), ".jsonl")
	return cmp.Or(threadID().FindString(base), base)
}

// parse returns a row and its payload. The first rollouts had no payloads: the row is one.
func (f *codexFile) parse(r *record) (row codexRow, item codexItem, ok bool) {
	if !r.decode(&row) {
		return row, item, false
	}
	if len(row.Payload) == 0 {
		row.Payload, row.Type = r.raw, "response_item"
		if f.metas == 0 {
			row.Type = "session_meta"
		}
	}
	inner := &record{Stream: r.Stream, raw: row.Payload}
	return row, item, row.Type == "session_meta" || inner.decode(&item)
}

// look ends at the first item with a role.
func (f *codexFile) look(r *record) error {
	row, item, ok := f.parse(r)
	if !ok {
		return nil
	}
	if row.Type == "response_item" && item.Role != "" && item.Role != "developer" {
		f.said = true
		return errFound
	}
	f.metas = 0
	return nil
}

func (f *codexFile) row(r *record) error {
	row, item, ok := f.parse(r)
	if !ok {
		return nil
	}
	if row.Type == "session_meta" {
		return f.meta(row)
	}
	if f.metas == 0 {
		f.metas++
		f.thread(codexMeta{})
	}
	if turn := cmp.Or(item.Told.TurnID, item.TurnID); turn != "" && turn != f.scope {
		f.scope, f.chain = turn, turn
	}
	switch row.Type {
	case "response_item":
		return f.item(r, row, item)
	case "event_msg":
		return f.event(r, row, item)
	case "compacted":
		if f.summary != "" && strings.Contains(item.Message, f.summary) {
			f.report.Doubled++
			return nil
		}
		return f.add(row, "", Entry{Who: Harness, Kind: Summary, Text: r.text(item.Message)})
	case "turn_context", "world_state", "token_usage_record":
		f.report.Passed++
	default:
		f.notUnderstood("record " + row.Type)
	}
	return nil
}

func (f *codexFile) meta(row codexRow) error {
	var meta codexMeta
	if err := json.Unmarshal(row.Payload, &meta); err != nil {
		return &SchemaError{"session_meta: " + err.Error()}
	}
	f.metas++
	f.report.Passed++
	if f.metas > 1 {
		if meta.ID != f.session.ID && f.session.Parent == "" { // copied with the parent's records
			f.session.Parent = meta.ID
			f.root = cmp.Or(f.roots[meta.ID], meta.ID)
			f.chain, f.roots[f.session.ID] = f.root, f.root
		}
		return nil
	}
	if !slices.Contains([]string{"", "legacy", "paginated"}, meta.HistoryMode) {
		return &SchemaError{"history_mode " + meta.HistoryMode}
	}
	f.thread(meta)
	return nil
}

// thread begins the session. Copies of entries without a turn are told by the texts before them, from the root of all
// forks on.
func (f *codexFile) thread(meta codexMeta) {
	id := cmp.Or(meta.ID, f.fallback)
	var spawned struct {
		Subagent struct {
			Spawn struct {
				Parent string `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		}
	}
	isSide := json.Unmarshal(meta.Source, &spawned) == nil && strings.Contains(string(meta.Source), `"subagent"`)
	f.open(Session{
		ID: id, Parent: cmp.Or(meta.ForkedFrom, spawned.Subagent.Spawn.Parent), Side: isSide, Dir: meta.CWD,
		Began: meta.Timestamp.Time,
	})
	f.listed[id] = true
	f.root = id
	if parent := meta.ForkedFrom; parent != "" {
		f.root = cmp.Or(f.roots[parent], parent)
	}
	f.chain, f.roots[id] = f.root, f.root
}

// add passes on an entry. Its key is its id in its turn, or the texts before it.
func (f *codexFile) add(row codexRow, id string, entry Entry) error {
	entry.ID, entry.At = id, row.Timestamp.Time
	f.chain = binaryKey(keyOf(f.chain, entry))
	key := f.chain
	if id != "" {
		key = cmp.Or(f.scope, f.root) + "/" + id
	}
	return f.pass(key, entry)
}

func (f *codexFile) item(r *record, row codexRow, item codexItem) error {
	var entry Entry
	switch item.Type {
	case "message", "":
		return f.message(r, row, item)
	case "reasoning":
		for _, part := range append(r.parts(item.Summary), r.parts(item.Content)...) {
			part.Who, part.Kind = Assistant, Thought
			if err := f.add(row, item.ID, part); err != nil {
				return err
			}
		}
		return nil
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call":
		name := cmp.Or(item.Name, strings.TrimSuffix(item.Type, "_call"))
		entry = r.call(cmp.Or(item.CallID, item.ID), name, first(item.Arguments, item.Input, item.Action))
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		entry = r.result(item.CallID, "", item.Output)
	case "image_generation_call":
		_, data := r.bytes(item.Result)
		entry = Entry{Who: Tool, Kind: Result, Call: item.ID, Tool: "image_generation", Media: media("", "", data)}
	case "ghost_snapshot", "compaction", "compaction_summary", "context_compaction":
		f.report.Passed++
		return nil
	default:
		f.notUnderstood("item " + item.Type)
		return nil
	}
	return f.add(row, item.ID, entry)
}

// message tells by the provenance of each block, or by its role, who wrote it.
func (f *codexFile) message(r *record, row codexRow, item codexItem) error {
	if item.State != "" {
		f.report.Passed++
		return nil
	}
	if item.Role == "" {
		f.notUnderstood("item without a role")
		return nil
	}
	for i, entry := range r.parts(item.Content) {
		switch item.Role {
		case "assistant":
			entry.Who = Assistant
		case "user":
			entry.Who = Person
		default:
			entry.Who = Harness
		}
		if told := item.Told.Items; item.Role == "user" && i < len(told) {
			if from := told[i].Provenance.Type; from != "user" && from != "" {
				entry.Who = Harness
			}
		}
		if row.Metadata.CompactionOutput {
			entry.Who, entry.Kind = Harness, Summary
			f.summary = strings.TrimSpace(entry.Text)
		}
		if err := f.add(row, item.ID, entry); err != nil {
			return err
		}
	}
	return nil
}

// event passes on what is said in events of a rollout without items. In another one it is there twice.
func (f *codexFile) event(r *record, row codexRow, event codexItem) error {
	item := event
	if event.Type == "item_completed" && event.Item != nil {
		item = *event.Item
	}
	entry := Entry{Who: Assistant, Kind: Said, Text: r.text(item.Message)}
	switch item.Type {
	case "user_message", "UserMessage":
		entry.Who = Person
	case "agent_message", "AgentMessage":
	case "agent_reasoning", "Reasoning":
		entry.Kind, entry.Text = Thought, r.text(item.Text)
	default:
		f.report.Passed++
		return nil
	}
	if f.said {
		f.report.Doubled++
		return nil
	}
	parts := append(r.parts(item.Content), r.parts(item.Raw)...)
	if entry.Text != "" {
		parts = append(parts, entry)
	}
	for _, part := range parts {
		part.Who, part.Kind = entry.Who, entry.Kind
		if err := f.add(row, item.ID, part); err != nil {
			return err
		}
	}
	return nil
}
