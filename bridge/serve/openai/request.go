package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/bridge/serve/backend"
	"lethe/chat"
	"lethe/internal/pattern"
)

// request has the members of a completion's body that are obeyed here. Others, temperature and the like, are for the
// model, which the identity has chosen.
type request struct {
	Model         string          `json:"model"`
	Messages      json.RawMessage `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	User       string            `json:"user"`
	N          int               `json:"n"`
	Tools      []json.RawMessage `json:"tools"`
	Functions  []json.RawMessage `json:"functions"`
	Choice     json.RawMessage   `json:"tool_choice"`
	Call       json.RawMessage   `json:"function_call"` // the same of old clients
	Audio      json.RawMessage   `json:"audio"`
	Modalities []string          `json:"modalities"`
	Format     format            `json:"response_format"`
}

// format is the form of an answer that a client wants.
type format struct {
	Type       string
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// isJSON reports whether the answer is to be JSON.
func (f format) isJSON() bool { return f.Type == "json_object" || f.Type == "json_schema" }

// check refuses a form that an identity cannot be asked for.
func (f format) check() error {
	switch f.Type {
	case "", "text", "json_object":
		return nil
	case "json_schema":
		var schema map[string]any
		if json.Unmarshal(f.JSONSchema.Schema, &schema) != nil || schema == nil {
			return refuse("the schema of response_format or text.format has to be an object")
		}
		return nil
	}
	return refuse("the type of response_format or text.format can be text, json_object or json_schema, and not %.40q", f.Type)
}

// instruction asks an identity for the form, as a system message does; "" for text.
func (f format) instruction() string {
	switch f.Type {
	case "json_object":
		return "Answer with one JSON object alone, without any other text."
	case "json_schema":
		var schema bytes.Buffer
		_ = json.Compact(&schema, f.JSONSchema.Schema) // checked
		return "Answer with one JSON value alone, without any other text, by this JSON Schema: " + schema.String()
	}
	return ""
}

// fence finds the code fence that models put around JSON.
var fence = pattern.Lazy("(?s)\\A\\s*```(?:json)?\n(.*?)\n?```\\s*\\z")

// only returns the JSON of an answer that stands in a code fence, and another answer as it is.
func (f format) only(text string) string {
	found := fence().FindStringSubmatch(text)
	if !f.isJSON() || found == nil {
		return text
	}
	if json.Valid([]byte(found[1])) {
		return found[1]
	}
	return text
}

// ignored names the members that an identity cannot do, and can answer without.
func (q request) ignored() (names []string) {
	if len(q.Tools)+len(q.Functions) > 0 {
		names = append(names, "tools")
	}
	return names
}

type message struct {
	Role    string
	Content content
}

// content holds the parts of a message; a bare string is one.
type content []part

type part struct {
	Type     string
	Text     string
	ImageURL struct{ URL string } `json:"image_url"`
	File     struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	}
}

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*c = content{{Type: "text"}}
		return json.Unmarshal(data, &(*c)[0].Text)
	}
	return json.Unmarshal(data, (*[]part)(c))
}

// text joins the words of a message.
func (c content) text() string {
	var words []string
	for _, p := range c {
		if p.Type == "text" && strings.TrimSpace(p.Text) != "" {
			words = append(words, p.Text)
		}
	}
	return strings.Join(words, "\n\n")
}

// readBody reads the JSON of a body.
func readBody(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault(http.StatusRequestEntityTooLarge, "",
			"the body has more than %s; with Content-Type: application/json it may have 16 MiB",
			blobs.Size(large.Limit))
	}
	if err != nil {
		return err
	}
	err = json.Unmarshal(body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		_, member, _ := strings.Cut("."+wrong.Field, ".")
		return refuse("%s cannot be a JSON %s", cmp.Or(strings.TrimPrefix(member, "request."), "the body"), wrong.Value)
	}
	if err != nil {
		return refuse("the body is no JSON: %v", err)
	}
	return nil
}

// read reads a request, and refuses what cannot be done here.
func read(r *http.Request) (completion request, messages []message, err error) {
	if err := readBody(r, &completion); err != nil {
		return completion, nil, err
	}
	messages, err = completion.check()
	return completion, messages, err
}

// check refuses what cannot be done here, and returns the messages.
func (q request) check() (messages []message, err error) {
	if err := q.Format.check(); err != nil {
		return nil, err
	}
	textOnly := len(q.Modalities) == 0 || slices.Equal(q.Modalities, []string{"text"})
	switch {
	case required(q.Choice) || required(q.Call):
		return nil, refuse("an identity works with its own tools and cannot be made to call those of a " +
			"client; with \"auto\" or \"none\" they are ignored")
	case q.N > 1:
		return nil, refuse("an identity gives one answer; n has to be 1")
	case len(q.Audio) > len("null") || !textOnly:
		return nil, refuse("an identity answers with text only")
	}
	if err := json.Unmarshal(q.Messages, &messages); err != nil || len(messages) == 0 {
		return nil, refuse("messages has to be a list of at least one message with a role and a content")
	}
	return messages, nil
}

// required reports whether a client demands a call.
func required(choice json.RawMessage) bool {
	free := slices.Contains([]string{"", "null", `"none"`}, string(choice))
	return !free && !strings.Contains(string(choice), `"auto"`)
}

// talk is a conversation as a client shows it: its instructions, how much was said, and what of it is new.
type talk struct {
	system string
	said   int
	news   []message // behind the last message of the assistant
}

func talkOf(messages []message) (conversation talk) {
	var system []string
	for _, msg := range messages {
		switch msg.Role {
		case "system", "developer":
			system = append(system, msg.Content.text())
			continue
		case "assistant":
			conversation.news = nil
		default:
			conversation.news = append(conversation.news, msg)
		}
		conversation.said++
	}
	conversation.system = strings.TrimSpace(strings.Join(system, "\n\n"))
	return conversation
}

// words makes one text of new messages. Files become blobs, and the text names them.
func words(store *blobs.Store, user string, messages []message) (string, error) {
	var out []string
	files := 0
	for _, m := range messages {
		if m.Role != "user" {
			return "", refuse("a message of role %.20q stands behind the last answer; only user messages can", m.Role)
		}
		for _, piece := range m.Content {
			if piece.attached() {
				files++
			}
			if files > backend.MaxFiles {
				return "", refuse("a message has at most %d files", backend.MaxFiles)
			}
			text, err := wordsOf(store, user, piece)
			if err != nil {
				return "", err
			}
			if strings.TrimSpace(text) != "" {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, "\n\n"), nil
}

// attached reports whether a part comes with the bytes of a file, or should.
func (p part) attached() bool {
	embedded := strings.HasPrefix(p.ImageURL.URL, "data:")
	if p.Type == "image_url" {
		return embedded
	}
	return p.Type == "file"
}

// wordsOf makes the text of a part. This server fetches nothing: the text has the address of an image elsewhere.
func wordsOf(store *blobs.Store, user string, piece part) (string, error) {
	file := bridge.File{Kind: "file", Name: piece.File.Name}
	switch {
	case piece.Type == "text":
		return piece.Text, nil
	case piece.Type == "file" && piece.File.Data == "":
		return "", refuse("a file has to come with its data in file_data; files are not kept here under an id")
	case piece.Type == "file":
		return put(store, user, file, piece.File.Data)
	case piece.attached():
		file.Kind = "image"
		return put(store, user, file, piece.ImageURL.URL)
	case piece.Type == "image_url":
		return "[image at " + bridge.Inert(piece.ImageURL.URL) + "]", nil
	}
	return "", refuse("a part of type %.20q cannot be taken; texts, images and files can", piece.Type)
}

// put stores the file of a data: URL, or of bare base64, and returns what its line says of it.
// A request that comes again makes the same blob.
func put(store *blobs.Store, user string, file bridge.File, data string) (string, error) {
	if rest, ok := strings.CutPrefix(data, "data:"); ok {
		file.Mime, data, _ = strings.Cut(rest, ";base64,")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	switch {
	case err != nil || len(raw) == 0:
		return "", refuse("the %s %.40q is not data:TYPE;base64,…", file.Kind, file.Name)
	case len(raw) > backend.MaxFile:
		return "", refuse("the %s %.40q has %s; at most %s", file.Kind, file.Name,
			blobs.Size(int64(len(raw))), blobs.Size(backend.MaxFile))
	}
	_, tag, err := file.Put(store, time.Unix(0, 0), user, raw)
	return tag, err
}

// header reads a header of a client, "" for a template that an old client did not fill in.
func header(r *http.Request, name string) string {
	v := strings.TrimSpace(r.Header.Get(name))
	if strings.HasPrefix(v, "{{") {
		return ""
	}
	return v
}

// signer is the user that a front end names, as it is or as in a URL, or "". There anybody may take any name, so the
// name of somebody who decides is marked.
func signer(r *http.Request, decide []string) string {
	name := header(r, "X-OpenWebUI-User-Name")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if name == "" {
		return ""
	}
	name = chat.CleanName(name)
	if slices.ContainsFunc(decide, func(other string) bool { return strings.EqualFold(name, other) }) {
		name = chat.CleanName("openai-" + name)
	}
	return name
}

// defaultRoom serves clients that tell no conversations apart.
const defaultRoom = "api"

// place is the room that a request is for.
func place(r *http.Request, completion request) (who, room string) {
	who, room, ok := strings.Cut(completion.Model, "/")
	if ok {
		return who, room
	}
	id := cmp.Or(header(r, "X-OpenWebUI-Chat-Id"), header(r, "X-Session-Id"), completion.User)
	if id == "" {
		return who, defaultRoom
	}
	return who, roomOf(id)
}

// roomOf names a room after what a client calls a conversation: as it is, where that is the name
// of a room, and otherwise so that two never share one.
func roomOf(id string) string {
	if chat.ValidRoom(id) {
		return id
	}
	return bridge.NameRoom(id, blobs.Sum([]byte(id)).String()[:8])
}

// Front ends ask a model for titles, tags and the like. Such a request never reaches an identity:
// it is answered here, by rule. The server holds no key of a model, since everything that reaches
// it would reach the key, and a title is worth no money of a life.

// taskOf returns the prompt of a request that is no part of a conversation.
func taskOf(r *http.Request, t talk) (prompt string, ok bool) {
	if n := len(t.news); n > 0 {
		prompt = t.news[n-1].Content.text()
	}
	alone := t.said == 1 && strings.HasPrefix(strings.TrimSpace(prompt), "### Task:")
	return prompt, alone || header(r, "X-OpenWebUI-Task") != ""
}

var taskTalk = pattern.Lazy(`(?s)<chat_history>\s*(?:USER:\s*)?(.*?)(?:\n(?:USER|ASSISTANT):|\s*</chat_history>)`)

// doTask answers a task by rule, with the members of every task: the title is the beginning of the conversation, and
// there are no tags, questions that may follow, queries for a search, or ends of a sentence.
func doTask(prompt string) string {
	title, none := "Chat", []string{}
	if talk := taskTalk().FindStringSubmatch(prompt); talk != nil && strings.TrimSpace(talk[1]) != "" {
		title = bridge.Clip(talk[1], 48)
	}
	text, _ := json.Marshal(object{"title": title, "tags": none, "follow_ups": none, "queries": none, "text": ""})
	return string(text)
}

// searched limits the lines of a room that are searched for the instructions that hold.
const searched = 500

var systemMark = pattern.Lazy(`\A\(System message of the client \[([0-9a-f]{8}|none)\]`)

// instructed puts a client's system message before a text, where another one holds in the room. A command, and the
// answer to a question that the newest answer asks, have to stand alone.
func instructed(lines []chat.Line, name, system, text string) string {
	mark, holds := "none", "none"
	if system != "" {
		mark = blobs.Sum([]byte(system)).String()[:8]
	}
	var open []chat.Question
	own := false
	for _, line := range lines {
		before := own
		own = line.By(name)
		if own && !before {
			open = nil
		}
		if q, ok := chat.ParseQuestion(line.Text); ok && own {
			open = append(open, q)
		}
		if m := systemMark().FindStringSubmatch(line.Text); m != nil && !line.Agent {
			holds = m[1]
		}
	}
	answers := func(q chat.Question) bool {
		_, _, ok := q.Answer(text)
		return ok
	}
	command, _ := chat.Command(chat.Line{Text: text})
	switch {
	case mark == holds, command != "", slices.ContainsFunc(open, answers):
		return text
	case system == "":
		return "(System message of the client [none]: the last one no longer holds.)\n\n" + text
	}
	return fmt.Sprintf("(System message of the client [%s]:\n%s\n)\n\n%s", mark, system, text)
}
