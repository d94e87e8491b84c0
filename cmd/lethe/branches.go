package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/tree"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/status"
	"lethe/mind"
	"lethe/report"
)

const momentHelp = `

A MOMENT is now, an entry (e39: when it was complete), "epoch 4" (when it began), a label, or
a time: 2026-11-20T12:57:16Z, "2026-11-20 12:57", 2026-11-20, "2h ago".`

// then is an identity, and how it was at a moment.
func (p *program) then(who, moment string) (id agent.Identity, store *blobs.Store, then agent.Then, err error) {
	m, err := report.ParseMoment(moment, time.Now())
	if err == nil {
		id, err = p.find(who)
	}
	if err == nil {
		store, err = p.store()
	}
	if err == nil {
		then, err = agent.At(id, store, m)
	}
	return id, store, then, err
}

func (p *program) forkCommand() *cobra.Command {
	var at, name string
	var rooms []string
	cmd := &cobra.Command{
		Use:   "fork NAME",
		Short: "Boot a new identity with the mind that another one had at a moment",
		Long: `Fork boots a new identity that remembers what another one remembered at a moment: its context,
and all that had faded. It hears no room unless one is named, and owes nothing. The other one is
not touched and may run.` + momentHelp,
		Example: "  lethe fork ada --at e39 --name bea --room lab\n  lethe fork ada --at \"2h ago\"",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			id, store, then, err := p.then(list[0], at)
			if err == nil {
				err = checkRooms(rooms...)
			}
			if err == nil && name != "" {
				err = checkName(name)
			}
			for n := 2; name == "" && err == nil; n++ {
				next := fmt.Sprintf("%.28s-%d", id.Name, n)
				if _, err := os.Lstat(filepath.Join(p.home.Names(), next)); err != nil {
					name = next
				}
			}
			if err != nil {
				return err
			}
			fork, today, err := agent.Fork(p.home, store, id, then, agent.BootOptions{Name: name, Rooms: rooms})
			if errors.Is(err, agent.ErrExists) {
				return hint(err, "name it otherwise with --name")
			} else if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]any{"name": fork.Name, "self": fork.Self, "of": id.Self, "today": today})
			}
			if len(today) > 0 {
				p.note("note", "%s: as they are today; how they were at that moment is not known", strings.Join(today, ", "))
			}
			p.note("note", "run it with: %s", p.howToRun(fork, ""))
			_, err = fmt.Fprintf(p.out, "forked %s %s\n", fork.Self, fork.Name)
			return err
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	cmd.Flags().StringVar(&at, "at", "now", "the `MOMENT` of its life")
	_ = cmd.RegisterFlagCompletionFunc("at", p.completeMoments) // there is such a flag
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the new identity (default: NAME-2, or the next that is free)")
	cmd.Flags().StringArrayVar(&rooms, "room", nil, "a `ROOM` that it hears; may be given again")
	return cmd
}

func (p *program) branchCommand() *cobra.Command {
	to := ""
	cmd := &cobra.Command{
		Use:   "branch NAME [LABEL] [--to MOMENT]",
		Short: "Give the present moment of a life a label, or have it go back to another moment",
		Long: `Branch gives the present moment of a life a label. With --to the identity goes back: its context
is again what it was at that moment, and a note tells it what it did since. Nothing is lost:
another branch goes forward again.` + momentHelp,
		Example: "  lethe branch ada before-refactoring\n  lethe branch ada second-try --to before-refactoring",
		Args:    args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			label := first(list[1:])
			if label == "" && to == "" {
				return usagef("nothing to do: give a label, or with --to a moment to go back to")
			} else if label != "" && !report.ValidLabel(label) {
				return usagef("%q is not a label: a lower-case letter, then up to 31 of a-z, 0-9, - and _, and no other way to say a moment", label)
			}
			id, store, then, err := p.then(list[0], to)
			if label != "" && err == nil {
				err = p.askToBranch(cmd.Context(), id, store, label, 0)
			}
			if to != "" && err == nil {
				err = p.askToBranch(cmd.Context(), id, store, "", then.End)
			}
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(map[string]any{"label": label, "at": mind.EntryID(then.Next - 1)})
			}
			if label != "" {
				fmt.Fprintf(p.out, "%s: labelled %s\n", id.Name, label)
			}
			if to != "" {
				fmt.Fprintf(p.out, "%s: at e%d of %s\n", id.Name, then.Next-1, then.At.Local().Format("2006-01-02 15:04"))
			}
			return nil
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	cmd.Flags().StringVar(&to, "to", "", "go back to this `MOMENT`")
	_ = cmd.RegisterFlagCompletionFunc("to", p.completeMoments) // there is such a flag
	return cmd
}

