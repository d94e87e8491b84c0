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
	"lethe/life/event"
)

// Questions to people: asked with WAIT, or by the harness before a call that people are to approve.

// MaxQuestions is how many questions of one identity are open at most.
const MaxQuestions = 8

// Deadline and the id sign the line that a question was not answered in time.
const Deadline = "wait-"

// What people may say to a call.
const (
	Once   = "once"
	Always = "always" // and to the same call, byte for byte, from now on
	No     = "no"
)

// Ask is a question as its blob has it. The time and the identity make its hash one that nobody guesses.
type Ask struct {
	Self    string    `json:"self"`
	At      time.Time `json:"at"`
	Call    string    `json:"call"` // e12.1: the WAIT, or what is to be approved
	Room    string    `json:"room"`
	Text    string    `json:"question,omitempty"` // of an approval: why a hook wants it
	Options []string  `json:"options,omitempty"`
	For     []string  `json:"for,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Tool    string    `json:"tool,omitempty"` // the call that is to be approved, and its exact arguments
	Args    string    `json:"args,omitempty"`
	// Codes: what leaves no ink is shown by its code. Earlier versions showed some of it, and tabs, as they are.
	Codes bool `json:"codes,omitempty"`
}

// Encode renders the body of the question's blob.
func (k Ask) Encode() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	_ = enc.Encode(k) // plain fields: cannot fail
	return b.Bytes()
}

// DecodeAsk reads what Encode wrote.
func DecodeAsk(body []byte) (k Ask, err error) {
	if err = json.Unmarshal(body, &k); err == nil && (k.Room == "" || k.Text == "" && k.Tool == "") {
		err = errors.New("it asks nothing")
	}
	if err != nil {
		err = fmt.Errorf("decode question: %w", err)
	}
	return k, err
}

// Gist is the one line that stands for the question.
func (k Ask) Gist() string {
	if k.Tool != "" {
		return blobs.Gist("question: " + k.aboutCall(Ref{}))
	}
	return blobs.Gist("question: " + k.Text)
}

// ExactCall is the hash of a call to the byte.
func ExactCall(tool, args string) string {
	return blobs.Sum([]byte(tool + "\x00" + args)).String()[:32]
}

// maxShown bounds an argument in the question about a call, in runes, and mostShown all that it shows of it.
const maxShown, mostShown = 1000, 6000

// question is how people are asked.
func (k Ask) question(id string, ref Ref) chat.Question {
	q := chat.Question{ID: id, Text: k.Text, Options: k.Options, For: k.For, Until: k.Until}
	if k.Tool != "" {
		q.Text, q.Options = k.aboutCall(ref), []string{Once, Always, No}
	}
	return q
}

// aboutCall shows a call to people: its arguments, each from its beginning.
func (k Ask) aboutCall(ref Ref) string {
	begin := func(s string, most int) string {
		if short := CutRunes(s, most); short != s {
			return fmt.Sprintf("%s… (all of it: lethe cat %s)", short, ref.Short)
		}
		return s
	}
	all := fmt.Sprintf("May I call %s?", k.Tool)
	if k.Text != "" { // why a hook has people asked
		all += " " + k.visible(blobs.Gist(k.Text))
	}
	var args map[string]json.RawMessage
	_ = json.Unmarshal([]byte(k.Args), &args) // an object, as RepairCall has made it
	for _, key := range slices.Sorted(maps.Keys(args)) {
		var s string
		if json.Unmarshal(args[key], &s) != nil {
			s = string(args[key])
		}
		all += "\n" + strings.ReplaceAll(k.visible(key+": "+begin(s, maxShown)), "\n", "\n  ")
	}
	return begin(all, mostShown)
}

// visible writes what is to be approved so that no two texts look alike that run otherwise:
// of what cannot be seen, it shows the code.
func (k Ask) visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case k.Codes && (chat.ShownAsNothing(r) || r == '\t'), !unicode.IsPrint(r) && r != '\n' && r != '\t':
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Question is one that is open, or a call that people have approved and that is not over.
type Question struct {
	chat.Question
	Room   string    `json:"room"`
	Asked  time.Time `json:"asked"` // in the tag of its line
	Ref    Ref       `json:"ref"`
	Call   string    `json:"call"`
	Notice string    `json:"notice"` // of the post
	Tool   string    `json:"tool,omitempty"`
	Exact  string    `json:"exact,omitempty"` // hash of the call that is to be approved
	Began  bool      `json:"began,omitempty"` // the approved call has

	// After is the end of its line in the room; 0 while it is not posted, and -1 when the file is
	// another one. Cite: an answer has to name the id, since somebody else has asked something behind it.
	After int64 `json:"after,omitempty"`
	Cite  bool  `json:"cite,omitempty"`
}

// Inquiries are the questions of an identity to people, and the calls that people have approved.
type Inquiries struct {
	Questions []Question `json:"questions,omitempty"` // open ones
	Approved  []Question `json:"approved,omitempty"`  // approved calls that have not ended; the first runs first
	Always    []string   `json:"always,omitempty"`    // hashes of calls that need no approval from now on; see ExactCall
}

// How a user's line fits a question.
const (
	Apart   = iota // nobody who may answer says it, or not in time
	Aside          // somebody who may answer says something else
	Unclear        // it would be the answer if it named the id
	Bare           // it is the answer, if nothing else was said that it may be meant for
	Clear          // it is the answer: it names the id, or refuses a call
)

// Fits says how a user's line fits an open question, and what it chooses. moved says that offsets of earlier lines
// mean nothing in its file: nobody knows then what was said before the question.
func (i *Inquiries) Fits(q Question, l chat.Line, moved bool, people []string) (choice string, fit int) {
	choice, cited, ok := q.Answer(l.Text)
	another := func(o Question) bool { return o.Room == q.Room && o.ID != q.ID }
	switch {
	case l.Agent || !l.Tagged || l.Command != "" || !q.MayAnswer(l.Name, people):
		return "", Apart
	case !q.Until.IsZero() && l.At.After(q.Until):
		return "", Apart
	case ok && cited:
		return choice, Clear
	case q.After == 0 || !moved && l.From < q.After:
		return "", Apart
	case !ok || q.Cite: // or for whoever has asked since
		return "", Aside
	case moved || q.After < 0 || slices.ContainsFunc(i.Questions, another):
		return choice, Unclear
	case q.Tool != "" && choice == No:
		return choice, Clear
	}
	return choice, Bare
}

// Asked returns the open question of an id or a call, or about an equal call.
func (i *Inquiries) Asked(by, exact string) (Question, bool) {
	for _, question := range i.Questions {
		named := question.Call == by || question.ID == by
		equal := exact != "" && question.Exact == exact
		if named || equal {
			return question, true
		}
	}
	return Question{}, false
}

func (s *State) asked(e event.Asked, from source) error {
	if len(from.bodies) == 0 {
		return errors.New("no question")
	}
	k, err := DecodeAsk(from.bodies[0].Data)
	if err != nil {
		return err
	}
	ref := from.ref()
	q := Question{
		Question: k.question(s.questionID(ref.Hash), ref),
		Room:     k.Room, Asked: e.TS, Ref: ref, Call: e.Call, Notice: e.ID, Tool: k.Tool,
	}
	if k.Tool != "" {
		q.Exact = ExactCall(k.Tool, k.Args)
	}
	s.Notices++
	s.Questions = plus(s.Questions, q)
	_, err = s.post(Post{ID: e.ID}, s.Name, q.String(), e.Posting)
	return err
}

// questionID is the beginning of a hash that no open question has.
func (i *Inquiries) questionID(h blobs.Hash) (id string) {
	for digits := h.String(); id == "" && len(digits) >= 6; digits = digits[6:] {
		id = "q" + digits[:6]
		if slices.ContainsFunc(slices.Concat(i.Questions, i.Approved), func(q Question) bool { return q.ID == id }) {
			id = ""
		}
	}
	return id
}

// stillOpen lists the questions whose calls have faded, as the past begins with them.
func (s *State) stillOpen() (text string) {
	for _, q := range s.Questions {
		if n, _, _ := ParseID(q.Call); s.Entry(n) == nil {
			text += fmt.Sprintf("\n%s is still open, asked in %s in room %s: %s", q.ID, EntryID(n), q.Room, q.Ref)
		}
	}
	return text
}

// closeQuestion takes an open question out of the state.
func (i *Inquiries) closeQuestion(id string) (Question, bool) {
	q, ok := i.Asked(id, "")
	if ok = ok && q.ID == id; ok {
		i.Questions = without(i.Questions, func(o Question) bool { return o.ID == id })
	}
	return q, ok
}

// maxAlways is how many calls are remembered that people have approved for good.
const maxAlways = 256

// answered closes a question. What was approved is owed.
func (i *Inquiries) answered(e event.Inbound) (Question, error) {
	q, ok := i.closeQuestion(e.Answers)
	if !ok {
		return q, errors.New("an answer to what is not asked")
	}
	if q.Tool != "" && (e.Choice == Once || e.Choice == Always) {
		i.Approved = plus(i.Approved, q)
		if e.Choice == Always {
			i.Always = plus(i.Always, q.Exact)
			i.Always = i.Always[max(0, len(i.Always)-maxAlways):]
		}
	}
	return q, nil
}

// begins marks the approved call that is about to run. A SAY owes its line.
func (s *State) begins(e event.Run, from source) error {
	call, ok := s.beginApproved(e.ID)
	if !ok {
		return errors.New("a call that nobody has approved, or a second time")
	}
	if e.Child != "" {
		s.spawned(e.ID, e.Child, e.Posting, call.Room)
	}
	return s.owe(e.ID, e.Say+from.files(), e.Posting)
}

// beginApproved marks the first approved call as begun. It returns false if the call has another id or has begun.
func (i *Inquiries) beginApproved(id string) (Question, bool) {
	if len(i.Approved) == 0 {
		return Question{}, false
	}
	first := i.Approved[0]
	if first.ID != id || first.Began {
		return Question{}, false
	}
	first.Began = true
	i.Approved = slices.Clone(i.Approved)
	i.Approved[0] = first
	return first, true
}

// endApproved removes the first approved call. It returns false if the call has another id.
func (i *Inquiries) endApproved(id string) (Question, bool) {
	if len(i.Approved) == 0 || i.Approved[0].ID != id {
		return Question{}, false
	}
	first := i.Approved[0]
	i.Approved = slices.Clone(i.Approved[1:])
	return first, true
}

// ran ends an approved call; its output opens a turn.
func (s *State) ran(id, status string) (Question, error) {
	call, ok := s.endApproved(id)
	if !ok {
		return Question{}, errors.New("the end of a call that did not run")
	}
	if status != OK {
		s.notSpawned(id)
	}
	s.Owes = true
	if s.joinedTo(call.Room) {
		s.Waiting = with(s.Waiting, call.Room)
	}
	return call, nil
}

// placeQuestions notes where the lines of questions in a room stand.
func (i *Inquiries) placeQuestions(room string, place func(*Question)) {
	i.Questions = slices.Clone(i.Questions)
	for at := range i.Questions {
		if question := &i.Questions[at]; question.Room == room {
			place(question)
		}
	}
}
