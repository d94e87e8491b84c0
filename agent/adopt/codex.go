package adopt

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// codex reads the rollouts of Codex (seen: 0.171.0; history modes legacy and paginated, and the first ones without
// payloads). What is said stands in response_item, and again in event_msg. A fork repeats its parent with new times,
// session_meta too: the first one is the thread's. Of two copies of a file the plain one counts, and the live one.
var codex = Agent{
	Name: "codex", Title: "Codex", Roots: "$CODEX_HOME .codex",
	dirs: "sessions archived_sessions memories",
	files: `
		sessions (^|/)rollout-[^/]*\.jsonl(\.zst)?$
		memory ^memories/.*\.md$
		memory ^AGENTS\.md$
		prompts ^history\.jsonl$`,
	key:  func(store fs.FS, name string) string { return path.Base(name) + " " + backwards(store, name) },
	read: readCodex,
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
	Type    string
	ID      string
	Role    string
	State   string `json:"record_type"` // of a first rollout
	Content json.RawMessage
	Summary json.RawMessage
	Result  string          // of an image_generation_call: base64
	Message string          // of events, and of compacted: the summary
	Text    string          // of agent_reasoning
	Item    *codexItem      // of item_completed
	Raw     json.RawMessage `json:"raw_content"`
	TurnID  string          `json:"turn_id"`
	Told    struct {
		TurnID string `json:"turn_id"`
		Items  []struct {
			Provenance struct{ Type string }
		} `json:"content_item_metadata"`
	} `json:"internal_chat_message_metadata_passthrough"`

	// Of session_meta.
	Timestamp   moment
	CWD         string
	HistoryMode string          `json:"history_mode"`
	ForkedFrom  string          `json:"forked_from_id"`
	Source      json.RawMessage // a text, or an object that names the parent of a subagent
}

// codexFile reads one rollout.
type codexFile struct {
	*Stream
	said    bool   // items have roles, so events only double them
	root    string // the thread, or the first one of its forks
	scope   string // the turn
	chain   string // of the texts of the turn, or since the root
	summary string // the last one
}

func readCodex(out *Stream, piece Piece) {
	file, name := &codexFile{Stream: out}, stem(piece.Path)
	if out.roots[name] != "" {
		return
	}
	out.roots[name] = name
	probe := newStream(out.ctx, out.store, nil, out.options) // its report does not count
	probe.records(piece.Path, as(func(row *codexRow) {
		var item codexItem
		_ = json.Unmarshal(row.Payload, &item) // the second reading tells
		isSaid := row.Type == "response_item" && item.Role != "" && item.Role != "developer"
		file.said = file.said || isSaid // an event may be glued to it
		probe.refused = file.said
	}))
	out.records(piece.Path, as(file.row))
}

// threadOf returns the id at the end of a rollout's name.
func threadOf(name string) string {
	base := stem(name)
	return base[max(0, len(base)-len("01a21fb4-a7de-78e2-99ff-b65a6b37ef11")):]
}

func (f *codexFile) row(row *codexRow) {
	if len(row.Payload) == 0 { // the first rollouts had no payloads: the row is one
		row.Payload, row.Type = f.raw, "response_item"
		if f.root == "" {
			row.Type = "session_meta"
		}
	}
	var item codexItem
	_, isRead := f.decode(row.Payload, &item)
	switch {
	case !isRead:
		return
	case row.Type == "session_meta":
		f.meta(&item)
		return
	case f.root == "":
		f.thread(&codexItem{})
	}
	if turn := cmp.Or(item.Told.TurnID, item.TurnID); turn != "" && turn != f.scope {
		f.scope, f.chain = turn, turn
	}
	for _, entry := range f.entries(row, &item) {
		f.chain = strconv.FormatUint(f.keyOf(f.chain, entry), 36)
		key := f.chain
		if item.ID != "" {
			key = cmp.Or(f.scope, f.root) + "/" + item.ID
		}
		f.pass(key, Entry{ID: item.ID, At: row.Timestamp.Time}, entry)
	}
}