// askToBranch asks, and waits until it is done.
func (p *program) askToBranch(ctx context.Context, id agent.Identity, store *blobs.Store, label string, to int64) error {
	err := agent.AskToBranch(id, label, to)
	for told := false; err == nil && agent.BranchPending(id); {
		s, running := report.Live(id)
		if !running {
			err = agent.ObeyBranch(id, agent.Config{Home: p.home, Store: store})
			if errors.As(err, new(*agent.RunningError)) { // it has just begun to run
				err = nil
			} else if err == nil && agent.BranchPending(id) {
				err = fmt.Errorf("branch %s: it ended in the middle of a call; it is done in its next run, when that turn is over", id.Name)
			}
		} else if s.State != status.Idle && !told {
			told = true
			p.note("note", "%s is in the middle of a turn; it is done after that", id.Name)
		}
		select {
		case <-ctx.Done():
			p.note("note", "the request is left with %s; it is done when no turn is under way", id.Name)
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}

func (p *program) treeCommand() *cobra.Command {
	return p.about(&cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show the epochs, labels, branches and forks of a life",
	}, func(_ context.Context, id agent.Identity) error {
		stretches, err := report.Home{Home: p.home}.Tree(id)
		if err != nil {
			return err
		}
		root := tree.Root(fmt.Sprintf("%s %.16s", id.Name, id.Self))
		nodes, line := []*tree.Tree{}, root
		for i, s := range stretches {
			words := fmt.Sprintf("%s  epoch %d %s  %s", chat.Sanitize(s.Words), s.Epoch, s.Why, s.At.Local().Format("2006-01-02 15:04"))
			if s.From > 0 {
				words = fmt.Sprintf("%s  e%d..e%d", words, s.From, s.To)
			}
			words = strings.TrimSpace(words)
			if s.Back > 0 {
				words = fmt.Sprintf("behind e%d: %s", s.Back, words)
				line = nodes[max(0, slices.IndexFunc(stretches[:i], func(o report.Stretch) bool { return o.From <= s.Back && s.Back <= o.To }))]
			}
			node := tree.Root(words)
			for _, mark := range s.Marks {
				node.Child(chat.Sanitize(mark))
			}
			nodes = append(nodes, node)
			line.Child(node)
		}
		return p.print(stretches, "%s\n", root)
	})
}

func (p *program) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "diff NAME MOMENT MOMENT",
		Short:   "Show how the context of an identity changed between two moments",
		Long:    "Diff compares two contexts, as lethe context prints them. OTHER:MOMENT is one of another identity." + momentHelp,
		Example: "  lethe diff ada e39 now\n  lethe diff ada e39 bea:now",
		Args:    args(cobra.ExactArgs(3)),
		RunE: func(cmd *cobra.Command, list []string) error {
			var views [2][]byte
			for i, moment := range list[1:] {
				who := list[0]
				if other, rest, ok := strings.Cut(moment, ":"); ok && agent.ValidName(other) {
					who, moment = other, rest
				}
				_, _, then, err := p.then(who, moment)
				if err != nil {
					return err
				}
				_, views[i], _ = bytes.Cut(then.View(), []byte("\n"))
			}
			text := chat.Sanitize(string(diff.Diff(list[1], views[0], list[2], views[1])))
			if p.json {
				return p.printJSON(map[string]string{"a": list[1], "b": list[2], "diff": text})
			}
			styles := map[byte]lipgloss.Style{}
			if isTerminal(p.out) && os.Getenv("NO_COLOR") == "" {
				styles['+'], styles['-'] = lipgloss.NewStyle().Foreground(lipgloss.Green), lipgloss.NewStyle().Foreground(lipgloss.Red)
			}
			for line := range strings.Lines(text) {
				if style, ok := styles[line[0]]; ok {
					line = style.Render(strings.TrimSuffix(line, "\n")) + "\n"
				}
				if _, err := fmt.Fprint(p.out, line); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, list []string, s string) ([]string, cobra.ShellCompDirective) {
			if len(list) == 0 {
				return p.completeIdentities(cmd, list, s)
			}
			return p.completeMoments(cmd, list, s)
		},
	}
}
