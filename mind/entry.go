package mind

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
)

// Kinds of entries.
const (
	Inbound = "inbound"
	Reply   = "reply"
	Note    = "note"
	Hint    = "hint"
)

// How a call ended.
const (
	OK          = "ok"
	Failed      = "error"
	Interrupted = "interrupted" // it had started; its effect is unknown
	NotStarted  = "not-started"
)

// Entry is one item of the live context. Its texts are kept as they are
// rendered: escaped, and clipped to what is shown, so that a context costs no
// more memory than its request. Once it waits for no result nobody changes it: an edit puts
// another one in its place.
type Entry struct {
	N    int       `json:"n"`
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
	Ref  Ref       `json:"ref"`
	Room string    `json:"room,omitempty"` // of an inbound entry
	Show int       `json:"show,omitempty"` // runes shown of the text; 0 shows all
	// Places: the mark of a cut says which place is left out. Earlier versions did not.
	Places bool `json:"places,omitempty"`
	// Own are the byte ranges of an inbound body that are the identity's own
	// lines, which it does not hear.
	Own []Span `json:"own,omitempty"`
	// Images are pictures that the lines of an inbound entry name, as its event has them.
	Images []string `json:"images,omitempty"`
	// View, when set, is a blob with the text as a person edited it.
	View *Ref   `json:"view,omitempty"`
	Text string `json:"-"`

	// About is the question that the entry answers, or whose call it ends, with the choice or how it ended.
	About *Ref   `json:"about,omitempty"`
	Said  string `json:"said,omitempty"`

	// Of a reply. Text is then its final or accompanying text. Refused: it was final,
	// but did not count.
	Refused   bool    `json:"refused,omitempty"`
	Reasoning string  `json:"-"`
	Opaque    string  `json:"-"` // what its provider wants back as it is
	Calls     []*Call `json:"calls,omitempty"`
	Model     string  `json:"model,omitempty"`
}

// Call is one tool call of a reply, with what became of it. A reply and its
// results are one unit.
type Call struct {
	Tool     string   `json:"tool"`
	Args     string   `json:"-"` // JSON, escaped, as it goes back on the wire
	Original string   `json:"-"` // what the model sent, when that was not JSON
	Opaque   string   `json:"-"` // what its provider wants back as it is
	Started  bool     `json:"started,omitempty"`
	Status   string   `json:"status,omitempty"` // "" while there is no result
	Result   Ref      `json:"result"`
	About    *Ref     `json:"about,omitempty"` // the question that was asked for it
	Show     int      `json:"show,omitempty"`
	Places   bool     `json:"places,omitempty"`
	Images   []string `json:"images,omitempty"` // that it shows
	View     *Ref     `json:"view,omitempty"`
	Text     string   `json:"-"` // of the result, rendered
}

// Final reports whether an entry ends a turn: a reply that counts, and calls nothing or asks people last.
func (e *Entry) Final() bool {
	n := len(e.Calls)
	return e.Kind == Reply && !e.Refused && (n == 0 || e.Calls[n-1].asks())
}

// asks reports whether a call has asked people and so ended the turn.
func (c *Call) asks() bool { return c.Status == OK && c.About != nil }

// Waits reports whether a result of the entry's calls is still to come.
func (e *Entry) Waits() bool {
	return slices.ContainsFunc(e.Calls, func(c *Call) bool { return c.Status == "" })
}

func (e *Entry) opaque() bool {
	return e.Opaque != "" || slices.ContainsFunc(e.Calls, func(c *Call) bool { return c.Opaque != "" })
}

// kindOf is the kind of the entry that an event makes.
func kindOf(event string) string {
	if event == "joined" {
		return Note
	}
	return event
}

