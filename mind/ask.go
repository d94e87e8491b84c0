package mind

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"lethe/blobs"
	"lethe/chat"
)

// MaxQuestions is the most questions of one identity that are open at once.
const MaxQuestions = 8

// Deadline begins the signer of a line that says that a question was not answered in time; the question's id follows.
const Deadline = "wait-"

// Answers to the question whether a call may run, or a step is done.
const (
	Yes    = "yes" // to a step of a plan
	Once   = "once"
	Always = "always" // approves the same call, byte for byte, from now on
	No     = "no"
)

// Ask is the content of a question's blob. An identity asks with WAIT, and the harness asks before a call that people
// are to approve. The time and the identity make the blob's hash hard to guess.
type Ask struct {
	Self    string    `json:"self"`
	At      time.Time `json:"at"`
	Call    string    `json:"call"` // e12.1: the WAIT, or the call to approve
	Room    string    `json:"room"`
	Text    string    `json:"question,omitempty"` // the question; for an approval, a hook's reason to ask
	Options []string  `json:"options,omitempty"`
	For     []string  `json:"for,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Tool    string    `json:"tool,omitempty"` // the tool to approve; "" in a WAIT
	Args    string    `json:"args,omitempty"` // its exact arguments
	Step    string    `json:"step,omitempty"` // the digest of the step of a plan that it is about
	// Codes makes the question show invisible characters and tabs by their codes. Earlier versions left some as they
	// are.
	Codes bool `json:"codes,omitempty"`
}

// Encode renders the body of the question's blob.
func (k Ask) Encode() []byte {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	_ = enc.Encode(k) // plain fields: cannot fail
	return body.Bytes()
}

// DecodeAsk reads the body that Encode wrote. It returns an error for one without a room, or without text and tool.
func DecodeAsk(body []byte) (ask Ask, err error) {
	if err := json.Unmarshal(body, &ask); err != nil {
		return ask, fmt.Errorf("decode question: %w", err)
	}
	blank := ask.Text == "" && ask.Tool == ""
	if blank || ask.Room == "" {
		return ask, errors.New("decode question: it asks nothing")
	}
	return ask, nil
}

// Gist returns the gist of the question's blob.
func (k Ask) Gist() string {
	if k.Tool != "" {
		return blobs.Gist("question: " + k.aboutCall(Ref{}))
	}
	return blobs.Gist("question: " + k.Text)
}

// ExactCall returns a hash that only the same call has, byte for byte: 32 hex digits.
func ExactCall(tool, args string) string {
	return blobs.Sum([]byte(tool + "\x00" + args)).String()[:32]
}

// maxShown and mostShown bound one argument in the question about a call, and the whole text of the question, in runes.
const maxShown, mostShown = 1000, 6000

// question returns the question for people.
func (k Ask) question(id string, ref Ref) chat.Question {
	q := chat.Question{ID: id, Text: k.Text, Options: k.Options, For: k.For, Until: k.Until}
	if k.Tool != "" {
		q.Text, q.Options = k.aboutCall(ref), []string{Once, Always, No}
		if len(k.For) > 0 {
			q.Options = []string{Once, No}
		}
	}
	return q
}

// aboutCall asks people whether a call may run. It shows the beginning of each argument.
func (k Ask) aboutCall(ref Ref) string {
	begin := func(value string, most int) string {
		if short := CutRunes(value, most); short != value {
			return fmt.Sprintf("%s… (all of it: lethe cat %s)", short, ref.Short)
		}
		return value
	}
	all := fmt.Sprintf("May I call %s?", k.Tool)
	switch {
	case len(k.For) > 0: // the readers, all of them
		all += " " + k.visible(k.Text)
	case k.Text != "": // the hook's reason to ask
		all += " " + k.visible(blobs.Gist(k.Text))
	}
	var args map[string]json.RawMessage
	_ = json.Unmarshal([]byte(k.Args), &args) // an object, as RepairCall has made it
	for _, key := range slices.Sorted(maps.Keys(args)) {
		var value string
		if json.Unmarshal(args[key], &value) != nil {
			value = string(args[key])
		}
		all += "\n" + strings.ReplaceAll(k.visible(key+": "+begin(value, maxShown)), "\n", "\n  ")
	}
	return begin(all, mostShown)
}

// visible shows invisible characters by their codes, so that two calls that do different things never look alike.
func (k Ask) visible(text string) string {
	var out strings.Builder
	for _, char := range text {
		if k.seen(char) {
			out.WriteRune(char)
		} else {
			fmt.Fprintf(&out, "\\u%04x", char)
		}
	}
	return out.String()
}

// seen reports whether people see a character as it is.
func (k Ask) seen(char rune) bool {
	switch char {
	case '\n':
		return true
	case '\t':
		return !k.Codes
	}
	if k.Codes && chat.ShownAsNothing(char) {
		return false
	}
	return unicode.IsPrint(char)
}
