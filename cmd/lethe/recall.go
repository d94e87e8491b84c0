package main

import (
	"errors"
	"fmt"
	"strings"

	"lethe/chat"
	"lethe/report"
)

func (p *program) recallCommand(c call) error {
	who, words := "", c.args
	if id, err := p.home.Find(words[0]); err == nil && id.Name == words[0] && len(words) > 1 {
		who, words = id.Name, words[1:]
	}
	id, err := p.find(who)
	if err != nil {
		return err
	}
	f := report.Search{
		Text: strings.Join(words, " "), Since: c.text("since"), Until: c.text("until"), Room: c.text("room"),
		Tool: c.text("tool"), Kind: c.text("kind"), Limit: c.number("limit"),
	}
	found, err := p.look.Recall(c, id, f, p.logTo(p.err))
	none := errors.Is(err, report.ErrNoMatch)
	if found.Behind != "" && (err == nil || none) {
		p.note("the index is not up to date, and what is not in it is not found: %s", found.Behind)
	}
	if err == nil && found.Lost > 0 {
		p.warn("%d more that may match cannot be read", found.Lost)
	}
	if err == nil && len(found.Absent) > 0 {
		p.note("in no original: %s", strings.Join(found.Absent, ", "))
	}
	switch {
	case p.json && none:
		err = nil
	case none:
		return hint(err, "recall searches only what has faded; what has not: ‹context %s›", id.Name)
	case err != nil && !(p.json && found.Lost > 0):
		return err
	}
	return errors.Join(err, p.show(found.Matches, nil, func() {
		for _, m := range found.Matches {
			p.printMatch(m)
		}
	}))
}

func (p *program) printMatch(m report.Match) {
	var where []string
	for _, room := range m.Rooms {
		where = append(where, "room "+room)
	}
	for _, tool := range m.Tools {
		where = append(where, "tool "+tool)
	}
	if m.Overtaken > 0 {
		where = append(where, fmt.Sprintf("overtaken by e%d", m.Overtaken))
	}
	hash, tags := p.look.Store.Short(m.Hash), strings.Join(where, ", ")
	text := fmt.Sprintf("%s  %s  %s..%s  %s\n    %s\n", hash, clock(m.At), m.From, m.To, tags, m.Gist)
	for line := range strings.Lines(m.Shown()) {
		text += "    | " + strings.TrimRight(line, "\n") + "\n"
	}
	fmt.Fprint(p.out, chat.Sanitize(text))
}
