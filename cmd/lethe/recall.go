package main

import (
	"errors"
	"strings"

	"lethe/bridge/report"
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
	return errors.Join(err, p.words("matches", found.Matches, nil))
}
