package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/mind"
)

// Question is a question that awaits an answer.
type Question struct {
	status.Question
	Identity string `json:"identity"`
	Self     string `json:"self"`
	Hash     string `json:"hash"` // of its blob, which holds the call that is to be approved
}

// ErrNoQuestion says that there is no such open question.
var ErrNoQuestion = errors.New("no such open question; it may have been answered, or its time is over")

// Questions lists the open questions of identities, oldest first. The error names the
// identities that cannot be read; the list has the questions of the others.
func (h Home) Questions(of ...home.Identity) ([]Question, error) {
	open, unread := []Question{}, error(nil)
	for _, id := range of {
		state, err := home.Fold(id, h.Store)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		open = append(open, QuestionsOf(id, state)...)
	}
	sort.SliceStable(open, func(i, j int) bool { return open[i].Asked.Before(open[j].Asked) })
	return open, unread
}

// QuestionsOf returns the questions that the state of an identity has open.
func QuestionsOf(id home.Identity, s *mind.State) (open []Question) {
	for _, q := range s.Questions {
		asked := status.Question{Question: q.Question, Room: q.Room, Asked: q.Asked}
		open = append(open, Question{asked, id.Name, id.Self, q.Ref.Hash.String()})
	}
	return open
}

// Answer checks an answer to one of the questions that are open, as somebody gives it,
// and returns the room and the line that give it there. An answer that may not be given
// is an *InvalidError or wraps ErrNoQuestion or home.ErrAmbiguous.
func (h Home) Answer(open []Question, qid, as, text string) (room, line string, err error) {
	fits := slices.DeleteFunc(slices.Clone(open), func(q Question) bool {
		return !strings.EqualFold(q.ID, qid) && !strings.EqualFold(q.ID, "q"+qid)
	})
	if len(fits) > 1 {
		return "", "", fmt.Errorf("answer %s: identities %s and %s have a question of this id; answer in the room: %w",
			qid, fits[0].Identity, fits[1].Identity, home.ErrAmbiguous)
	}
	if len(fits) == 0 {
		return "", "", fmt.Errorf("answer %s: %w", qid, ErrNoQuestion)
	}
	question := fits[0]
	if !question.MayAnswer(as, h.People) {
		who := cmp.Or(strings.Join(question.Answerers(h.People), ", "), "nobody; see people in config.toml")
		return "", "", &InvalidError{fmt.Errorf("answer %s: %s may not answer it", question.ID, as), "who may: " + who}
	}
	if !question.Until.IsZero() && time.Now().After(question.Until) {
		return "", "", fmt.Errorf("answer %s: it could be answered until %s: %w", question.ID,
			question.Until.In(h.Clock()).Format(time.DateTime), ErrNoQuestion)
	}
	choice, _, ok := question.Answer(question.ID + " " + text)
	if !ok {
		return "", "", &InvalidError{fmt.Errorf("answer %s: %q is no option", question.ID, text),
			"its options: " + strings.Join(question.Options, ", ")}
	}
	if len(text) > len(choice) { // as "no, keep it": the words are heard, too
		choice = text
	}
	return question.Room, question.ID + " " + choice, nil
}
