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

// Ends of a call.
const (
	OK          = "ok"
	Failed      = "error"
	Interrupted = "interrupted" // it had started, and its effect is unknown
	NotStarted  = "not-started"
)

// Entry is one item of the live context. Its texts are rendered: escaped, and
// clipped to the part that a request shows, so that a context takes as much memory
// as its request. An entry without open calls never changes: an edit puts another
// one in its place.
type Entry struct {
	N    int       `json:"n"`
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
	Ref  Ref       `json:"ref"`
	Room string    `json:"room,omitempty"` // only in an inbound entry
	Show int       `json:"show,omitempty"` // runes of the text that are shown; 0 shows all
	// Places is true if the mark of a cut names the place that is left out. Earlier versions did not name it.
	Places bool `json:"places,omitempty"`
	// Own are the byte ranges in the body of an inbound entry that hold the identity's
	// own lines, which it does not hear.
	Own []Span `json:"own,omitempty"`
	// Images names the pictures in an inbound entry, in the form of its event.
	Images []string `json:"images,omitempty"`
	// View, if set, is a blob with the text as a person edited it.
	View *Ref   `json:"view,omitempty"`
	Text string `json:"-"` // the final or accompanying text of a reply

	// About is the question that the entry answers, or the question about the call that it ends.
	About *Ref `json:"about,omitempty"`
	// Said is the option that the answer chose, or the status of the call.
	Said string `json:"said,omitempty"`

	// Only in a reply:

	Refused   bool    `json:"refused,omitempty"` // it was final, but did not count
	Reasoning string  `json:"-"`
	Opaque    string  `json:"-"` // JSON that its provider wants back unchanged
	Calls     []*Call `json:"calls,omitempty"`
	Model     string  `json:"model,omitempty"`
}

// Call is one tool call of a reply, with its result. A reply and its results are
// one unit.
type Call struct {
	Tool     string   `json:"tool"`
	Args     string   `json:"-"` // JSON, escaped, for the wire
	Original string   `json:"-"` // the model's arguments if they were not JSON
	Opaque   string   `json:"-"` // JSON that its provider wants back unchanged
	Started  bool     `json:"started,omitempty"`
	Posts    bool     `json:"-"`                // its start has fixed a line
	Status   string   `json:"status,omitempty"` // "" while there is no result
	Result   Ref      `json:"result"`
	About    *Ref     `json:"about,omitempty"`  // the question that the call asked
	Show     int      `json:"show,omitempty"`   // see Entry.Show
	Places   bool     `json:"places,omitempty"` // see Entry.Places
	Images   []string `json:"images,omitempty"` // the pictures that it shows
	View     *Ref     `json:"view,omitempty"`   // see Entry.View
	Text     string   `json:"-"`                // the result, rendered
}

// Final reports whether an entry ends a turn: it is a reply that counts, and either calls no tool or ends by asking
// people.
func (e *Entry) Final() bool {
	if e.Kind != Reply || e.Refused {
		return false
	}
	last := len(e.Calls) - 1
	return last < 0 || e.Calls[last].asks()
}

// asks reports whether a call has asked people and so ended the turn.
func (c *Call) asks() bool { return c.Status == OK && c.About != nil }

// Waits reports whether a result of the entry's calls is still to come.
func (e *Entry) Waits() bool {
	return slices.ContainsFunc(e.Calls, func(call *Call) bool { return call.Status == "" })
}

func (e *Entry) opaque() bool {
	return e.Opaque != "" || slices.ContainsFunc(e.Calls, func(call *Call) bool { return call.Opaque != "" })
}

// kindOf returns the kind of the entry that an event makes.
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
		answer, err := DecodeAnswer(body)
		if err != nil {
			return err
		}
		if len(e.Calls) == 0 {
			for _, called := range answer.Calls {
				e.Calls = append(e.Calls, &Call{Tool: called.Tool})
			}
		}
		if len(e.Calls) != len(answer.Calls) {
			return errReply
		}
		e.Text, e.Reasoning, e.Opaque = model(answer.Text), model(answer.Reasoning), answer.Opaque
		for i, called := range answer.Calls {
			call := e.Calls[i]
			call.Tool, call.Args = called.Tool, model(called.Args)
			call.Original, call.Opaque = called.Original, called.Opaque
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
	for _, call := range e.Calls {
		switch {
		case err != nil:
			return err
		case call.View != nil:
			body, err = read(call.View.Hash)
			call.Text = string(body)
		case call.Status != "":
			body, err = read(call.Result.Hash)
			call.Text = call.shown(body)
		}
	}
	return err
}

// look sets the text of an entry to a person's version of it.
func (e *Entry) look(view []byte) error {
	if e.Kind != Reply {
		e.Text = string(view)
		return nil
	}
	answer, err := DecodeAnswer(view)
	if err != nil {
		return err
	}
	e.Reasoning, e.Text = answer.Reasoning, answer.Text
	return nil
}

// Header returns the line that opens an entry in a prompt and in context.md. Nobody
// can forge one: ◆ is escaped in everything from outside.
func (e *Entry) Header() string {
	h := fmt.Sprintf("◆ e%d %s", e.N, e.Kind)
	if e.Kind == Inbound || e.Room != "" {
		h += " room=" + e.Room
	}
	return h
}

// FirstLine returns the first line of an entry's text, or of its first call if it has no text.
func (e *Entry) FirstLine() string {
	text := strings.TrimSpace(e.Text)
	if text == "" && len(e.Calls) > 0 {
		text = e.Calls[0].Tool + " " + e.Calls[0].Args
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Say returns the arguments of a SAY.
func (c *Call) Say() (room, message string) { return c.Arg("room"), c.Arg("message") }

// Target returns the file, command, room, brief or query that a call is about, or "".
func (c *Call) Target() string {
	return cmp.Or(c.Arg("path"), c.Arg("command"), c.Arg("room"), c.Arg("brief"), c.Arg("query"))
}

// Arg returns an argument of a call, or "" if the argument is missing or not a string. It
// prefers the exact key, and takes one in another case otherwise.
func (c *Call) Arg(name string) string {
	var args map[string]any
	_ = json.Unmarshal([]byte(blobs.Unescape(c.Args)), &args) // the tool reports an error
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
	number, callNumber, dotted := strings.Cut(rest, ".")
	entry, err = strconv.Atoi(number)
	if err == nil && dotted {
		call, err = strconv.Atoi(callNumber)
	}
	numbers := ok && err == nil
	if dotted && call < 1 {
		numbers = false
	}
	if !numbers || entry < 1 {
		return 0, 0, fmt.Errorf("%q is not the number of an entry or call", id)
	}
	return entry, call, nil
}

// EntryID returns "e12" for entry 12.
func EntryID(n int) string { return "e" + strconv.Itoa(n) }

// CallID returns "e12.3" for the third call of entry 12.
func CallID(n, k int) string { return fmt.Sprintf("e%d.%d", n, k) }
