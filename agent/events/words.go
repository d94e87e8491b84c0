package events

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"text/template"
	"unicode"

	"lethe/blobs"
	"lethe/chat"
)

//go:embed words.txt
var wordsText string

// words has a template for each type of event that needs words of its own.
var words = sync.OnceValue(func() *template.Template {
	funcs := template.FuncMap{"gist": blobs.Gist, "tokens": tokens, "uncited": uncited}
	return template.Must(template.New("").Funcs(funcs).Parse(wordsText))
})

// Words tells an event to a person, without its time: of what is said all, of other texts one line.
func (e Event) Words() string {
	name := e.Type
	if words().Lookup(name) == nil {
		name = "other"
	}
	return e.words(name)
}

func (e Event) words(name string) string {
	var text strings.Builder
	_ = words().ExecuteTemplate(&text, name, e) // every event has the fields that they name
	return text.String()
}

// Lead begins the words of what a mind has let go, was reminded of or has opened; its Originals follow.
func (e Event) Lead() string { return e.words("lead of " + e.Type) }

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

// Cause says in words why an epoch began.
func Cause(why string) string { return Event{Why: why}.words("cause") }

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
