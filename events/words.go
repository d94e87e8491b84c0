package events

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"lethe/blobs"
)

// Words tells an event to a person, without its time: of what is said all, of other texts one line.
func (e Event) Words() string {
	room := strings.Join(e.Rooms, ", ") + e.Room
	why := ""
	if e.Why != "" {
		why = " (" + e.Why + ")"
	}
	said := e.Text
	if e.Cut && e.Hash != "" {
		said += fmt.Sprintf("…\n… all of it: lethe cat %.16s", e.Hash)
	}
	switch e.Type {
	case TurnStart:
		return fmt.Sprintf("turn %d", e.Turn)
	case TurnEnd:
		return fmt.Sprintf("end of turn %d%s", e.Turn, why)
	case UserMessage:
		return fmt.Sprintf("%s in %s: %s", e.By, room, said)
	case MessageDone:
		switch {
		case room != "":
			return fmt.Sprintf("%s → %s: %s", e.By, room, said)
		case e.Status != "":
			return fmt.Sprintf("%s, said nowhere (%s): %s", e.By, e.Status, said)
		}
		return fmt.Sprintf("%s: %s", e.By, said)
	case ThinkingDone:
		return "thought: " + blobs.Gist(e.Text)
	case ToolRequest:
		brief, _ := e.Arguments()
		return strings.TrimSpace("↳ " + e.Tool + " " + blobs.Gist(brief))
	case ToolResult:
		if e.Job > 0 {
			return fmt.Sprintf("  goes on as job %d", e.Job)
		}
		return "  " + e.Status + " · " + blobs.Gist(e.Text)
	case FileChanged:
		if e.By == "" {
			return "somebody edited " + e.Path
		}
		return "wrote " + e.Path
	case Usage:
		paid := ""
		if e.USD > 0 {
			paid = fmt.Sprintf(", $%.4f", e.USD)
		}
		return fmt.Sprintf("%s tokens in (%s cached), %s out%s%s", tokens(e.In), tokens(e.Cached), tokens(e.Out), paid, why)
	case Forgot:
		text := fmt.Sprintf("forgot %s%s → %d summaries", e.Entries, why, e.Summaries)
		if e.Summaries == 1 {
			text = strings.TrimSuffix(text, "ies") + "y"
		}
		if e.Before > 0 {
			text += fmt.Sprintf(", %s → %s tokens", tokens(int64(e.Before)), tokens(int64(e.After)))
		}
		return text
	case Reminded:
		var refs []string
		for _, r := range e.Refs {
			refs = append(refs, r.String())
		}
		return "reminded of " + strings.Join(refs, ", ")
	case Opened:
		return fmt.Sprintf("opened %s (lethe cat %.16s)", blobs.Gist(e.Text), e.Hash)
	case Asked:
		return fmt.Sprintf("asks in %s: %s", room, e.question())
	case Answered:
		return fmt.Sprintf("%s has answered %s", e.By, e.question())
	case Fired:
		return fmt.Sprintf("%s fires in %s: %s", e.By, room, blobs.Gist(e.Text))
	case Paused:
		return "pauses: " + blobs.Gist(e.Text)
	case Joined, Left:
		return e.Type + " room " + room
	case Noted:
		return "note" + why + ": " + blobs.Gist(e.Text)
	}
	return strings.TrimSpace(e.Type + why + " " + blobs.Gist(e.Text)) // error, booted, resumed, stopped
}

func (e Event) question() string {
	if e.Question == nil {
		return "?"
	}
	text := e.Question.ID + " " + blobs.Gist(e.Question.Text)
	if e.Choice != "" {
		text += ": " + e.Choice
	}
	return text
}

// Arguments are those of a call: the values in a row, and each on lines of its own.
func (e Event) Arguments() (brief, all string) {
	d := json.NewDecoder(bytes.NewReader(e.Args))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return e.Text, e.Text // the beginning of what is too long
	}
	rest := "" // numbers and switches, behind the texts
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		var text string
		switch err := json.Unmarshal(value, &text); {
		case err != nil || !strings.ContainsFunc(text, unicode.IsLetter):
			text = cmp.Or(text, string(value))
			rest += fmt.Sprintf("%v=%s ", name, text)
		case name == "path":
			brief = text + " " + brief
		default:
			brief += text + " "
		}
		all += fmt.Sprintf("%v: %s\n", name, text)
	}
	return brief + rest, all
}

func tokens(n int64) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", n/1000)
}
