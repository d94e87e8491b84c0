package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/chat"
	"lethe/mind"
	"lethe/report"
)

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
func (p *program) printQuestion(q report.Question) {
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
func (p *program) questions(who string) ([]report.Question, error) {
	all, err := p.home.List()
	if who != "" {
		var id agent.Identity
		id, err = p.find(who)
		all = []agent.Identity{id}
	}
	if err != nil || len(all) == 0 {
		return []report.Question{}, err
	}
	h, err := p.reports()
	if err != nil {
		return nil, err
	}
	open, err := h.Questions(all...)
	if err != nil && who == "" {
		p.note("warning", "%s", err)
		err = nil
	}
	return open, err
}

func (p *program) answerCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:     "answer ID TEXT...",
		Short:   "Answer a question: append your line to its room",
		Example: `  lethe answer q3fa9c1 yes`,
		Args:    args(cobra.MinimumNArgs(2)),
		RunE: func(_ *cobra.Command, list []string) error {
			return p.answer(list[0], cmp.Or(as, p.settings.UserName()), strings.Join(list[1:], " "))
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
	h, err := p.reports()
	if err != nil {
		return err
	}
	room, line, err := h.Answer(open, id, as, text)
	if errors.Is(err, report.ErrNoQuestion) || errors.Is(err, agent.ErrAmbiguous) {
		return hint(err, "what is open: %s", p.lethe("questions"))
	}
	if err != nil {
		return err
	}
	return p.say(room, as, line)
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
