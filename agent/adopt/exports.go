package adopt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// chatGPT reads the export of ChatGPT: arrays of conversations, each a tree of which the branch of its current node
// counts. claudeAI reads the export of Claude.ai: conversations, projects and memories.
var chatGPT = Agent{
	Name: "chatgpt", Title: "ChatGPT",
	Hint:  "export it (Settings, Data controls), then: lethe adopt chatgpt=FILE.zip",
	files: `sessions (^|/)conversations(-\d+)?\.json$`,
	read:  func(out *Stream, piece Piece) { out.elements(piece.Path, as(out.gptTalk)) },
}

var claudeAI = Agent{
	Name: "claude-ai", Title: "Claude.ai",
	Hint: "export it (Settings, Privacy), then: lethe adopt claude-ai=FILE.zip",
	files: `
		sessions (^|/)conversations(-\d+)?\.json$
		memories (^|/)memories\.json$
		projects (^|/)projects(/[^/]+)?\.json$`,
	read: func(out *Stream, piece Piece) {
		read := as(out.claudeTalk)
		switch piece.kind {
		case "projects":
			read = as(out.claudeProject)
		case "memories":
			read = as(out.claudeMemories)
		}
		out.elements(piece.Path, read)
	},
}

type gptConversation struct {
	ID             string
	ConversationID string `json:"conversation_id"`
	Title          string
	CreateTime     moment `json:"create_time"`
	CurrentNode    string `json:"current_node"`
	Mapping        map[string]*gptNode
}

type gptNode struct {
	Parent  string
	Message *gptMessage
}

type gptMessage struct {
	ID         string
	Author     struct{ Role, Name string }
	CreateTime moment `json:"create_time"`
	Recipient  string
	Content    struct {
		Type     string `json:"content_type"`
		Parts    json.RawMessage
		Text     string
		Result   string
		Thoughts []struct{ Summary, Content string }
	}
	Metadata struct {
		IsHidden bool `json:"is_visually_hidden_from_conversation"`
	}
}

func (s *Stream) gptTalk(c *gptConversation) {
	if c.Mapping == nil {
		s.notUnderstood("conversation without a mapping")
		return
	}
	s.open(Session{ID: cmp.Or(c.ConversationID, c.ID), Title: c.Title, Began: c.CreateTime.Time})
	for _, message := range branch(c) {
		s.gptMessage(message)
	}
}

// branch returns the messages from the root to the current node, or, where that is unknown, to the newest leaf.
func branch(c *gptConversation) (all []*gptMessage) {
	at := c.CurrentNode
	if c.Mapping[at] == nil {
		at = ""
		var newest moment
		goesOn := map[string]bool{}
		for _, node := range c.Mapping {
			if node != nil {
				goesOn[node.Parent] = true
			}
		}
		for id, node := range c.Mapping {
			if node == nil || node.Message == nil || goesOn[id] {
				continue
			}
			time := node.Message.CreateTime
			if cmp.Or(time.Compare(newest.Time), strings.Compare(id, at)) > 0 {
				at, newest = id, time
			}
		}
	}
	for range c.Mapping { // a circle ends
		node := c.Mapping[at]
		if node == nil {
			break
		}
		if node.Message != nil {
			all = append(all, node.Message)
		}
		at = node.Parent
	}
	slices.Reverse(all)
	return all
}

func (s *Stream) gptMessage(m *gptMessage) {
	who := s.voice(m.Author.Role)
	base := Entry{ID: m.ID, At: m.CreateTime.Time, Who: who, Kind: Said}
	tool := ""
	switch {
	case m.Metadata.IsHidden || who == Harness:
		s.report.Passed++
		return
	case who == Tool:
		base.Kind, tool = Result, m.Author.Name
	case who == Assistant && m.Recipient != "" && m.Recipient != "all":
		base.Kind, tool = Call, m.Recipient
	}
	switch contents.of(m.Content.Type) {
	case "thought":
		base.Kind = Thought
	case "harness":
		base.Who = Harness
	case "":
		s.unknown("content", m.Content.Type)
		return
	}
	parts := []Entry{{Text: cmp.Or(m.Content.Text, m.Content.Result)}}
	for _, thought := range m.Content.Thoughts {
		parts = append(parts, Entry{Text: thought.Summary}, Entry{Text: thought.Content})
	}
	entry := joined(append(parts, s.parts(m.Content.Parts)...))
	entry.Tool = tool
	s.pass(s.session.ID+"/"+m.ID, base, entry)
}

