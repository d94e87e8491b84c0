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
of several words names, or the default one. With --name, all words are the query. It prints the address, time and summary of each match, and
the passage that fits; lethe cat prints the whole text. The index is a cache, which
can be deleted at any time.

A query is plain text: quotes, AND, * and the like have no special meaning.`,
		Example: `  lethe recall "what did bob say about the harbour?"
  lethe recall timeout --tool BASH --since 7d
  lethe recall ada invoice --room billing --since 2026-05-01 --json`,
		Args:              args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: firstOnly(p.completeIdentities),
		RunE: func(cmd *cobra.Command, list []string) error {
			if id, err := p.home.Find(list[0]); err == nil && id.Name == list[0] && name == "" && len(list) > 1 {
				name, list = id.Name, list[1:]
			}
			f.Text = strings.Join(list, " ")
			return p.recall(cmd.Context(), name, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "`NAME` or hash of the identity, where the first word is not to name it")
	flags.StringVar(&f.Since, "since", "", "only what was said after this `TIME`: 7d, 12h, 2026-05-01, 2026-05-01T12:00:00Z")
	flags.StringVar(&f.Until, "until", "", "only what was said before this `TIME`")
	flags.StringVar(&f.Room, "room", "", "only what was heard in this `ROOM`")
	flags.StringVar(&f.Tool, "tool", "", "only passages with a call of this `TOOL`, such as BASH")
	flags.StringVar(&f.Kind, "kind", "", "only passages with this `KIND` of entry: chat, reply, tool or note")
	flags.IntVar(&f.Limit, "limit", 10, "at most `N` matches, up to 50")
	_ = cmd.RegisterFlagCompletionFunc("name", p.completeIdentities) // fails for a flag that is not there
	_ = cmd.RegisterFlagCompletionFunc("room", p.completeRooms)
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(report.Kinds, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p *program) recall(ctx context.Context, who string, f report.Search) error {
	id, err := p.find(who)
	if err != nil {
		return err
	}
	h, err := p.reports()
	if err != nil {
		return err
	}
	found, err := h.Recall(ctx, id, f, p.logTo(p.err))
	if found.Behind != "" && (err == nil || errors.Is(err, report.ErrNoMatch)) {
		p.note("note", "the index is not up to date, and what is not in it is not found: %s", found.Behind)
	}
	if len(found.Matches) > 0 && found.Lost > 0 {
		p.note("warning", "%d more that may match cannot be read", found.Lost)
	}
	if len(found.Matches) > 0 && len(found.Absent) > 0 {
		p.note("note", "in no original: %s", strings.Join(found.Absent, ", "))
	}
	none := errors.Is(err, report.ErrNoMatch)
	if p.json && (err == nil || none || found.Lost > 0) {
		perr := p.printJSON(found.Matches)
		if perr != nil || none {
			return perr
		}
		return err
	}
	if none {
		return hint(err, "recall searches only what has faded; what has not: %s", p.lethe("context %s", id.Name))
	}
	if err != nil {
		return err
	}
	for _, m := range found.Matches {
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
		fmt.Fprintf(p.out, "%s  %s  %s..%s  %s\n    %s\n", h.Store.Short(m.Hash), m.At.Local().Format("2006-01-02 15:04"), m.From, m.To,
			chat.Sanitize(strings.Join(where, ", ")), chat.Sanitize(m.Gist))
		for line := range strings.Lines(m.Shown()) {
			fmt.Fprintf(p.out, "    | %s\n", chat.Sanitize(strings.TrimRight(line, "\n")))
		}
	}
	return nil
}
