package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/home"
	"lethe/agent/journal"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/erase"
	"lethe/cmd/lethe/exit"
)

// mostAtOnce bounds the places that one --yes erases.
const mostAtOnce = 10_000

// eraseOptions are the flags of lethe erase.
type eraseOptions struct {
	all       bool
	derived   bool
	person    string
	workspace bool
	many      bool
	yes       bool
}

func newEraseCommand(app *cli.App) *cobra.Command {
	var options eraseOptions
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
		Args: cli.MaximumArgs(2),
		RunE: app.WithHome(func(ctx context.Context, args []string) error {
			return runErase(ctx, app, options, args)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.all, "all", false, "erase from every life of the home")
	flags.BoolVar(&options.derived, "derived", false, "with --person: and the summaries that were made of it")
	flags.StringVar(&options.person, "person", "", "erase what `NAME` has said in the rooms of the life")
	flags.BoolVar(&options.workspace, "workspace", false, "erase in the files of the tools, too")
	flags.BoolVar(&options.many, "many", false, "with --yes: more than 10,000 places, too")
	flags.BoolVar(&options.yes, "yes", false, "erase")
	return cmd
}

// runErase erases from the life of an identity, or of all.
func runErase(ctx context.Context, app *cli.App, options eraseOptions, args []string) error {
	ids, err := app.Home.List()
	if !options.all {
		if len(args) == 0 {
			return exit.Usagef("lethe erase needs the name of an identity, or --all")
		}
		var id home.Identity
		id, err = app.Find(args[0])
		ids, args = []home.Identity{id}, args[1:]
	}
	if err != nil {
		return err
	}
	request := erase.Request{Person: options.person, Derived: options.derived, Workspace: options.workspace}
	if err := readErasure(app, &request, args); err != nil {
		return err
	}
	for i, id := range ids {
		request.Ownerless = options.all && i == 0
		err := eraseFrom(ctx, app, id, request, options)
		if options.all && errors.Is(err, erase.ErrNowhere) {
			app.Note("%v", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readErasure fills request from the arguments: a text, the ref of one, or - for standard input, which a terminal does
// not show.
func readErasure(app *cli.App, request *erase.Request, args []string) (err error) {
	wanted := 1
	if request.Person != "" {
		wanted = 0
	}
	if len(args) != wanted {
		return exit.Usagef("say what is to be erased, once: - for a text, a REF, or --person")
	}
	if wanted == 0 {
		return nil
	}
	if args[0] != "-" {
		return readErasureArgument(app, request, args[0])
	}
	if console.IsTerminal(app.In) {
		request.Text, err = app.ReadTyped(app.Err, "Text to erase (it is not shown): ", true)
		return err
	}
	text, err := io.ReadAll(io.LimitReader(app.In, 4*erase.MaxText+2))
	request.Text = string(text)
	return err
}

// readErasureArgument takes an argument for a ref, if a text is stored under it, and else for the text itself.
func readErasureArgument(app *cli.App, request *erase.Request, text string) error {
	store, err := app.Store()
	if err != nil {
		return err
	}
	digits, err := parseHash(app, text)
	isRef := strings.Contains(text, "hash=")
	mayBeRef := isRef || len(digits) >= 12
	if err == nil && mayBeRef {
		request.Ref, err = store.Resolve(digits)
	}
	if isRef || !request.Ref.IsZero() {
		return err
	}
	request.Text = text
	app.Note("this text is in the history of your shell now; give - and type it, and it is not")
	return nil
}

// eraseFrom lists the places of a request in a life, and erases them if the flags confirm it.
func eraseFrom(ctx context.Context, app *cli.App, id home.Identity, request erase.Request, options eraseOptions) error {
	store := app.Look.Store
	found, err := erase.Find(app.Home, store, id, request)
	if err != nil {
		return err
	}
	if found.Count == 0 {
		err := showErasure(app, id, found, options, "nothing was changed: what is listed is left to you")
		if err != nil {
			return err
		}
		err = fmt.Errorf("erase from %s: %w but in what is listed", id.Name, erase.ErrNowhere)
		return exit.Hint(err, "what is listed is yours, the tools', another identity's, or no text")
	}
	tooMany := found.Count > mostAtOnce
	tooManyAtOnce := tooMany && !options.many
	if !options.yes || tooManyAtOnce {
		again := "--yes"
		if tooMany {
			again = "--yes --many"
		}
		return showErasure(app, id, found, options, "nothing was changed. The same command with "+again+" erases it for good")
	}
	stopped, err := makeReady(ctx, app, id)
	if err != nil {
		return err
	}
	found, err = planErasure(app, id, request)
	if err != nil {
		return err
	}
	if err := journal.FinishErasure(app.Home, id, app.LogTo(app.Err)); err != nil {
		return exit.Hint(err, "it is decided, and goes on when %s is next opened", id.Name)
	}
	next := "erased. The identity has a note that something was, not what"
	if stopped {
		next += fmt.Sprintf("; %s was stopped for this, and goes on with: %s", id.Name, app.HowToRun(id, ""))
	}
	return showErasure(app, id, found, options, next)
}

// makeReady stops the identity, and brings a shared home's store up to date.
func makeReady(ctx context.Context, app *cli.App, id home.Identity) (stopped bool, err error) {
	share := filepath.Join(app.Home.Dir, "share")
	if _, err := os.Stat(share); err == nil && app.Shared == nil {
		err := exit.Usagef("erase from %s: this home was shared, and the store has it, too", id.Name)
		return false, exit.Hint(err, "put [share] back into %s; or remove %s, where the store is gone",
			config.File(app.Home.Dir), share)
	}
	stopped, err = report.Stop(ctx, id)
	if err != nil {
		return stopped, err
	}
	if app.Shared != nil {
		err = app.Shared.Settle(ctx)
	}
	return stopped, err
}

// planErasure looks again, now that the life is held, and saves the plan, which is carried out from then on.
func planErasure(app *cli.App, id home.Identity, request erase.Request) (*erase.Finding, error) {
	held, err := journal.Hold(app.Home, id, app.Look.Store, app.LogTo(app.Err)) // it ends an erasure that was begun before
	if err != nil {
		return nil, err
	}
	defer held.Close()
	found, err := erase.Find(app.Home, app.Look.Store, id, request)
	if err != nil {
		return nil, err
	}
	if found.Count == 0 { // another command was quicker
		return nil, fmt.Errorf("erase from %s: %w any more", id.Name, erase.ErrNowhere)
	}
	return found, found.Plan.Save(id.Dir)
}

// showErasure lists the places, and tells the next step.
func showErasure(app *cli.App, id home.Identity, found *erase.Finding, options eraseOptions, next string) error {
	if options.all { // the turn of the others comes, or has come
		found.Places = slices.DeleteFunc(found.Places, func(place erase.Place) bool {
			return place.How == erase.Other || place.How == erase.Unowned
		})
	}
	value := struct {
		Name string `json:"name"`
		*erase.Finding
		Next string `json:"next"`
	}{id.Name, found, next}
	return app.Show(value, func(out io.Writer) {
		fmt.Fprintf(out, "%s: %d places\n", id.Name, found.Count)
		rows := console.NewTable()
		for _, place := range found.Places {
			cells := []any{fmt.Sprintf("  %d", place.Count), place.What}
			if fate := fateOf(app, place); fate != "" {
				cells = append(cells, fate)
			}
			rows.Row(cells...)
		}
		rows.Write(out)
		fmt.Fprintln(out, "out of reach: backups and archives, other homes, the model's provider, other services, "+
			"and whoever has read it")
		fmt.Fprintln(out, next)
	})
}

// fateOf tells why a place stays; "" if it is erased.
func fateOf(app *cli.App, place erase.Place) string {
	switch place.How {
	case erase.Left:
		return "stays: it is yours, or the tools'"
	case erase.Kept:
		return "stay"
	case erase.Unread:
		return "could not be read"
	case erase.Other:
		return "has it, too: " + app.Lethe("erase %s -", place.What)
	case erase.Unowned:
		return "of no identity: " + app.Lethe("erase --all -")
	}
	return ""
}
