package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// recallOptions are the flags of lethe recall.
type recallOptions struct {
	kind  string
	limit int
	room  string
	since string
	tool  string
	until string
}

func newRecallCommand(app *cli.App) *cobra.Command {
	var options recallOptions
	cmd := &cobra.Command{
		Use:        "recall [NAME] QUERY...",
		SuggestFor: []string{"search", "find"},
		Short:      "Search what an identity has forgotten",
		Long: `Recall searches by words what has faded from the context of an identity: the one that the first
of several words names, or the default one. It prints the address, time and summary of each match,
and the passage that fits; lethe cat prints the whole text. The index is a cache, which can be
deleted at any time.

A query is plain text: quotes, AND, * and the like have no special meaning.`,
		Example: `  lethe recall "what did bob say about the harbour?"
  lethe recall timeout --tool BASH --since 7d
  lethe recall ada invoice --room billing --since 2026-05-01 --json`,
		Args: cli.MinimumArgs(1),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runRecall(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.kind, "kind", "", "only passages with this `KIND` of entry: chat, reply, tool or note")
	flags.IntVar(&options.limit, "limit", 10, "at most `N` matches, up to 50")
	flags.StringVar(&options.room, "room", "", "only what was heard in this `ROOM`")
	flags.StringVar(&options.since, "since", "",
		"only what was said after this `TIME`: 7d, 12h, 2026-05-01, 2026-05-01T12:00:00Z")
	flags.StringVar(&options.tool, "tool", "", "only passages with a call of this `TOOL`, such as BASH")
	flags.StringVar(&options.until, "until", "", "only what was said before this `TIME`")
	return cmd
}

func runRecall(ctx context.Context, app *cli.App, options recallOptions, args []string) error {
	who, words := "", args
	if len(words) > 1 && app.Named(ctx, words[0]) {
		who, words = words[0], words[1:]
	}
	id, err := app.FindToRead(ctx, who)
	if err != nil {
		return err
	}
	search := report.Search{
		Text: strings.Join(words, " "), Since: options.since, Until: options.until, Room: options.room,
		Tool: options.tool, Kind: options.kind, Limit: options.limit,
	}
	found, err := app.Look.Recall(ctx, id, search, app.LogTo(app.Err))
	nothing := errors.Is(err, report.ErrNoMatch)
	if err == nil || nothing {
		noteGaps(app, found, nothing)
	}
	if nothing && !app.JSON {
		return exit.Hint(err, "recall searches what has faded, of each original the first 4 MB; what has not faded: %s", app.Lethe("context %s", id.Name))
	}
	partly := app.JSON && found.Lost > 0 // programs get the readable matches, and the error
	if nothing {
		err = nil
	} else if err != nil && !partly {
		return err
	}
	return errors.Join(err, app.Show(found.Matches, func(out io.Writer) {
		for _, match := range found.Matches {
			writeMatch(out, app, match)
		}
	}))
}

// noteGaps tells why a search may have missed a match.
func noteGaps(app *cli.App, found report.Found, nothing bool) {
	if found.Behind != "" {
		app.Note("the index is not up to date, and what is not in it is not found: %s", found.Behind)
	}
	if nothing {
		return
	}
	if found.Lost > 0 {
		app.Warn("%d more that may match cannot be read", found.Lost)
	}
	if len(found.Near) > 0 {
		app.Note("looked for as well: %s", strings.Join(found.Near, "; "))
	}
	if len(found.Absent) > 0 {
		app.Note("no original shows in its first 4 MB: %s", strings.Join(found.Absent, ", "))
	}
}

func writeMatch(out io.Writer, app *cli.App, match report.Match) {
	var where []string
	for _, room := range match.Rooms {
		where = append(where, "room "+room)
	}
	for _, tool := range match.Tools {
		where = append(where, "tool "+console.OneLine(tool))
	}
	if match.Mark != "" {
		where = append(where, console.OneLine(strings.TrimPrefix(match.Mark, ", ")))
	}
	entries := match.From + ".." + match.To
	if match.Source != "" {
		entries = "from " + match.Source
	}
	fmt.Fprintf(out, "%s  %s  %s  %s\n",
		app.Look.Store.Short(match.Hash), console.Clock(match.At), entries, strings.Join(where, ", "))
	fmt.Fprintln(out, console.Indented("    ", match.Gist))
	if shown := match.Shown(); shown != "" {
		fmt.Fprintln(out, console.Indented("    | ", shown))
	}
}