// entries returns the entries of a row.
func (f *codexFile) entries(row *codexRow, item *codexItem) []Entry {
	switch row.Type {
	case "response_item":
		return f.item(row, item)
	case "event_msg":
		return f.event(item)
	case "compacted":
		if f.summary == "" || !strings.Contains(item.Message, f.summary) {
			return []Entry{{Who: Harness, Kind: Summary, Text: item.Message}}
		}
		f.report.Doubled++
	default:
		f.passOver("record", row.Type, "turn_context world_state token_usage_record")
	}
	return nil
}

func (f *codexFile) meta(meta *codexItem) {
	isKnown := slices.Contains([]string{"", "legacy", "paginated"}, meta.HistoryMode)
	switch {
	case f.root == "" && !isKnown:
		f.refuse("unknown format: history_mode " + meta.HistoryMode)
		return
	case f.root == "":
		f.thread(meta)
	case meta.ID != f.session.ID && f.session.Parent == "": // copied with the parent's records
		f.session.Parent = meta.ID
		f.from(meta.ID)
	}
	f.report.Passed++
}

// thread begins the session. Copies of entries without a turn are told by the texts before them, from the root of all
// forks on.
func (f *codexFile) thread(meta *codexItem) {
	id := cmp.Or(meta.ID, threadOf(f.file))
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
	f.from(meta.ForkedFrom) // not from the thread itself: a later run knows who spawned it
}

// from has the thread's root be the first one of the forks that led to another thread, or itself without another.
func (f *codexFile) from(id string) {
	for range 100 { // a circle ends
		_, parent := f.options.Past(id)
		if f.roots[id] != "" || parent == "" {
			break
		}
		id = parent
	}
	f.root = cmp.Or(f.roots[id], id, f.session.ID)
	f.chain, f.roots[f.session.ID] = f.root, f.root
}

func (f *codexFile) item(row *codexRow, item *codexItem) []Entry {
	switch item.Type {
	case "message", "":
		return f.message(row, item)
	case "reasoning":
		return spoken(Assistant, Thought, append(f.parts(item.Summary), f.parts(item.Content)...))
	case "image_generation_call":
		entry := f.picture(&block{Data: item.Result})
		entry.Who, entry.Kind, entry.Call, entry.Tool = Tool, Result, item.ID, "image_generation"
		return []Entry{entry}
	case "ghost_snapshot", "compaction", "compaction_summary", "context_compaction":
		f.report.Passed++
		return nil
	}
	return f.parts(row.Payload)
}

// spoken gives entries their voice and kind.
func spoken(who Who, kind Kind, all []Entry) []Entry {
	for i := range all {
		all[i].Who, all[i].Kind = who, cmp.Or(kind, all[i].Kind)
	}
	return all
}

// message tells by the provenance of each block, or by its role, who wrote it.
func (f *codexFile) message(row *codexRow, item *codexItem) []Entry {
	if item.State != "" {
		f.report.Passed++
		return nil
	}
	all := spoken(f.voice(item.Role), "", f.parts(item.Content))
	for i := range all {
		if told := item.Told.Items; all[i].Who == Person && i < len(told) {
			if from := told[i].Provenance.Type; from != "user" && from != "" {
				all[i].Who = Harness
			}
		}
		if row.Metadata.CompactionOutput {
			all[i].Who, all[i].Kind = Harness, Summary
			f.summary = strings.TrimSpace(all[i].Text)
		}
	}
	return all
}

// event returns what is said in events of a rollout without items. In another one it is there twice.
func (f *codexFile) event(event *codexItem) []Entry {
	if event.Type == "item_completed" && event.Item != nil {
		id := event.ID
		*event = *event.Item
		event.ID = cmp.Or(event.ID, id)
	}
	who, kind, text := Assistant, Said, event.Message
	switch event.Type {
	case "user_message", "UserMessage":
		who = Person
	case "agent_message", "AgentMessage":
	case "agent_reasoning", "Reasoning":
		kind, text = Thought, event.Text
	default:
		f.report.Passed++
		return nil
	}
	if f.said {
		f.report.Doubled++
		return nil
	}
	all := append(f.parts(event.Content), f.parts(event.Raw)...)
	return spoken(who, kind, append(all, Entry{Text: text}))
}
