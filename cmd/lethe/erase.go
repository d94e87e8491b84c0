package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lethe/erase"
	"lethe/home"
	"lethe/journal"
	"lethe/report"
)

// erasing holds the request and the flags of lethe erase.
type erasing struct {
	erase.Request
	all bool
	yes int
}

func (p *program) eraseCommand() *cobra.Command {
	var e erasing
	cmd := &cobra.Command{
		Use:   "erase [NAME] [REF|TEXT|-]",
		Short: "Erase something from a life for good, wherever it stands",
		Long: `Erase lists every place where a life holds something, and changes nothing. With --yes it
erases all of them, for good: [erased...] or dots stand there then. An identity that runs is
stopped first.

With - the text is read from standard input, and at a terminal not shown: so a password is
in no shell history and no list of processes. REF erases one text, such as a tool's result,
with its gist and its summaries; --person what somebody has said.`,
		Example: `  lethe erase ada -                   # asks for the text; lists the places
  pass show bank | lethe erase ada - --yes
  lethe erase ada hash=3fa9c0d2e1b4a5f6 --yes
  lethe erase ada --person bob --derived`,
		RunE: func(cmd *cobra.Command, list []string) error {
			ids, err := p.home.List()
			if !e.all {
				if len(list) == 0 {
					return hint(usagef("%s needs the name of an identity, or --all", cmd.CommandPath()), "usage: %s", cmd.UseLine())
				}
				ids = make([]home.Identity, 1)
				ids[0], err = p.find(list[0])
				list = list[1:]
			}
			if err == nil && (len(list) > 1 || (len(list) == 1) == (e.Person != "")) {
				err = hint(usagef("say what is to be erased, once: - for a text, a REF, or --person"), "usage: %s", cmd.UseLine())
			}
			if err == nil && len(list) == 1 {
				err = p.toErase(&e, list[0])
			}
			for i, id := range ids {
				if err != nil {
					break
				}
				e.Ownerless = e.all && i == 0
				if err = p.erase(cmd.Context(), id, e); e.all && errors.Is(err, erase.ErrNowhere) {
					p.note("%v", err)
					err = nil
				}
			}
			return err
		},
	}
	flags := cmd.Flags()
	option(cmd, &e.Person, "person", "erase what `NAME` has said in the rooms of the life")
	option(cmd, &e.Derived, "derived", "with --person: and the summaries that were made of it")
	option(cmd, &e.Workspace, "workspace", "erase in the files of the tools, too")
	option(cmd, &e.all, "all", "erase from every life of the home")
	flags.CountVar(&e.yes, "yes", "erase; twice for more than 10,000 places")
	return cmd
}

// mostAtOnce bounds the places that one --yes erases.
const mostAtOnce = 10_000

// toErase reads what is to be erased: a text, or the ref of one. A terminal does not show a text that it is asked for.
func (p *program) toErase(e *erasing, arg string) error {
	if f, ok := p.in.(*os.File); arg == "-" && ok && isTerminal(p.in) {
		fmt.Fprint(p.err, "Text to erase (it is not shown): ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.err)
		e.Text = string(text)
		return err
	}
	if arg == "-" {
		text, err := io.ReadAll(io.LimitReader(p.in, 4*erase.MaxText+2))
		e.Text = string(text)
		return err
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	digits, err := p.hashIn(arg)
	isRef := strings.Contains(arg, "hash=")
	if err == nil && (isRef || len(digits) >= 12) {
		e.Ref, err = store.Resolve(digits)
	}
	if isRef || !e.Ref.IsZero() {
		return err
	}
	e.Text = arg
	p.note("this text is in the history of your shell now; give - and type it, and it is not")
	return nil
}

func (p *program) erase(ctx context.Context, id home.Identity, e erasing) error {
	store := p.look.Store
	f, err := erase.Find(p.home, store, id, e.Request)
	if err != nil {
		return err
	}
	if f.Count == 0 {
		err = p.showFinding(id, f, e, "nothing was changed: what is listed is left to you")
		if err == nil {
			err = fmt.Errorf("erase from %s: %w but in what is listed", id.Name, erase.ErrNowhere)
			err = hint(err, "what is listed is yours, the tools', another identity's, or no text")
		}
		return err
	}
	if e.yes == 0 {
		again := "--yes"
		if f.Count > mostAtOnce {
			again = "--yes --yes"
		}
		return p.showFinding(id, f, e, "nothing was changed. The same command with "+again+" erases it for good")
	}
	stopped, err := report.Stop(ctx, id)
	if err != nil {
		return err
	}
	held, err := journal.Hold(p.home, id, store, p.logTo(p.err)) // which ends what was begun before
	if err != nil {
		return err
	}
	f, err = erase.Find(p.home, store, id, e.Request)
	if err == nil && f.Count == 0 { // another command was quicker
		err = fmt.Errorf("erase from %s: %w any more", id.Name, erase.ErrNowhere)
	}
	if err == nil && f.Count > mostAtOnce && e.yes < 2 {
		err = fmt.Errorf("erase from %s: %d places; nothing was changed", id.Name, f.Count)
		err = hint(err, "give a longer text, or say --yes twice")
	}
	if err == nil {
		err = f.Plan.Save(id.Dir)
	}
	held.Close()
	if err != nil {
		return err
	}
	if held, err = journal.Hold(p.home, id, store, p.logTo(p.err)); err != nil {
		return hint(err, "it is decided, and goes on when %s is next opened", id.Name)
	}
	held.Close()
	next := "erased. The identity has a note that something was, not what"
	if stopped {
		next += fmt.Sprintf("; %s was stopped for this, and goes on with: %s", id.Name, p.howToRun(id, ""))
	}
	return p.showFinding(id, f, e, next)
}

// showFinding tells where it is, or was.
func (p *program) showFinding(id home.Identity, f *erase.Finding, e erasing, next string) error {
	if e.all { // the turn of the others comes, or has come
		others := func(p erase.Place) bool { return p.How == erase.Other || p.How == erase.Unowned }
		f.Places = slices.DeleteFunc(f.Places, others)
	}
	out := struct {
		Name string `json:"name"`
		*erase.Finding
		Next string `json:"next"`
	}{id.Name, f, next}
	return p.show(out, func() {
		fmt.Fprintf(p.out, "%s: %d places\n", id.Name, f.Count)
		table(p, "", f.Places, p.placeRow)
		fmt.Fprintf(p.out, "out of reach: backups and archives, other homes, the model's provider, other services, "+
			"and whoever has read it\n%s\n", next)
	})
}

func (p *program) placeRow(place erase.Place) []any {
	how := map[string]string{
		erase.Erased: " ", erase.Removed: " ",
		erase.Left: "stays: it is yours, or the tools'",
		erase.Kept: "stay", erase.Unread: "could not be read",
		erase.Other:   "has it, too: " + p.lethe("erase %s -", place.What),
		erase.Unowned: "of no identity: " + p.lethe("erase --all -"),
	}[place.How]
	return []any{fmt.Sprintf("  %d", place.Count), place.What, how}
}
