// Package guest serves a program of others, such as an editor or an agent, that started lethe to talk with identities
// over standard input and output.
package guest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// Guest is a program that talks with identities. They run here unless another process runs them.
type Guest struct {
	Log *slog.Logger
	app *cli.App

	mu   sync.Mutex
	host *host.Host // nil before the first talk
}

// Serve runs f, which talks with the guest. A person at a terminal gets the note.
func Serve(app *cli.App, note string, f func(*Guest) error) error {
	logs, err := app.LogFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	if console.IsTerminal(app.In) {
		app.Note("%s", note)
	}
	guest := &Guest{Log: app.LogTo(logs), app: app}
	err = f(guest)
	if guest.host != nil {
		err = errors.Join(err, guest.host.Close())
	}
	return err
}

// Talk returns an identity that runs. "" is the identity of the flags; Talk boots a missing one. The options of the
// first call hold for all.
func (g *Guest) Talk(ctx context.Context, who string, options host.Options) (*host.Identity, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	identity, err := g.resume(ctx, who, options)
	return identity, exit.Hint(err, "%s", g.app.HintOf(err))
}

func (g *Guest) resume(ctx context.Context, who string, options host.Options) (*host.Identity, error) {
	id, err := g.find(who)
	if err != nil {
		return nil, err
	}
	if err := g.open(options); err != nil {
		return nil, err
	}
	if who == "" {
		id, _, err = g.app.Identity(g.host)
		if err != nil {
			return nil, err
		}
	}
	identity := g.host.Of(id)
	return identity, identity.Resume(ctx)
}

// find returns the identity of a name; "" is the identity of the flags, and the zero one is to be booted.
func (g *Guest) find(who string) (home.Identity, error) {
	if who == "" {
		return g.app.Meant()
	}
	return g.app.FindForClient(who)
}

// open makes the host, if there is no host yet. Without a key, the offline model speaks only if no identity has used
// another one.
func (g *Guest) open(options host.Options) (err error) {
	if g.host != nil {
		return nil
	}
	all, _ := g.app.Home.List()
	options.Rehearse = !slices.ContainsFunc(all, g.app.LivedOnline)
	g.host, err = host.New(g.app.Home, g.app.Settings.Settings, options)
	if errors.Is(err, llm.ErrNoKey) && len(all) > 0 { // others may run with another key
		g.host, err = host.Look(g.app.Home, g.app.Settings.Settings, options)
	}
	return err
}

// MayWorkIn reports whether tools may work in the folder of the editor: the folder of all of a person's files is no
// project, and the tools must not reach the home.
func (g *Guest) MayWorkIn(folder string) bool {
	if g.app.Runs.Workspace != "" || g.app.Settings.Tools.Workspace != "" {
		return false
	}
	toHome, err := filepath.Rel(folder, g.app.Home.Dir)
	if err != nil {
		return false
	}
	holdsHome := !strings.HasPrefix(toHome, "..")
	persons, _ := os.UserHomeDir()
	return !holdsHome && filepath.Clean(folder) != persons
}
