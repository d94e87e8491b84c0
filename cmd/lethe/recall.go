package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lethe/chat"
	"lethe/report"
)

func (p *program) recallCommand() *cobra.Command {
	var name string
	var f report.Search
	cmd := &cobra.Command{
		Use:   "recall [NAME] QUERY...",
		Short: "Search what an identity has forgotten",
		Long: `Recall searches by words what has faded from the context of an identity: the one that the first
of several words names, or the default one. With --name, all words are the query. It prints the address,
time and summary of each match, and the passage that fits; lethe cat prints the whole text. The index is a cache, which
can be deleted at any time.

A query is plain text: quotes, AND, * and the like have no special meaning.`,
		Example: `  lethe recall "what did bob say about the harbour?"
  lethe recall timeout --tool BASH --since 7d
  lethe recall ada invoice --room billing --since 2026-05-01 --json`,
		RunE: func(cmd *cobra.Command, list []string) error {
			if id, err := p.home.Find(list[0]); err == nil && id.Name == list[0] && name == "" && len(list) > 1 {
				name, list = id.Name, list[1:]
			}
			f.Text = strings.Join(list, " ")
			return p.recall(cmd.Context(), name, f)
		},
	}
	flags := cmd.Flags()
	option(cmd, &name, "name", "`NAME` or hash of the identity, where the first word is not to name it",
		p.offers(p.identities))
	option(cmd, &f.Since, "since", "only what was said after this `TIME`: "+
		"7d, 12h, 2026-05-01, 2026-05-01T12:00:00Z")
	option(cmd, &f.Until, "until", "only what was said before this `TIME`")
	option(cmd, &f.Room, "room", "only what was heard in this `ROOM`", p.offers(p.rooms))
	option(cmd, &f.Tool, "tool", "only passages with a call of this `TOOL`, such as BASH")
	option(cmd, &f.Kind, "kind", "only passages with this `KIND` of entry: chat, reply, tool or note",
		oneOf(report.Kinds))
	flags.IntVar(&f.Limit, "limit", 10, "at most `N` matches, up to 50")
	return cmd
}

func (p *program) recall(ctx context.Context, who string, f report.Search) error {
	id, err := p.find(who)
	if err != nil {
		return err
	}
	found, err := p.look.Recall(ctx, id, f, p.logTo(p.err))
	none := errors.Is(err, report.ErrNoMatch)
	if found.Behind != "" && (err == nil || none) {
		p.note("the index is not up to date, and what is not in it is not found: %s", found.Behind)
	}
	if len(found.Matches) > 0 && found.Lost > 0 {
		p.warn("%d more that may match cannot be read", found.Lost)
	}
	if len(found.Matches) > 0 && len(found.Absent) > 0 {
		p.note("in no original: %s", strings.Join(found.Absent, ", "))
	}
	switch {
	case p.json && none:
		err = nil
	case none:
		return hint(err, "recall searches only what has faded; what has not: %s", p.lethe("context %s", id.Name))
	case err != nil && !(p.json && found.Lost > 0):
		return err
	}
	return errors.Join(err, p.show(found.Matches, func() {
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
