package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/tree"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"lethe/chat"
	"lethe/home"
	"lethe/mind"
	"lethe/report"
)

const momentHelp = `

A MOMENT is now, an entry (e39: when it was complete), "epoch 4" (when it began), a label, or
a time: 2026-11-20T12:57:16Z, "2026-11-20 12:57", 2026-11-20, "2h ago".`

// then is an identity, and how it was at a moment.
func (p *program) then(who, moment string) (id home.Identity, then home.Then, err error) {
	m, err := report.ParseMoment(moment, time.Now())
	if err != nil {
		return id, then, err
	}
	if id, err = p.find(who); err == nil {
		then, err = home.At(id, p.look.Store, m)
	}
	return id, then, err
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
		RunE: func(cmd *cobra.Command, list []string) error {
			id, then, err := p.then(list[0], at)
			if err != nil {
				return err
			}
			if err := checkRooms(rooms...); err != nil {
				return err
			}
			if name == "" {
				name = p.freeName(id)
			}
			if err := checkName(name); err != nil {
				return err
			}
			fork, today, err := home.Fork(p.home, p.look.Store, id, then, home.BootOptions{Name: name, Rooms: rooms})
			if errors.Is(err, home.ErrExists) {
				return hint(err, "name it otherwise with --name")
			}
			if err != nil {
				return err
			}
			made := map[string]any{"name": fork.Name, "self": fork.Self, "of": id.Self, "today": today}
			return p.show(made, func() {
				if len(today) > 0 {
					p.note("%s: as they are today; how they were at that moment is not known", strings.Join(today, ", "))
				}
				p.note("run it with: %s", p.howToRun(fork, ""))
				fmt.Fprintf(p.out, "forked %s %s\n", fork.Self, fork.Name)
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "now", "the `MOMENT` of its life")
	option(cmd, &name, "name", "`NAME` of the new identity (default: NAME-2, or the next that is free)")
	option(cmd, &rooms, "room", "a `ROOM` that it hears; may be given again")
	return cmd
}

// freeName is the first of ada-2, ada-3, … that no identity has.
func (p *program) freeName(id home.Identity) string {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%.28s-%d", id.Name, n)
		if _, err := os.Lstat(filepath.Join(p.home.Names(), name)); err != nil {
			return name
		}
	}
}

func (p *program) branchCommand() *cobra.Command {
	to := ""
	cmd := &cobra.Command{
		Use:   "branch NAME [LABEL]",
		Short: "Give the present moment of a life a label, or have it go back to another moment",
		Long: `Branch gives the present moment of a life a label. With --to the identity goes back: its context
is again what it was at that moment, and a note tells it what it did since. Nothing is lost:
another branch goes forward again.` + momentHelp,
		Example: "  lethe branch ada before-refactoring\n  lethe branch ada second-try --to before-refactoring",
		RunE: func(cmd *cobra.Command, list []string) error {
			label := first(list[1:])
			switch {
			case label == "" && to == "":
				return usagef("nothing to do: give a label, or with --to a moment to go back to")
			case label != "" && !report.ValidLabel(label):
				return usagef("%q is not a label: a lower-case letter, then up to 31 of a-z, 0-9, - and _, "+
					"and no other way to say a moment", label)
			}
			id, then, err := p.then(list[0], to)
			if label != "" && err == nil {
				err = p.branch(cmd.Context(), id, home.WishLabel+home.Wish(label))
			}
			if to != "" && err == nil {
				err = p.branch(cmd.Context(), id, home.WishBack+home.Wish(strconv.FormatInt(then.End, 10)))
			}
			if err != nil {
				return err
			}
			return p.show(map[string]any{"label": label, "at": mind.EntryID(then.Next - 1)}, func() {
				if label != "" {
					fmt.Fprintf(p.out, "%s: labelled %s\n", id.Name, label)
				}
				if to != "" {
					fmt.Fprintf(p.out, "%s: at e%d of %s\n", id.Name, then.Next-1, clock(then.At))
				}
			})
		},
	}
	option(cmd, &to, "to", "go back to this `MOMENT`")
	return cmd
}

// branch leaves a wish for a label, or for another moment, and waits until it is obeyed.
func (p *program) branch(ctx context.Context, id home.Identity, wish home.Wish) error {
	err := p.look.Branch(ctx, id, wish, func() {
		p.note("%s is in the middle of a turn; it is done after that", id.Name)
	})
	if errors.Is(err, context.Canceled) {
		p.note("the request is left with %s; it is done when no turn is under way", id.Name)
	}
	return err
}

func (p *program) treeCommand() *cobra.Command {
	return p.about(&cobra.Command{
		Use:   "tree [NAME]",
		Short: "Show the epochs, labels, branches and forks of a life",
	}, func(_ context.Context, id home.Identity) error {
		stretches, err := p.look.Tree(id)
		if err != nil {
			return err
		}
		return p.print(stretches, "%s\n", drawTree(id, stretches))
	})
}

// drawTree draws a life: a branch hangs on the stretch that it goes on behind.
func drawTree(id home.Identity, stretches []report.Stretch) *tree.Tree {
	root := tree.Root(fmt.Sprintf("%s %.16s", id.Name, id.Self))
	nodes, line := []*tree.Tree{}, root
	for i, s := range stretches {
		words := fmt.Sprintf("%s  epoch %d %s  %s", chat.Sanitize(s.Words), s.Epoch, s.Why, clock(s.At))
		if s.From > 0 {
			words += fmt.Sprintf("  e%d..e%d", s.From, s.To)
		}
		words = strings.TrimSpace(words)
		if s.Back > 0 {
			words = fmt.Sprintf("behind e%d: %s", s.Back, words)
			from := slices.IndexFunc(stretches[:i], func(o report.Stretch) bool { return o.From <= s.Back && s.Back <= o.To })
			line = nodes[max(0, from)]
		}
		node := tree.Root(words)
		for _, mark := range s.Marks {
			node.Child(chat.Sanitize(mark))
		}
		nodes = append(nodes, node)
		line.Child(node)
	}
	return root
}

func (p *program) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "diff NAME MOMENT MOMENT",
		Short:   "Show how the context of an identity changed between two moments",
		Long:    "Diff compares two contexts, as lethe context prints them. OTHER:MOMENT is another identity's." + momentHelp,
		Example: "  lethe diff ada e39 now\n  lethe diff ada e39 bea:now",
		RunE: func(cmd *cobra.Command, list []string) error {
			var views [2][]byte
			for i, moment := range list[1:] {
				who := list[0]
				if other, rest, ok := strings.Cut(moment, ":"); ok && home.ValidName(other) {
					who, moment = other, rest
				}
				_, then, err := p.then(who, moment)
				if err != nil {
					return err
				}
				_, views[i], _ = bytes.Cut(then.View(), []byte("\n"))
			}
			text := chat.Sanitize(string(diff.Diff(list[1], views[0], list[2], views[1])))
			return p.show(map[string]string{"a": list[1], "b": list[2], "diff": text}, func() { p.printDiff(text) })
		},
	}
}

func (p *program) printDiff(text string) {
	styles := map[byte]lipgloss.Style{}
	if p.colour() {
		styles['+'] = lipgloss.NewStyle().Foreground(lipgloss.Green)
		styles['-'] = lipgloss.NewStyle().Foreground(lipgloss.Red)
	}
	for line := range strings.Lines(text) {
		if style, ok := styles[line[0]]; ok {
			line = style.Render(strings.TrimSuffix(line, "\n")) + "\n"
		}
		fmt.Fprint(p.out, line)
	}
}
