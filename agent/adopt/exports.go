package adopt

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// chatGPT reads the export of ChatGPT: arrays of conversations, each a tree of which the branch of its current node
// counts. claudeAI reads the export of Claude.ai: conversations, projects and memories.
type (
	chatGPT  struct{}
	claudeAI struct{}
)

const conversations = `(^|/)conversations(-\d+)?\.json$`

func (chatGPT) Find(store fs.FS) ([]Piece, error) {
	return pieces(store, ".", named(conversations, "conversations"))
}

func (claudeAI) Find(store fs.FS) ([]Piece, error) {
	return pieces(store, ".", named(conversations, "conversations",
		`(^|/)projects(/[^/]+)?\.json$`, "projects", `(^|/)memories\.json$`, "memories"))
}

// elements calls read with each element of a file that is one JSON array, or with its one object. It holds one element,
// of at most maxText bytes.
func (s *Stream) elements(name string, read func(*record) error) error {
	file, err := s.openFile(s.store, name)
	if err != nil {
		return err
	}
	defer file.Close()
	in := &bounded{in: file, left: maxText}
	text := bufio.NewReader(in)
	if mark, err := text.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = text.Discard(3)
	}
	decoder := json.NewDecoder(text)
	if start, err := text.Peek(1); err == nil && start[0] == '[' {
		_, _ = decoder.Token()
	}
	for decoder.More() {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			s.notUnderstood("torn array: " + plainError(err))
			return nil
		}
		in.left = maxText
		if err := s.record(raw, read); err != nil {
			return err
		}
	}
	return nil
}

// bounded reads at most left bytes more.
type bounded struct {
	in   io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("an element is larger than %d MB", maxText>>20)
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
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
		Parts    []json.RawMessage
		Text     string
		Result   string
		Thoughts []struct{ Summary, Content string }
	}
	Metadata struct {
		IsHidden bool `json:"is_visually_hidden_from_conversation"`
	}
}

func (chatGPT) Read(out *Stream, piece Piece) error {
	return out.elements(piece.Path, func(r *record) error {
		var c gptConversation
		if !r.decode(&c) {
			return nil
		}
		if c.Mapping == nil {
			r.notUnderstood("conversation without a mapping")
			return nil
		}
		out.open(Session{ID: cmp.Or(c.ConversationID, c.ID), Title: c.Title, Began: c.CreateTime.Time})
		for _, message := range branch(c) {
			if err := r.gptMessage(message); err != nil {
				return err
			}
		}
		return nil
	})
}

