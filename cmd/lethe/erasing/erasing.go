// Package erasing is lethe erase: it lists the places that package erase finds, and erases them once that is confirmed.
package erasing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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

// Options are the flags of lethe erase.
type Options struct {
	All       bool // from every life of the home
	Derived   bool // with Person: and the summaries
	Person    string
	Workspace bool
	Many      bool // more than mostAtOnce places, too
	Yes       bool // else the places are listed, and nothing is changed
}

// Run erases from the life of the identity that the first argument names, or from all. The other argument is a text, a
// ref, or - for standard input.
func Run(ctx context.Context, app *cli.App, options Options, args []string) error {
	ids, err := app.Home.List()
	if !options.All {
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
	request := erase.Request{Person: options.Person, Derived: options.Derived, Workspace: options.Workspace}
	if err := readRequest(app, &request, args); err != nil {
		return err
	}
	for i, id := range ids {
		request.Ownerless = options.All && i == 0
		err := eraseFrom(ctx, app, id, request, options)
		if options.All && errors.Is(err, erase.ErrNowhere) {
			app.Note("%v", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readRequest fills request from the arguments: a text, the ref of one, or - for standard input, which a terminal does
// not show.
func readRequest(app *cli.App, request *erase.Request, args []string) (err error) {
	wanted := 1
	if request.Person != "" {
		wanted = 0
	}
	if len(args) != wanted {
		return exit.Usagef("say what is to be erased, once: - for a text, a REF, or --person")
	}
	switch {
	case wanted == 0:
		return nil
	case args[0] != "-":
		return readArgument(app, request, args[0])
	case console.IsTerminal(app.In):
		request.Text, err = app.ReadTyped(app.Err, "Text to erase (it is not shown): ", true)
		return err
	}
	text, err := io.ReadAll(io.LimitReader(app.In, 4*erase.MaxText+2))
	request.Text = string(text)
	return err
}

// readArgument takes an argument for a ref, if a text is stored under it, and else for the text itself.
func readArgument(app *cli.App, request *erase.Request, text string) error {
	store, err := app.Store()
	if err != nil {
		return err
	}
	digits, err := app.ParseHash(text)
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
func eraseFrom(
	ctx context.Context, app *cli.App, id home.Identity, request erase.Request, options Options,
) error {
	if err := app.IsElsewhere(ctx, id); home.IsElsewhere(err) && !options.All {
		return err // a copy may lack what the life has
	}
	found, err := erase.Find(app.Home, app.Look.Store, id, request)
	if err != nil {
		return err
	}
	if found.Count == 0 {
		err := show(ctx, app, id, found, options, "nothing was changed: what is listed is left to you")
		if err != nil {
			return err
		}
		err = fmt.Errorf("erase from %s: %w but in what is listed", id.Name, erase.ErrNowhere)
		return exit.Hint(err, "what is listed is yours, the tools', another identity's, or no text")
	}
	tooMany := found.Count > mostAtOnce
	tooManyAtOnce := tooMany && !options.Many
	if !options.Yes || tooManyAtOnce {
		again := "--yes"
		if tooMany {
			again = "--yes --many"
		}
		return show(ctx, app, id, found, options, "nothing was changed. The same command with "+again+" erases it for good")
	}
	hold := id.Hold() // it goes on when this is released, also by a kill
	defer hold.Close()
	if err := hold.Lock(); err != nil {
		return err
	}
	stopped, err := makeReady(ctx, app, id)
	if err != nil {
		return err
	}
	found, err = decide(app, id, request)
	if err != nil {
		return err
	}
	if err := journal.FinishErasure(app.Home, id, app.LogTo(app.Err)); err != nil {
		return exit.Hint(err, "it is decided, and goes on when %s is next opened", id.Name)
	}
	next := "erased. The identity has a note that something was, not what"
	if _, isKept := id.Started(); stopped && !isKept {
		next += fmt.Sprintf("; %s was stopped for this, and goes on with: %s", id.Name, app.HowToRun(id, ""))
	}
	return show(ctx, app, id, found, options, next)
}

// makeReady stops the identity, and brings a shared home's store up to date.
func makeReady(ctx context.Context, app *cli.App, id home.Identity) (stopped bool, err error) {
	share := filepath.Join(app.Home.Dir, "share")
	if _, err := os.Stat(share); err == nil && app.Shared == nil {
		err := exit.Usagef("erase from %s: this home was shared, and the store has it, too", id.Name)
		return false, exit.Hint(err, "put [share] back into %s; or remove %s, where the store is gone",
			config.File(app.Home.Dir), share)
	}
	stopped, err = report.Halt(ctx, id)
	if err != nil {
		return stopped, err
	}
	if app.Shared != nil {
		err = app.Shared.Settle(ctx)
	}
	return stopped, err
}

// decide looks again, now that the life is held, and saves the plan. From then on every command carries it out.
func decide(app *cli.App, id home.Identity, request erase.Request) (*erase.Finding, error) {
	log := app.LogTo(app.Err)
	held, err := journal.Hold(app.Home, id, app.Look.Store, log) // ends an erasure that was begun before
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
	return found, held.Decide(found.Plan)
}

// show lists the places and the hosts that are away, and tells the next step.
func show(
	ctx context.Context, app *cli.App, id home.Identity, found *erase.Finding, options Options, next string,
) error {
	if options.All { // other identities get a list of their own
		all := found.Places
		found.Places = all[:0]
		for _, place := range all {
			if place.How != erase.Other && place.How != erase.Unowned {
				found.Places = append(found.Places, place)
			}
		}
	}
	value := struct {
		Name string `json:"name"`
		*erase.Finding
		Away []string `json:"away,omitempty"` // hosts
		Next string   `json:"next"`
	}{id.Name, found, away(ctx, app), next}
	return app.Show(value, func(out io.Writer) {
		fmt.Fprintf(out, "%s: %d places\n", id.Name, found.Count)
		rows := console.NewTable()
		for _, place := range found.Places {
			cells := []any{fmt.Sprintf("  %d", place.Count), place.What}
			if fate := fateOf(app, place, options); fate != "" {
				cells = append(cells, fate)
			}
			rows.Row(cells...)
		}
		rows.Write(out)
		fmt.Fprintln(out, "out of reach: backups and archives, other homes, the model's provider, other services, "+
			"and whoever has read it")
		if len(value.Away) > 0 {
			fmt.Fprintln(out, "away, so the text may stay on its disk until it is back:", strings.Join(value.Away, ", "))
		}
		fmt.Fprintln(out, next)
	})
}

// away returns the hosts that share the home and are not there, each with the time since it was.
func away(ctx context.Context, app *cli.App) (list []string) {
	if app.Shared == nil {
		return nil
	}
	all, err := app.Shared.Hosts(ctx)
	if err != nil {
		app.Note("which hosts are away is not known: %v", err)
	}
	for _, host := range all {
		if host.Away && !host.Here {
			list = append(list, fmt.Sprintf("%s (%s)", cmp.Or(host.Label, host.ID), console.Ago(host.At)))
		}
	}
	return list
}

// fateOf tells why a place stays; "" if it is erased.
func fateOf(app *cli.App, place erase.Place, options Options) string {
	again := "erase %s -"
	if options.Workspace {
		again += " --workspace"
	}
	switch place.How {
	case erase.Left:
		return "stays: it is yours, or the tools'"
	case erase.Kept:
		return "stay"
	case erase.Unread:
		return "could not be read"
	case erase.Other:
		return "has it, too: " + app.Lethe(again, place.What)
	case erase.Unowned:
		return "of no identity: " + app.Lethe(again, "--all")
	}
	return ""
}
