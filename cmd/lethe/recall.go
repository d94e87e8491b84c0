package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/recall"
)

// recallFlags narrow a search.
type recallFlags struct {
	name, since, until, room, tool, kind string
	limit                                int
}

func (p *program) recallCommand() *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:   "recall QUERY...",
		Short: "Search what an identity has forgotten",
		Long: `Recall searches by words what has faded from the context of an identity: the default
one, or that of --name. It prints the address, time and summary of each match, and
the passage that fits; lethe cat prints the whole text. The index is a cache, which
can be deleted at any time.

A query is plain text: quotes, AND, * and the like have no special meaning.`,
		Example: `  lethe recall "what did bob say about the harbour?"
  lethe recall timeout --tool BASH --since 7d
  lethe recall --name ada invoice --room billing --since 2026-05-01 --json`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			return p.recall(cmd.Context(), f.name, strings.Join(list, " "), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` or hash of the identity (default: the default identity)")
	flags.StringVar(&f.since, "since", "", "only what was said after this `TIME`: 7d, 12h, 2026-05-01, 2026-05-01T12:00:00Z")
	flags.StringVar(&f.until, "until", "", "only what was said before this `TIME`")
	flags.StringVar(&f.room, "room", "", "only what was heard in this `ROOM`")
	flags.StringVar(&f.tool, "tool", "", "only passages with a call of this `TOOL`, such as BASH")
	flags.StringVar(&f.kind, "kind", "", "only passages with this `KIND` of entry: chat, reply, tool or note")
	flags.IntVar(&f.limit, "limit", 10, "at most `N` matches, up to 50")
	_ = cmd.RegisterFlagCompletionFunc("name", p.completeIdentities) // fails for a flag that is not there
	_ = cmd.RegisterFlagCompletionFunc("room", p.completeRooms)
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// kinds of entries that a search can be narrowed to.
var kinds = []string{"chat", "reply", "tool", "note"}

// query reads the flags.
func (f recallFlags) query(text string, now time.Time) (recall.Query, error) {
	q := recall.Query{Text: text, Limit: f.limit, Room: f.room, Tool: strings.ToUpper(f.tool), Kind: f.kind, Now: now}
	if strings.TrimSpace(text) == "" {
		return q, usagef("the query is empty; give words to look for")
	}
	if f.limit < 1 || f.limit > 50 {
		return q, usagef("--limit is %d; it is 1 to 50", f.limit)
	}
	if err := checkRooms(f.room); f.room != "" && err != nil {
		return q, err
	}
	if f.kind != "" && !slices.Contains(kinds, f.kind) {
		return q, usagef("--kind is %q; it is one of %s", f.kind, strings.Join(kinds, ", "))
	}
	var err error
	if q.Since, err = moment("--since", f.since, now); err != nil {
		return q, err
	}
	q.Until, err = moment("--until", f.until, now)
	return q, err
}

// moment reads a time: how long ago it was, a day, or a time of RFC 3339.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	last := len(text) - 1
	unit := map[byte]int64{'m': 60, 'h': 3600, 'd': 24 * 3600, 'w': 7 * 24 * 3600}[text[last]] // in seconds
	if n, err := strconv.ParseUint(text[:last], 10, 20); err == nil && unit > 0 {
		return time.Unix(now.Unix()-int64(n)*unit, 0), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, usagef("%s is %q; it is like 7d, 12h, 2026-05-01 or 2026-05-01T12:00:00Z", flag, text)
}

// match is a line of the answer as JSON.
type match struct {
	recall.Hit
	From string `json:"from"` // first and last entry
	To   string `json:"to"`
}

func (p *program) recall(ctx context.Context, who, text string, f recallFlags) error {
	q, err := f.query(text, time.Now())
	if err != nil {
		return err
	}
	id, err := p.find(who)
	if err != nil {
		return err
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	unread := map[blobs.Hash]bool{}
	q.Lost = func(h blobs.Hash, _ error) { unread[h] = true }
	var absent []string
	q.Absent = func(words []string) { absent = words }
	hits, err := p.search(ctx, id, store, q)
	lost := len(unread)
	if errors.Is(err, recall.ErrEmpty) {
		return hint(usagef("search %s: %w", id.Name, err), "give a name, a number or a word that must occur")
	}
	if err != nil {
		return err
	}
	if lost > 0 && len(hits) > 0 {
		p.note("warning", "%d more that may match cannot be read", lost)
	}
	if len(absent) > 0 && len(hits) > 0 {
		p.note("note", "in no original: %s", strings.Join(absent, ", "))
	}
	if p.json {
		out := []match{}
		for _, h := range hits {
			out = append(out, match{h, fmt.Sprintf("e%d", h.From), fmt.Sprintf("e%d", h.To)})
		}
		if err := p.printJSON(out); err != nil || len(hits) > 0 || lost == 0 {
			return err
		}
	}
	if len(hits) == 0 && lost > 0 {
		return fmt.Errorf("search %s: %w: %d that may match cannot be read", id.Name, agent.ErrCorrupt, lost)
	}
	if len(hits) == 0 {
		return hint(fmt.Errorf("search %s: %w", id.Name, errNoMatch), "recall searches only what has faded; what has not: %s", p.lethe("context %s", id.Name))
	}
	for _, h := range hits {
		var where []string
		for _, room := range h.Rooms {
			where = append(where, "room "+room)
		}
		for _, tool := range h.Tools {
			where = append(where, "tool "+tool)
		}
		fmt.Fprintf(p.out, "%s  %s  e%d..e%d  %s\n    %s\n", store.Short(h.Hash), h.At.Local().Format("2006-01-02 15:04"), h.From, h.To,
			chat.Sanitize(strings.Join(where, ", ")), chat.Sanitize(h.Gist))
		for line := range strings.Lines(h.Passage) {
			fmt.Fprintf(p.out, "    | %s\n", chat.Sanitize(strings.TrimRight(line, "\n")))
		}
	}
	return nil
}

// errNoMatch says that a search has found nothing.
var errNoMatch = errors.New("nothing that has faded matches")

// search brings the index of an identity up to date, as far as it can be, and
// searches it.
func (p *program) search(ctx context.Context, id agent.Identity, store *blobs.Store, q recall.Query) ([]recall.Hit, error) {
	index := recall.Open(id.RecallPath(), id.Self, p.logTo(p.err))
	defer index.Close()
	_, behind := index.Sync(ctx, store, id.LIFE())
	hits, err := index.Search(ctx, store, q)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil || behind == nil:
		return hits, err
	case len(hits) == 0 && !errors.Is(behind, recall.ErrBusy):
		return nil, id.Unread(behind)
	}
	p.note("note", "the index is not up to date, and what is not in it is not found: %v", behind)
	return hits, nil
}