// branch returns the messages from the root to the current node, or, where that is unknown, to the newest one.
func branch(c gptConversation) (all []*gptMessage) {
	at := c.CurrentNode
	if c.Mapping[at] == nil {
		at = ""
		var newest moment
		for id, node := range c.Mapping {
			if node == nil || node.Message == nil {
				continue
			}
			time := node.Message.CreateTime
			if cmp.Or(time.Compare(newest.Time), strings.Compare(id, at)) > 0 {
				at, newest = id, time
			}
		}
	}
	for len(all) <= len(c.Mapping) { // a circle ends
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

func (r *record) gptMessage(m *gptMessage) error {
	isHidden := m.Metadata.IsHidden || m.Author.Role == "system"
	if isHidden {
		r.report.Passed++
		return nil
	}
	entry := Entry{ID: m.ID, At: m.CreateTime.Time, Kind: Said}
	switch m.Author.Role {
	case "user":
		entry.Who = Person
	case "assistant":
		entry.Who = Assistant
	case "tool":
		entry.Who, entry.Kind, entry.Tool = Tool, Result, m.Author.Name
	default:
		r.notUnderstood("role " + m.Author.Role)
		return nil
	}
	if m.Recipient != "" && m.Recipient != "all" && entry.Who == Assistant {
		entry.Kind, entry.Tool = Call, m.Recipient
	}
	key := r.session.ID + "/" + m.ID
	switch m.Content.Type {
	case "text", "multimodal_text", "code", "execution_output", "tether_quote", "tether_browsing_display",
		"system_error", "computer_output":
	case "thoughts", "reasoning_recap":
		entry.Kind = Thought
	case "user_editable_context", "model_editable_context", "app_pairing_content":
		entry.Who = Harness
	default:
		r.notUnderstood("content " + m.Content.Type)
		return nil
	}
	texts := []string{r.text(cmp.Or(m.Content.Text, m.Content.Result))}
	for _, thought := range m.Content.Thoughts {
		texts = append(texts, thought.Summary, thought.Content)
	}
	for _, part := range m.Content.Parts {
		text, pictures := r.gptPart(part)
		texts, entry.Media = append(texts, text), append(entry.Media, pictures...)
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	entry.Text = strings.Join(texts, "\n")
	return r.put(key, entry)
}

// gptPart returns a text, or the file of the export that a pointer names.
func (r *record) gptPart(raw json.RawMessage) (text string, pictures []Media) {
	var part struct {
		Type    string `json:"content_type"`
		Text    string
		Pointer string `json:"asset_pointer"`
	}
	if json.Unmarshal(raw, &text) == nil {
		return r.text(text), nil
	}
	if json.Unmarshal(raw, &part) != nil {
		r.notUnderstood("part of another shape")
		return "", nil
	}
	_, id, isFile := strings.Cut(part.Pointer, "://")
	if !isFile {
		return r.text(part.Text), nil
	}
	name, data := r.asset(id)
	if data == nil {
		r.notUnderstood(cmp.Or(part.Type, "file") + " that the export lacks")
	}
	return "", media("", name, data)
}

// asset returns the file of the export whose name begins with an id.
func (s *Stream) asset(id string) (name string, data []byte) {
	if s.assets == nil {
		s.assets = map[string]string{}
		_ = fs.WalkDir(s.store, ".", func(name string, entry fs.DirEntry, err error) error {
			found := assetID().FindString(path.Base(name))
			if err == nil && found != "" && entry.Type().IsRegular() {
				s.assets[found] = name
			}
			return nil // what cannot be listed is missed where it is named
		})
	}
	place := s.assets[id]
	if place == "" {
		return "", nil
	}
	data, err := s.whole(s.store, place)
	if err != nil {
		return "", nil
	}
	return path.Base(place), data
}

var assetID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^file[-_][0-9A-Za-z]+`) })

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

func (claudeAI) Read(out *Stream, piece Piece) error {
	switch piece.kind {
	case "projects":
		return out.elements(piece.Path, (*record).claudeProject)
	case "memories":
		return out.elements(piece.Path, (*record).claudeMemories)
	}
	return out.elements(piece.Path, (*record).claudeConversation)
}

func (r *record) claudeConversation() error {
	var c claudeConversation
	if !r.decode(&c) {
		return nil
	}
	if c.Messages == nil {
		r.notUnderstood("conversation without chat_messages")
		return nil
	}
	r.open(Session{ID: c.UUID, Title: c.Name, Began: c.CreatedAt.Time})
	for _, m := range c.Messages {
		who := Assistant
		if m.Sender == "human" {
			who = Person
		} else if m.Sender != "assistant" {
			r.notUnderstood("sender " + m.Sender)
			continue
		}
		parts := r.parts(m.Content)
		isEmpty := !slices.ContainsFunc(parts, func(e Entry) bool { return e.Text != "" || e.Media != nil })
		if isEmpty {
			parts = []Entry{{Kind: Said, Text: r.text(m.Text)}}
		}
		for _, file := range m.Attachments {
			parts = append(parts, Entry{Kind: Said, Tool: file.Name, Text: r.text(file.Content)})
		}
		base := Entry{ID: m.UUID, At: m.CreatedAt.Time, Who: who}
		if err := r.passAll(c.UUID+"/"+m.UUID, base, parts); err != nil {
			return err
		}
	}
	return nil
}

// claudeProject passes on a project's instructions and documents, as memories. No conversation names its project.
func (r *record) claudeProject() error {
	var p struct {
		UUID, Name, Description string
		Prompt                  string `json:"prompt_template"`
		CreatedAt               moment `json:"created_at"`
		Docs                    []struct {
			Filename, Content string
			CreatedAt         moment `json:"created_at"`
		}
	}
	if !r.decode(&p) {
		return nil
	}
	r.open(Session{ID: p.UUID, Title: p.Name, Began: p.CreatedAt.Time})
	all := []Entry{{At: p.CreatedAt.Time, Text: p.Description}, {At: p.CreatedAt.Time, Text: p.Prompt}}
	for _, doc := range p.Docs {
		all = append(all, Entry{At: doc.CreatedAt.Time, Tool: doc.Filename, Text: doc.Content})
	}
	for i, entry := range all {
		entry.Who, entry.Kind, entry.Text = Person, Memory, r.text(entry.Text)
		if err := r.put(p.UUID+"/"+strconv.Itoa(i), entry); err != nil {
			return err
		}
	}
	return nil
}

// claudeMemories passes on what Claude.ai remembers of a person and of projects.
func (r *record) claudeMemories() error {
	var m struct {
		Conversations string            `json:"conversations_memory"`
		Projects      map[string]string `json:"project_memories"`
	}
	if !r.decode(&m) {
		return nil
	}
	r.open(Session{ID: "memories"})
	if err := r.put("memories", Entry{Who: Assistant, Kind: Memory, Text: r.text(m.Conversations)}); err != nil {
		return err
	}
	var ids []string
	for id := range m.Projects {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		r.open(Session{ID: "memories/" + id})
		if err := r.put(id, Entry{Who: Assistant, Kind: Memory, Text: r.text(m.Projects[id])}); err != nil {
			return err
		}
	}
	return nil
}
