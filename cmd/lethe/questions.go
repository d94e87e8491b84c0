package main

import (
	"cmp"
	"strings"

	"lethe/agent/home"
	"lethe/bridge/report"
)

func (p *program) questionsCommand(c call) error {
	open, err := p.questions(c.arg(0))
	return p.words("questions", open, err)
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
	return p.say(c, room, as, line)
}
