// Package daemon is lethe run: identities that hear their rooms until a signal, and bridges beside them.
package daemon

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/exit"
)

// Options are the flags of lethe run.
type Options struct {
	Started bool     // only the identities that people have started on the page
	With    []string // bridges
}

// Run runs the identities of some names, or of the flags, and bridges beside them, until ctx ends.
func Run(ctx context.Context, app *cli.App, options Options, names []string) error {
	app.Unhurried()
	ids, err := find(app, names)
	if err != nil {
		return err
	}
	bridges, err := bridgeProcesses(app, options.With)
	if err != nil {
		return err
	}
	hostOptions := app.HostOptions(app.LogTo(app.Err))
	hostOptions.Retry = map[string]chan os.Signal{}
	hostOptions.Ready = readyTeller(app)
	hostOptions.Standby = app.Settings.Share.Standby && !options.Started
	keepRunning := func(f func(context.Context) error) error {
		return besideBridges(ctx, app, bridges, func(ctx context.Context) error {
			return host.Keep(ctx, app.Home, hostOptions, f)
		})
	}
	if len(ids) == 0 && options.Started {
		if app.Runs.Preset+app.Runs.BaseURL+app.Runs.Model != "" {
			return exit.Usagef("--started runs each with the model of config.toml: name it there")
		}
		return keepRunning(func(context.Context) error { return nil })
	}
	here, err := host.New(app.Home, app.Settings.Settings, hostOptions)
	if err != nil {
		return err
	}
	isNamed := app.Runs.Name+app.Runs.Soul != "" || app.Runs.New
	standsBy := hostOptions.Standby && !isNamed // for identities that other hosts leave
	if len(ids) == 0 && !standsBy {
		id, _, err := app.Identity(here)
		if err != nil {
			return err
		}
		ids = []home.Identity{id}
	}
	for _, id := range ids { // they are not opened yet
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		hostOptions.Retry[id.Self] = hangups
	}
	return keepRunning(func(ctx context.Context) error { return here.Run(ctx, ids) })
}

// readyTeller returns a function that announces an identity the first time it hears its rooms. A child is not
// announced: its parent has asked for it.
func readyTeller(app *cli.App) func(home.Identity) {
	var ready sync.Map
	return func(id home.Identity) {
		child, _ := id.Child()
		if _, again := ready.LoadOrStore(id.Self, true); !again && child == nil {
			app.Event("ready", id)
		}
	}
}

// find finds the identities of a command line, each once.
func find(app *cli.App, names []string) ([]home.Identity, error) {
	if len(names) > 0 && app.Runs.Name+app.Runs.Soul != "" {
		return nil, exit.Usagef("--name and --soul are for one identity; leave them out to run %s", names[0])
	}
	var ids []home.Identity
	for _, name := range names {
		id, err := app.Find(name)
		if errors.Is(err, home.ErrNotFound) {
			if !home.ValidName(name) {
				name = "NAME"
			}
			boot := app.HowToRun(home.Identity{}, " --name "+name)
			err = exit.Hint(err, "%s; boot a new one with: %s", app.HintOf(err), boot)
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
