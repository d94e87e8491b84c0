package events

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"lethe/blobs"
	"lethe/chat"
)

// words are for each type of event that needs words of its own.
var words = map[string]func(Event) string{
	TurnStart:    func(e Event) string { return fmt.Sprintf("turn %d", e.Turn) },
	TurnEnd:      func(e Event) string { return fmt.Sprintf("end of turn %d", e.Turn) + e.because() },
	UserMessage:  func(e Event) string { return e.By + " in " + e.Where() + ": " + uncited(e.Text) + e.rest() },
	MessageDone:  Event.saidWords,
	ThinkingDone: func(e Event) string { return "thought: " + blobs.Gist(e.Text) },
	ToolRequest:  func(e Event) string { return "↳ " + e.Tool + spaced(blobs.Gist(e.Brief())) },
	ToolResult:   Event.resultWords,
	FileChanged:  Event.changeWords,
	Usage:        Event.usageWords,
	Forgot:       Event.memoryWords,
	Reminded:     Event.memoryWords,
	Opened:       Event.memoryWords,
	Asked:        func(e Event) string { return e.Agent + " asks in " + e.Where() + ": " + e.question() },
	Answered:     Event.answerWords,
	Fired:        func(e Event) string { return e.By + " fires in " + e.Where() + ": " + blobs.Gist(e.Text) },
	Paused:       func(e Event) string { return "pauses: " + blobs.Gist(e.Text) },
	Joined:       func(e Event) string { return "joined room " + e.Where() },
	Left:         func(e Event) string { return "left room " + e.Where() },
	Noted:        func(e Event) string { return "note" + e.because() + ": " + blobs.Gist(e.Text) },
}

// Words tells an event to a person, without its time: of what is said all, of other texts one line.
func (e Event) Words() string {
	if own := words[e.Type]; own != nil {
		return own(e)
	}
	return e.Type + e.because() + spaced(blobs.Gist(e.Text))
}

func (e Event) saidWords() string {
	said := e.By
	if room := e.Where(); room != "" {
		said += " → " + room
	} else if e.Status != "" {
		said += ", said nowhere (" + e.Status + ")"
	}
	return said + ": " + e.Text + e.rest()
}

func (e Event) resultWords() string {
	if e.Job != 0 {
		return fmt.Sprintf("  goes on as job %d", e.Job)
	}
	return "  " + e.Status + " · " + blobs.Gist(e.Text)
}

func (e Event) changeWords() string {
	if e.By == "" {
		return "somebody edited " + e.Path
	}
	return "wrote " + e.Path
}

func (e Event) usageWords() string {
	paid := ""
	if e.USD != 0 {
		paid = fmt.Sprintf(", $%.4f", e.USD)
	}
	in, cached, out := tokens(e.In), tokens(e.Cached), tokens(e.Out)
	return fmt.Sprintf("%s tokens in (%s cached), %s out%s", in, cached, out, paid) + e.because()
}

func (e Event) answerWords() string {
	words := e.By + " answers “" + e.question() + "”"
	if e.Choice != "" {
		words += ": " + e.Choice
	}
	return words
}

func (e Event) memoryWords() string {
	words := e.Lead()
	for i, ref := range e.Originals() {
		if i == 3 {
			return words + "; …"
		}
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		words += separator + blobs.Gist(ref.Gist)
	}
	return words
}

// Lead begins the words of what a mind has let go, was reminded of or has opened; its Originals follow.
func (e Event) Lead() string {
	switch e.Type {
	case Forgot:
		return e.forgotLead()
	case Reminded:
		return "was reminded of"
	case Opened:
		return "opened"
	}
	return ""
}

func (e Event) forgotLead() string {
	lead := "let go more of what had faded"
	switch count := e.LetGo(); count {
	case 0:
	case 1:
		lead = "let go 1 entry"
	default:
		lead = fmt.Sprintf("let go %d entries", count)
	}
	if e.Why != "" && e.Why != "full" {
		lead += " (" + Cause(e.Why) + ")"
	}
	if e.Before != 0 {
		lead += ", " + tokens(e.Before) + " → " + tokens(e.After) + " tokens"
	}
	return lead
}

// Originals are the texts that a mind has let go, was reminded of or has opened.
func (e Event) Originals() (refs []blobs.Ref) {
	for _, f := range e.Faded {
		if f.Original != nil {
			refs = append(refs, *f.Original)
		}
	}
	if e.Type == Opened {
		refs = append(refs, blobs.Ref{Hash: e.Hash, Gist: e.Text})
	}
	return append(refs, e.Refs...)
}

// LetGo counts the entries that were live until they faded.
func (e Event) LetGo() (n int) {
	for _, f := range e.Faded {
		if f.Was == "live" {
			n += f.Last - f.First + 1
		}
	}
	return n
}

var causes = map[string]string{
	"boot": "its first", "settings": "opened with other settings", "model": "another model was asked for",
	"edit": "somebody edited the context", "full": "the context was nearly full", "limit": "the limit was reached",
	"agent": "it wanted to forget", "person": "somebody had it forget",
}

// Cause says in words why an epoch began.
func Cause(why string) string { return cmp.Or(causes[why], why) }

// because is why an event happened, in brackets; "" where it does not say.
func (e Event) because() string {
	if e.Why == "" {
		return ""
	}
	return " (" + e.Why + ")"
}

// rest returns a remark that leads from a cut text to all of it.
func (e Event) rest() string {
	if !e.Cut || e.Hash == "" {
		return ""
	}
	return fmt.Sprintf("…\n… all of it: lethe cat %.16s", e.Hash)
}

func (e Event) question() string {
	if e.Question == nil {
		return "?"
	}
	return blobs.Gist(e.Question.Text)
}

// spaced puts a space before a text that is there.
func spaced(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}

func uncited(text string) string {
	_, text = chat.Cited(text)
	return text
}

// Where names the rooms of an event.
func (e Event) Where() string { return strings.Join(e.Rooms, ", ") + e.Room }

// Brief is the arguments of a call in a row.
func (e Event) Brief() string {
	brief, _ := e.Arguments()
	return brief
}

// Arguments returns the arguments of a call: the values in a row, and each on lines of its own.
func (e Event) Arguments() (brief, all string) {
	d := json.NewDecoder(bytes.NewReader(e.Args))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return e.Text, e.Text // the beginning of a text that is too long
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
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%dk", n/1000)
}
