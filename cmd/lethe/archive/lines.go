package archive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lethe/agent/adopt"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/blobs"
	"lethe/chat"
	"lethe/compactor/recall/text"
	"lethe/internal/secret"
	"lethe/life"
	"lethe/life/event"
)

// Line is what somebody said or did, for programs that read no life. Session, Role, Kind and Text are always there.
type Line struct {
	Session string     `json:"session"` // a room, or AGENT/ID of what was adopted
	Entry   string     `json:"entry,omitempty"`
	At      time.Time  `json:"at,omitzero"`
	Role    string     `json:"role"` // user, agent, assistant, tool or harness
	Kind    adopt.Kind `json:"kind"`
	Name    string     `json:"name,omitempty"`
	Tool    string     `json:"tool,omitempty"`
	Text    string     `json:"text"`
	Cut     bool       `json:"cut,omitempty"`
	Hash    string     `json:"hash,omitempty"` // of the original
}

// WriteLines writes a life as JSON, a Line each: first what it has adopted, then its own log. Keys that this process
// holds are struck out.
func WriteLines(out io.Writer, store *blobs.Store, id home.Identity) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	write := func(line Line) error {
		line.Text = secret.Text(line.Text)
		return encoder.Encode(line)
	}
	err := life.Scan(id.LIFE(), func(line life.Event, _ int64) error {
		adopted, ok := event.As[event.Adopted](line)
		if !ok || len(line.Refs) == 0 || adopted.Relevance > 0 { // else it was written at an earlier line
			return nil
		}
		return adoptedLines(store, adopted, line.Refs[len(line.Refs)-1].Hash, write)
	})
	if err != nil {
		return id.Unread(err)
	}
	stream, err := events.Open(store, events.Log{Path: id.LIFE(), Name: id.Name}, "")
	if err != nil {
		return id.Unread(err)
	}
	defer stream.Close()
	room := ""
	for event, err := range stream.All() {
		if err != nil {
			return err
		}
		if event.Type == events.UserMessage {
			room = event.Room
		}
		line, ok := ownLine(store, event)
		if !ok {
			continue
		}
		line.Session = cmp.Or(event.Where(), room)
		if err := write(line); err != nil {
			return err
		}
	}
	return nil
}

// ownLine returns the line of an event in which somebody says or does something.
func ownLine(store *blobs.Store, event events.Event) (line Line, ok bool) {
	line = Line{
		Entry: event.Entry, At: event.At, Name: event.By, Tool: event.Tool, Text: event.Text, Cut: event.Cut,
		Hash: event.Hash,
	}
	switch event.Type {
	case events.UserMessage:
		line.Role, line.Kind = event.Role, adopt.Said
	case events.MessageDone:
		line.Role, line.Kind = "assistant", adopt.Said
	case events.ThinkingDone:
		line.Role, line.Kind = "assistant", adopt.Thought
	case events.ToolRequest:
		line.Role, line.Kind, line.Text = "assistant", adopt.Call, cmp.Or(string(event.Args), event.Text)
	case events.ToolResult:
		line.Role, line.Kind = "tool", adopt.Result
		if blob, err := store.Find(event.Hash); event.Cut && err == nil {
			line.Text, line.Cut = string(blob.Body), false
		}
	case events.Noted:
		line.Role, line.Kind = "harness", "note"
	default:
		return line, false
	}
	return line, true
}

// adoptedLines writes the entries of an original that was adopted. One that was erased has none.
func adoptedLines(store *blobs.Store, adopted event.Adopted, hash string, write func(Line) error) error {
	blob, err := store.Find(hash)
	if err != nil {
		return fmt.Errorf("read what was adopted: %w", err)
	}
	body, at := string(blob.Body), adopted.From
	roles := map[adopt.Kind]string{adopt.Thought: "assistant", adopt.Call: "assistant", adopt.Result: "tool"}
	for section := range text.Sections(body) {
		words := strings.Fields(section.Header(body))
		if section.Source == "" || words[1] == "source" {
			continue
		}
		line := Line{
			Session: adopted.Agent + "/" + adopted.Session, Entry: section.Name(), Kind: adopt.Kind(words[1]),
			Tool: section.Tool, Text: strings.TrimSuffix(section.Text(body), "\n"), Hash: hash,
		}
		line.Role = cmp.Or(roles[line.Kind], "harness")
		if line.Kind == adopt.Said {
			said := chat.Parse([]byte(line.Text))
			if said.Tagged { // else nobody knows when it was said
				at, line.Text = said.At, strings.ReplaceAll(said.Text, "\n    ", "\n") // mind.Indent's
			}
			isPersons := said.Tagged && !said.Agent || slices.Contains(words, string(adopt.Person))
			line.Role = "assistant"
			if isPersons {
				line.Role = "user"
			}
		}
		line.At, line.Text = at, blobs.Unescape(line.Text)
		if err := write(line); err != nil {
			return err
		}
	}
	return nil
}
