package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lethe/agent"
	"lethe/blobs"
	"lethe/erase"
)

// erasing is what a person wants of lethe erase.
type erasing struct {
	erase.Request
	all bool
	yes int
}

func (p *program) eraseCommand() *cobra.Command {
	var e erasing
	cmd := &cobra.Command{
		Use:   "erase NAME (REF | TEXT | -)",
		Short: "Erase something from a life for good, wherever it stands",
		Long: `Erase lists every place where a life holds something, and changes nothing. With --yes it
erases all of them, for good: the bytes are overwritten, and [erased...] or dots stand there.
An identity that runs is stopped first.

With - the text is read from standard input, and at a terminal not shown: so a
password is in no shell history and no list of processes. REF erases one text, such as a tool's result, with its
gist and its summaries; --person what somebody has said.`,
		Example: `  lethe erase ada -                   # asks for the text; lists the places
  pass show bank | lethe erase ada - --yes
  lethe erase ada hash=3fa9c0d2e1b4a5f6 --yes
  lethe erase ada --person bob --derived`,
		Args: args(cobra.RangeArgs(0, 2)),
		RunE: func(cmd *cobra.Command, list []string) error {
			ids, err := p.home.List()
			if !e.all {
				if len(list) == 0 {
					return hint(usagef("%s needs the name of an identity, or --all", cmd.CommandPath()), "usage: %s", cmd.UseLine())
				}
				var id agent.Identity
				id, err = p.find(list[0])
				ids, list = []agent.Identity{id}, list[1:]
			}
			if err != nil {
				return err
			}
			if len(list) > 1 || (len(list) == 1) == (e.Person != "") {
				return hint(usagef("say what is to be erased, once: - for a text, a REF, or --person"), "usage: %s", cmd.UseLine())
			}
			if len(list) == 1 {
				if err := p.toErase(&e, list[0]); err != nil {
					return err
				}
			}
			for _, id := range ids {
				if err := p.erase(cmd.Context(), id, e); err != nil {
					return err
				}
			}
			return nil
		},
		ValidArgsFunction: firstOnly(p.completeIdentities),
	}
	flags := cmd.Flags()
	flags.StringVar(&e.Person, "person", "", "erase what `NAME` has said in the rooms of the life")
	flags.BoolVar(&e.Derived, "derived", false, "with --person: and the summaries that were made of it")
	flags.BoolVar(&e.Workspace, "workspace", false, "erase in the files of the tools, too")
	flags.BoolVar(&e.all, "all", false, "erase from every life of the home")
	flags.StringVar(&e.Why, "why", "", "`WORDS` for yourself, shown again when it is done")
	flags.CountVar(&e.yes, "yes", "erase; twice for more than 10,000 places")
	return cmd
}

// toErase reads what is to be erased: a text, or the ref of one.
func (p *program) toErase(e *erasing, arg string) error {
	if arg == "-" {
		text, err := p.secretText()
		e.Text = strings.TrimSpace(text)
		return err
	}
	store, err := p.store()
	if err != nil {
		return err
	}
	digits, err := p.hashIn(arg)
	isRef := strings.Contains(arg, "hash=")
	if err == nil && (isRef || len(digits) >= 12) {
		if e.Ref, err = store.Resolve(digits); err == nil {
			return nil
		}
	}
	if isRef {
		return err
	}
	e.Text = arg
	p.note("note", "this text is in the history of your shell now; give - and type it, and it is not")
	return nil
}

// secretText reads a text from standard input, which a terminal does not show.
func (p *program) secretText() (string, error) {
	if f, ok := p.in.(*os.File); ok && isTerminal(p.in) {
		fmt.Fprint(p.err, "Text to erase (it is not shown): ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.err)
		return string(text), err
	}
	text, err := io.ReadAll(io.LimitReader(p.in, 4*erase.MaxText+2))
	return string(text), err
}

const manyPlaces = 10_000

func (p *program) erase(ctx context.Context, id agent.Identity, e erasing) error {
	store, err := p.store()
	if err != nil {
		return err
	}
	if e.yes == 0 {
		f, err := erase.Find(p.home, store, id, e.Request)
		if err == nil {
			err = p.showFinding(id, f, e, "")
		}
		return err
	}
	stopped, err := p.stopped(ctx, id)
	if err != nil {
		return err
	}
	f, err := p.eraseNow(store, id, e)
	if err != nil {
		return err
	}
	next := "the identity has a note that something was erased, not what"
	if stopped {
		next += fmt.Sprintf("; %s was stopped for this, and goes on with: %s", id.Name, p.howToRun(id, ""))
	}
	return p.showFinding(id, f, e, next)
}

// eraseNow erases from an identity that does not run.
func (p *program) eraseNow(store *blobs.Store, id agent.Identity, e erasing) (*erase.Finding, error) {
	cfg := agent.Config{Home: p.home, Store: store, Log: p.logTo(p.err)}
	held, err := agent.Hold(id, cfg) // which ends what was begun before
	if err != nil {
		return nil, err
	}
	f, err := erase.Find(p.home, store, id, e.Request)
	switch {
	case err == nil && f.Count > manyPlaces && e.yes < 2:
		err = hint(fmt.Errorf("erase from %s: %d places; nothing was changed", id.Name, f.Count), "give a longer text, or say --yes twice")
	case err == nil && !f.Plan.Empty():
		err = f.Plan.Save(id.Dir)
	}
	held.Close()
	if err != nil || f.Plan.Empty() {
		return f, err
	}
	if held, err = agent.Hold(id, cfg); err != nil {
		return nil, hint(err, "it is decided and goes on when %s is next opened", id.Name)
	}
	return f, held.Close()
}

// showFinding tells where it is, or was.
func (p *program) showFinding(id agent.Identity, f *erase.Finding, e erasing, next string) error {
	if p.json {
		return p.printJSON(struct {
			Name   string `json:"name"`
			Erased bool   `json:"erased"`
			*erase.Finding
		}{id.Name, e.yes > 0, f})
	}
	if f.Plan.Empty() && len(f.Others)+len(f.Left)+f.Kept == 0 {
		return fmt.Errorf("erase from %s: %w", id.Name, erase.ErrNowhere)
	}
	fmt.Fprintf(p.out, "%s: %d places\n", id.Name, f.Count)
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, place := range f.Places {
		fmt.Fprintf(t, "  %d\t  %s\n", place.Count, place.What)
	}
	t.Flush()
	for _, path := range f.Removed {
		fmt.Fprintf(p.out, "  removed, and made anew: %s\n", path)
	}
	for _, place := range f.Left {
		fmt.Fprintf(p.out, "  stays, as it is yours or the tools': %s (%d)\n", place.What, place.Count)
	}
	if f.Kept > 0 {
		fmt.Fprintf(p.out, "  stays %d times, where it is a name, an address or a number and no text\n", f.Kept)
	}
	for _, path := range f.Unread {
		fmt.Fprintf(p.out, "  could not be read: %s\n", path)
	}
	for _, o := range f.Others {
		fmt.Fprintf(p.out, "  another life has it, too (%d): %s\n", o.Count, p.lethe("erase %s -", o.What))
	}
	fmt.Fprintln(p.out, "out of reach: backups and archives, other homes, the model's provider, other services, and whoever has read it")
	if next != "" {
		fmt.Fprintf(p.out, "erased. %s\n", next)
	} else if !f.Plan.Empty() {
		fmt.Fprintf(p.out, "nothing was changed. To erase it for good, say it again with --yes\n")
	}
	return nil
}
