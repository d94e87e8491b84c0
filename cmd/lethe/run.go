package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"lethe/agent/home"
	"lethe/agent/host"
)

// runOptions are the flags of lethe run.
type runOptions struct {
	started bool
	with    []string
}

func newRunCommand(app *app) *cobra.Command {
	var options runOptions
	cmd := &cobra.Command{
		Use:   "run [NAME]...",
		Short: "Run identities as a daemon: these, the default one, or a new one",
		Long: `Run is the daemon. It resumes the identities that are given by name, hash or the
beginning of a hash. With --name, run resumes the identity of that name, or boots it.
Without either, run resumes the default identity, or boots it.

Run prints "ready <hash> <name>" once an identity hears its rooms. SIGINT or SIGTERM
stop it within two seconds. SIGHUP makes paused identities try again.

--with keeps a bridge running beside the daemon, as a process of its own.

One daemon of a home also runs the identities that people have started on the page; with
--started it runs no others, and ends when the last of them is stopped.`,
		Example: `  lethe run --name ada --soul ada.md --room dev --room ops
  lethe run ada 51c0
  lethe run --offline
  lethe run --with telegram --with serve`,
		RunE: app.makingHome(func(ctx context.Context, args []string) error {
			return runRun(ctx, app, options, args)
		}),
	}
	app.runs.addTo(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&options.started, "started", false, "run only what people have started on the page")
	flags.StringArrayVar(&options.with, "with", nil,
		"`BRIDGE` to keep running beside the daemon: telegram, serve; may be repeated")
	return cmd
}

// runRun runs identities, and bridges beside them, until it is told to stop.
func runRun(ctx context.Context, app *app, options runOptions, args []string) error {
	app.unhurried()
	ids, err := namedIdentities(app, args)
	if err != nil {
		return err
	}
	bridges, err := app.children(options.with)
	if err != nil {
		return err
	}
	hostOptions := app.hostOptions(app.logTo(app.err))
	hostOptions.Retry = map[string]chan os.Signal{}
	hostOptions.Ready = readyTeller(app)
	hostOptions.Standby = app.settings.Share.Standby && !options.started
	keepRunning := func(f func(context.Context) error) error {
		return app.beside(ctx, bridges, func(ctx context.Context) error { return host.Keep(ctx, app.home, hostOptions, f) })
	}
	if len(ids) == 0 && options.started {
		return keepRunning(func(context.Context) error { return nil })
	}
	here, err := host.New(app.home, app.settings.Settings, hostOptions)
	if err != nil {
		return err
	}
	isNamed := app.runs.name+app.runs.soul != "" || app.runs.fresh
	standsBy := hostOptions.Standby && !isNamed // for identities that other hosts leave
	if len(ids) == 0 && !standsBy {
		id, _, err := app.identity(here)
		if err != nil {
			return err
		}
		ids = []home.Identity{id}
	}
	for _, id := range ids { // which are not opened yet
		hangups := make(chan os.Signal, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
		hostOptions.Retry[id.Self] = hangups
	}
	return keepRunning(func(ctx context.Context) error { return here.Run(ctx, ids) })
}

// readyTeller returns a function that announces an identity the first time it hears its rooms. A child is not
// announced: its parent has asked for it.
func readyTeller(app *app) func(home.Identity) {
	var ready sync.Map
	return func(id home.Identity) {
		child, _ := id.Child()
		if _, again := ready.LoadOrStore(id.Self, true); !again && child == nil {
			app.event("ready", id)
		}
	}
}

// namedIdentities finds the identities of a command line, each once.
func namedIdentities(app *app, names []string) ([]home.Identity, error) {
	if len(names) > 0 && app.runs.name+app.runs.soul != "" {
		return nil, usagef("--name and --soul are for one identity; leave them out to run %s", names[0])
	}
	var ids []home.Identity
	for _, name := range names {
		id, err := app.find(name)
		if errors.Is(err, home.ErrNotFound) {
			if !home.ValidName(name) {
				name = "NAME"
			}
			boot := app.howToRun(home.Identity{}, " --name "+name)
			err = hint(err, "%s; boot a new one with: %s", app.hintOf(err), boot)
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