// load sets the texts of an entry from the bodies of its blobs.
func (e *Entry) load(body []byte) error {
	switch e.Kind {
	case Reply:
		a, err := DecodeAnswer(body)
		if err != nil {
			return err
		}
		if len(e.Calls) == 0 {
			for _, c := range a.Calls {
				e.Calls = append(e.Calls, &Call{Tool: c.Tool})
			}
		}
		if len(e.Calls) != len(a.Calls) {
			return errReply
		}
		e.Text, e.Reasoning, e.Opaque = model(a.Text), model(a.Reasoning), a.Opaque
		for i, c := range a.Calls {
			call := e.Calls[i]
			call.Tool, call.Args, call.Original, call.Opaque = c.Tool, model(c.Args), c.Original, c.Opaque
		}
	case Inbound:
		e.Text = cite("answer to", e.About, e.Said) + clip(Heard(body, e.Own), e.Show, e.Places, e.Ref)
	default:
		e.Text = cite("outcome of", e.About, e.Said) + clip(Result(body), e.Show, e.Places, e.Ref)
	}
	return nil
}

// shown renders the body of a call's result.
func (c *Call) shown(body []byte) string {
	label := "asked"
	if c.Status != OK {
		label = "not run, asked"
	}
	return cite(label, c.About, "") + clip(Result(body), c.Show, c.Places, c.Result)
}

func (e *Entry) reload(read func(blobs.Hash) ([]byte, error)) error {
	body, err := read(e.Ref.Hash)
	if err == nil {
		err = e.load(body)
	}
	if err == nil && e.View != nil {
		if body, err = read(e.View.Hash); err == nil {
			err = e.look(body)
		}
	}
	for _, c := range e.Calls {
		switch {
		case err != nil:
			return err
		case c.View != nil:
			body, err = read(c.View.Hash)
			c.Text = string(body)
		case c.Status != "":
			body, err = read(c.Result.Hash)
			c.Text = c.shown(body)
		}
	}
	return err
}

// look sets the text of an entry to what a person made of it.
func (e *Entry) look(view []byte) error {
	if e.Kind != Reply {
		e.Text = string(view)
		return nil
	}
	a, err := DecodeAnswer(view)
	if err != nil {
		return err
	}
	e.Reasoning, e.Text = a.Reasoning, a.Text
	return nil
}

// Header is the line that opens an entry in a prompt and in context.md. Nobody
// can forge one: ◆ is escaped in everything from outside.
func (e *Entry) Header() string {
	h := fmt.Sprintf("◆ e%d %s", e.N, e.Kind)
	if e.Kind == Inbound {
		h += " room=" + e.Room
	}
	return h
}

// FirstLine is what an entry says first: its text, or its first call.
func (e *Entry) FirstLine() string {
	text := strings.TrimSpace(e.Text)
	if text == "" && len(e.Calls) > 0 {
		text = e.Calls[0].Tool + " " + e.Calls[0].Args
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Say returns the arguments of a SAY as the room gets them.
func (c *Call) Say() (room, message string) { return c.Arg("room"), c.Arg("message") }

// Target is what a call is about: a file, a command, a room, a piece of work.
func (c *Call) Target() string {
	return cmp.Or(c.Arg("path"), c.Arg("command"), c.Arg("room"), c.Arg("brief"), c.Arg("query"))
}

// Arg returns an argument of a call; "" for what is not a string. A key counts in any
// case, but as it should be before all.
func (c *Call) Arg(name string) string {
	var args map[string]any
	_ = json.Unmarshal([]byte(blobs.Unescape(c.Args)), &args) // checked by the tool
	for _, key := range append([]string{name}, slices.Sorted(maps.Keys(args))...) {
		if s, ok := args[key].(string); ok && strings.EqualFold(key, name) {
			return s
		}
	}
	return ""
}

// ParseID reads the number of an entry (e12) or of a call (e12.3, where 3 counts
// from 1). The call number is 0 for an entry.
func ParseID(id string) (entry, call int, err error) {
	rest, ok := strings.CutPrefix(id, "e")
	n, k, dotted := strings.Cut(rest, ".")
	entry, err = strconv.Atoi(n)
	if err == nil && dotted {
		call, err = strconv.Atoi(k)
	}
	if !ok || err != nil || entry < 1 || call < 0 || (dotted && call < 1) {
		return 0, 0, fmt.Errorf("%q is not the number of an entry or call", id)
	}
	return entry, call, nil
}

// EntryID is e12.
func EntryID(n int) string { return "e" + strconv.Itoa(n) }

// CallID is e12.3.
func CallID(n, k int) string { return fmt.Sprintf("e%d.%d", n, k) }