const contents table = `
	said: text, multimodal_text, code, execution_output, tether_quote, tether_browsing_display, system_error, computer_output,
	thought: thoughts, reasoning_recap,
	harness: user_editable_context, model_editable_context, app_pairing_content,`

// asset returns an entry with the file of the export whose name begins with the id in a pointer.
func (s *Stream) asset(pointer string) Entry {
	_, id, _ := strings.Cut(pointer, "://")
	if s.assets == nil {
		_ = fs.WalkDir(s.store, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(path.Base(name), "file") {
				s.assets = append(s.assets, name)
			}
			return nil // what cannot be listed is missed where it is named
		})
	}
	i := slices.IndexFunc(s.assets, func(name string) bool { return strings.HasPrefix(path.Base(name), id) })
	if id == "" || i < 0 {
		s.notUnderstood("file that the export lacks")
		return Entry{}
	}
	data, err := s.whole(s.store, s.assets[i])
	if err != nil {
		s.notUnderstood(plainError(err))
	}
	return Entry{Kind: Said, Media: media("", path.Base(s.assets[i]), data)}
}

type claudeConversation struct {
	UUID      string
	Name      string
	CreatedAt moment `json:"created_at"`
	Messages  []struct {
		UUID        string
		Sender      string
		Text        string
		Content     json.RawMessage
		CreatedAt   moment `json:"created_at"`
		Attachments []struct {
			Name    string `json:"file_name"`
			Content string `json:"extracted_content"`
		}
	} `json:"chat_messages"`
}

func (s *Stream) claudeTalk(c *claudeConversation) {
	if c.Messages == nil {
		s.notUnderstood("conversation without chat_messages")
		return
	}
	s.open(Session{ID: c.UUID, Title: c.Name, Began: c.CreatedAt.Time})
	for _, m := range c.Messages {
		base := Entry{ID: m.UUID, At: m.CreatedAt.Time, Who: s.voice(m.Sender)}
		parts := s.parts(m.Content)
		if all := joined(parts); all.Text == "" && all.Media == nil {
			parts = []Entry{{Kind: Said, Text: m.Text}}
		}
		for _, file := range m.Attachments {
			parts = append(parts, Entry{Kind: Said, Tool: file.Name, Text: file.Content})
		}
		s.pass(c.UUID+"/"+m.UUID, base, parts...)
	}
}

// claudeProject passes on a project's instructions and documents, as memories. No conversation names its project.
func (s *Stream) claudeProject(p *struct {
	UUID, Name, Description string
	Prompt                  string `json:"prompt_template"`
	CreatedAt               moment `json:"created_at"`
	Docs                    []struct {
		Filename, Content string
		CreatedAt         moment `json:"created_at"`
	}
}) {
	s.open(Session{ID: p.UUID, Title: p.Name, Began: p.CreatedAt.Time})
	base, part := Entry{At: p.CreatedAt.Time, Who: Person, Kind: Memory}, 0
	pass := func(entry Entry) {
		s.pass(fmt.Sprintf("%s/%d", p.UUID, part), base, entry)
		part++
	}
	pass(Entry{Text: p.Description})
	pass(Entry{Text: p.Prompt})
	for _, doc := range p.Docs {
		base.At = doc.CreatedAt.Time
		pass(Entry{Tool: doc.Filename, Text: doc.Content})
	}
}

// claudeMemories passes on what Claude.ai remembers of a person and of projects.
func (s *Stream) claudeMemories(m *struct {
	Conversations string            `json:"conversations_memory"`
	Projects      map[string]string `json:"project_memories"`
}) {
	base := Entry{Who: Assistant, Kind: Memory}
	s.open(Session{ID: "memories"})
	s.pass("memories", base, Entry{Text: m.Conversations})
	for _, id := range slices.Sorted(maps.Keys(m.Projects)) {
		s.open(Session{ID: "memories/" + id})
		s.pass(id, base, Entry{Text: m.Projects[id]})
	}
}
