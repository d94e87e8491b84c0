package mind

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
)

// Questions to people: asked with WAIT, or by the harness before a call that people are to approve.

// Question is an open question, or a call that people have approved and that has not ended.
type Question struct {
	chat.Question
	Room   string    `json:"room"`
	Asked  time.Time `json:"asked"`           // the time in the tag of its line
	Ref    Ref       `json:"ref"`             // the blob of its Ask
	Call   string    `json:"call"`            // e12.1: the WAIT, or the call to approve
	Notice string    `json:"notice"`          // the ID of its Post
	Tool   string    `json:"tool,omitempty"`  // the tool to approve; "" in a WAIT
	Exact  string    `json:"exact,omitempty"` // the ExactCall of the call to approve, or the digest of a step
	Began  bool      `json:"began,omitempty"` // the approved call has begun to run
	Posts  bool      `json:"posts,omitempty"` // its beginning has fixed a line

	// After is the end of its line in the room: 0 before it is posted, and -1 if another file has replaced the room.
	After int64 `json:"after,omitempty"`
	// Cite is true if an answer has to name the id, since another agent asked something behind the question.
	Cite bool `json:"cite,omitempty"`
}

// Inquiries are the questions of an identity to people, and the calls that people have approved.
type Inquiries struct {
	Questions []Question `json:"questions,omitempty"` // open ones
	Approved  []Question `json:"approved,omitempty"`  // approved calls that have not ended; the first runs first
	Always    []string   `json:"always,omitempty"`    // the ExactCall of each call that needs no further approval
}

// Relations of a line to an open question.
const (
	Apart   = iota // its writer may not answer, or wrote it too early or too late
	Aside          // its writer may answer, but says something else
	Unclear        // it would be the answer if it named the id
	Bare           // it is the answer, unless the writer may have meant another line
	Clear          // it is the answer: it names the id, or refuses a call
)

// Fits returns the relation of a line to an open question, and the option that the line chooses. moved is true if
// another file has replaced the room, so that nobody knows whether the line stood before the question. people are the
// users of config.toml.
func (i *Inquiries) Fits(question Question, line chat.Line, moved bool, people []string) (choice string, fit int) {
	choice, cited, ok := question.Answer(line.Text)
	saidByUser := line.Tagged && !line.Agent
	late := !question.Until.IsZero() && line.At.After(question.Until)
	before := !moved && line.From < question.After
	placeless := moved || question.After < 0
	another := func(other Question) bool { return other.Room == question.Room && other.ID != question.ID }
	switch {
	case late, !saidByUser, line.Command != "", !question.MayAnswer(line.Name, people):
		return "", Apart
	case ok && cited:
		return choice, Clear
	case before, question.After == 0: // not posted yet
		return "", Apart
	case !ok, question.Cite: // with Cite, it may be for the agent that asked last
		return "", Aside
	case placeless, slices.ContainsFunc(i.Questions, another):
		return choice, Unclear
	case question.Tool != "" && choice == No:
		return choice, Clear
	}
	return choice, Bare
}

// Asked returns the open question with this id, or of this call (e12.1), or about a call with this ExactCall. It
// returns false if no open question fits.
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

// OfStep reports whether a question is about a step of a plan.
func (q Question) OfStep() bool { return q.Tool == "" && q.Exact != "" }

// step returns the step of a plan that an approved call is for, or "".
func (q Question) step() string {
	if !strings.Contains(q.Exact, "/") { // as an ExactCall
		return ""
	}
	return q.Exact
}

// questionID makes an id of six digits of a hash, which no open question and no approved call has.
func (i *Inquiries) questionID(h blobs.Hash) (id string) {
	for digits := h.String(); id == "" && len(digits) >= 6; digits = digits[6:] {
		id = "q" + digits[:6]
		if slices.ContainsFunc(slices.Concat(i.Questions, i.Approved), func(q Question) bool { return q.ID == id }) {
			id = ""
		}
	}
	return id
}

// closeQuestion removes an open question.
func (i *Inquiries) closeQuestion(id string) (Question, bool) {
	question, ok := i.Asked(id, "")
	if !ok || question.ID != id {
		return question, false
	}
	i.Questions = without(i.Questions, func(open Question) bool { return open.ID == id })
	return question, true
}

// maxAlways is the most hashes of calls that Inquiries.Always keeps; the oldest go first.
const maxAlways = 256

// answered closes a question. A call that the answer approves is then to run.
func (i *Inquiries) answered(answer event.Inbound) (Question, error) {
	question, ok := i.closeQuestion(answer.Answers)
	if !ok {
		return question, errors.New("an answer to what is not asked")
	}
	if question.Tool == "" {
		return question, nil
	}
	switch answer.Choice {
	case Once:
		i.Approved = plus(i.Approved, question)
	case Always:
		i.Approved = plus(i.Approved, question)
		i.Always = plus(i.Always, question.Exact)
		i.Always = i.Always[max(0, len(i.Always)-maxAlways):]
	}
	return question, nil
}

// beginApproved marks the first approved call as begun; posts says that this has fixed a line. It returns false if the
// call has another id or has begun.
func (i *Inquiries) beginApproved(id string, posts bool) (Question, bool) {
	if len(i.Approved) == 0 {
		return Question{}, false
	}
	first := i.Approved[0]
	if first.ID != id || first.Began {
		return Question{}, false
	}
	first.Began, first.Posts = true, posts
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

// placeQuestions calls place for each open question of a room, to set its After or Cite.
func (i *Inquiries) placeQuestions(room string, place func(*Question)) {
	i.Questions = slices.Clone(i.Questions)
	for at := range i.Questions {
		if question := &i.Questions[at]; question.Room == room {
			place(question)
		}
	}
}

// stillOpen lists the open questions whose calls have faded from a context, for the beginning of the past.
func (i *Inquiries) stillOpen(context Context) (text string) {
	for _, question := range i.Questions {
		if number, _, _ := ParseID(question.Call); context.Entry(number) == nil {
			text += fmt.Sprintf("\n%s is still open, asked in %s in room %s: %s",
				question.ID, EntryID(number), question.Room, question.Ref)
		}
	}
	return text
}
