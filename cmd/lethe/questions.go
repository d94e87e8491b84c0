package main

import (
	"cmp"
	"fmt"
	"strings"

	"lethe/chat"
	"lethe/home"
	"lethe/report"
)

func (p *program) questionsCommand(c call) error {
	open, err := p.questions(c.arg(0))
	return p.show(open, err, func() {
		if len(open) == 0 {
			fmt.Fprintln(p.out, "no open questions")
		}
		for _, q := range open {
			p.printQuestion(q)
		}
	})
}

// printQuestion tells who asks what, and how to answer.
func (p *program) printQuestion(q report.Question) {
	head := fmt.Sprintf("%s  %s in room %s, since %s", q.ID, q.Identity, q.Room, clock(q.Asked))
	if !q.Until.IsZero() {
		head += ", until " + clock(q.Until)
	}
	if len(q.For) > 0 {
		head += ", for " + strings.Join(q.For, ", ")
	}
	lines := append([]string{head}, strings.Split(q.Text, "\n")...)
	choice := "TEXT"
	for i, option := range q.Options {
		choice = "1"
		lines = append(lines, fmt.Sprintf("%d) %s", i+1, option))
	}
	lines = append(lines, "answer with: "+p.lethe("answer %s %s", q.ID, choice))
	fmt.Fprintln(p.out, chat.Sanitize(strings.Join(lines, "\n    ")))
}

// questions are those that one identity has open, or all of the home, oldest first.
func (p *program) questions(who string) ([]report.Question, error) {
	all, err := p.home.List()
	if who != "" {
		all = make([]home.Identity, 1)
		all[0], err = p.find(who)
	}
	if err != nil {
		return nil, err
	}
	open, err := p.look.Questions(all...)
	if err != nil && who == "" {
		p.warn("%s", err)
		err = nil
	}
	return open, err
}

// answerCommand appends an answer to the room of a question.
func (p *program) answerCommand(c call) error {
	open, err := p.questions("")
	if err != nil {
		return err
	}
	as := cmp.Or(c.text("as"), p.settings.UserName())
	room, line, err := p.look.Answer(open, c.arg(0), as, strings.Join(c.args[1:], " "))
	if err != nil {
		return err
	}
	return p.say(room, as, line)
}
