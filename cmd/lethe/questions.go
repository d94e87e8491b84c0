package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/mind"
)

// openQuestion is one that an identity waits for an answer to.
type openQuestion struct {
	status.Question
	Identity string `json:"identity"`
	Self     string `json:"self"`
	Hash     string `json:"hash"` // of its blob, which holds the call that is to be approved
}

func (p *program) questionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "questions [NAME]",
		Short: "List what identities have asked people and nobody has answered yet",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			open, err := p.questions(first(list))
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(open)
			}
			if len(open) == 0 {
				fmt.Fprintln(p.out, "no open questions")
			}
			for _, q := range open {
				p.printQuestion(q)
			}
			return nil
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
}

// printQuestion tells who asks what, and how to answer.
func (p *program) printQuestion(q openQuestion) {
	fmt.Fprintf(p.out, "%s  %s in room %s, since %s", q.ID, q.Identity, q.Room, q.Asked.Local().Format("2006-01-02 15:04"))
	if !q.Until.IsZero() {
		fmt.Fprintf(p.out, ", until %s", q.Until.Local().Format("2006-01-02 15:04"))
	}
	if len(q.For) > 0 {
		fmt.Fprintf(p.out, ", for %s", strings.Join(q.For, ", "))
	}
	fmt.Fprintf(p.out, "\n    %s\n", strings.ReplaceAll(chat.Sanitize(q.Text), "\n", "\n    "))
	choice := "TEXT"
	if len(q.Options) > 0 {
		for i, option := range q.Options {
			fmt.Fprintf(p.out, "    %d) %s\n", i+1, chat.Sanitize(option))
		}
		choice = "1"
	}
	fmt.Fprintf(p.out, "    answer with: %s\n", p.lethe("answer %s %s", q.ID, choice))
}

// questions are those that one identity has open, or all of the home, oldest first.
func (p *program) questions(who string) ([]openQuestion, error) {
	open := []openQuestion{}
	all, err := p.home.List()
	if who != "" {
		var id agent.Identity
		id, err = p.find(who)
		all = []agent.Identity{id}
	}
	if err != nil || len(all) == 0 {
		return open, err
	}
	store, err := p.store()
	if err != nil {
		return nil, err
	}
	for _, id := range all {
		s, err := agent.Fold(id, store)
		if err != nil && who != "" {
			return nil, err
		}
		if err != nil {
			p.note("warning", "%s", err)
			continue
		}
		for _, q := range s.Questions {
			open = append(open, openQuestion{status.Question{Question: q.Question, Room: q.Room, Asked: q.Asked}, id.Name, id.Self, q.Ref.Hash.String()})
		}
	}
	slices.SortStableFunc(open, func(a, b openQuestion) int { return a.Asked.Compare(b.Asked) })
	return open, nil
}

// errNoQuestion says that there is no such open question.
var errNoQuestion = errors.New("no such open question; it may have been answered, or its time is over")

func (p *program) answerCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:     "answer ID TEXT...",
		Short:   "Answer a question: append your line to its room",
		Example: `  lethe answer q3fa9c1 yes`,
		Args:    args(cobra.MinimumNArgs(2)),
		RunE: func(_ *cobra.Command, list []string) error {
			return p.answer(list[0], cmp.Or(as, p.userName()), strings.Join(list[1:], " "))
		},
		ValidArgsFunction: firstOnly(p.completeQuestions),
	}
	cmd.Flags().StringVar(&as, "as", "", "sign with this `NAME` (default: yours)")
	return cmd
}

func (p *program) answer(id, as, text string) error {
	open, err := p.questions("")
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(q openQuestion) bool { return !strings.EqualFold(q.ID, id) && !strings.EqualFold(q.ID, "q"+id) })
	if len(open) != 1 {
		err := fmt.Errorf("answer %s: %w", id, errNoQuestion)
		if len(open) > 1 {
			err = fmt.Errorf("answer %s: identities %s and %s have a question of this id; answer in the room: %w", id, open[0].Identity, open[1].Identity, agent.ErrAmbiguous)
		}
		return hint(err, "what is open: %s", p.lethe("questions"))
	}
	q := open[0]
	if !q.MayAnswer(as, p.people()) {
		return hint(usagef("answer %s: %s may not answer it", q.ID, as), "who may: %s", cmp.Or(strings.Join(q.Answerers(p.people()), ", "), "nobody; see people in config.toml"))
	}
	if !q.Until.IsZero() && time.Now().After(q.Until) {
		return fmt.Errorf("answer %s: it could be answered until %s: %w", q.ID, q.Until.Local().Format(time.DateTime), errNoQuestion)
	}
	choice, _, ok := q.Answer(q.ID + " " + text)
	if !ok {
		return hint(usagef("answer %s: %q is no option", q.ID, text), "its options: %s", strings.Join(q.Options, ", "))
	}
	return p.say(q.Room, as, q.ID+" "+choice)
}

// completeQuestions offers the ids of open questions.
func (p *program) completeQuestions(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
	if p.open(false) == nil {
		open, _ := p.questions("") // then there is nothing to complete
		for _, q := range open {
			ids = append(ids, q.ID+"\t"+oneLine(mind.Ask{Text: q.Text}.Gist()))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
