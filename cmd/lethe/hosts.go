package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/share/hosts"
	"lethe/chat"
)

func newHostsCommand(app *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "hosts",
		Short:   "List the hosts that share the home, and which identities each has",
		Example: `  lethe hosts`,
		RunE: app.withHome(func(ctx context.Context, _ []string) error {
			return runHosts(ctx, app)
		}),
	}
	cmd.AddCommand(newHostsDrainCommand(app))
	return cmd
}

func runHosts(ctx context.Context, app *app) error {
	shared, err := app.others()
	if err != nil {
		return err
	}
	all, err := shared.Hosts(ctx)
	if err != nil {
		return err
	}
	return app.show(all, func(out io.Writer) {
		rows := newTable("HOST", "SAID THAT IT IS THERE", "IDENTITIES")
		for _, host := range all {
			var lives []string
			for _, life := range host.Lives {
				lives = append(lives, life.Name)
			}
			rows.row(hostName(host), ago(host.At), strings.Join(lives, ", "))
		}
		rows.write(out)
	})
}

func hostName(host hosts.Seen) string {
	name := cmp.Or(host.Label, "-")
	if host.Alike {
		name += " " + host.ID
	}
	if host.Here {
		name += " (this one)"
	}
	if host.Left {
		name += " (drained)"
	}
	return name
}

func newHostsDrainCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:     "drain HOST",
		Short:   "Ask a host to stop its identities and leave them to hosts that stand by",
		Long:    `Its daemon ends when they have stopped. docs/machines.md.`,
		Example: `  lethe hosts drain laptop`,
		RunE: app.withHome(func(ctx context.Context, args []string) error {
			return runHostsDrain(ctx, app, args)
		}),
	}
}

// runHostsDrain asks a host to leave its lives to others.
func runHostsDrain(ctx context.Context, app *app, args []string) error {
	shared, err := app.others()
	if err != nil {
		return err
	}
	if err := shared.Drain(ctx, args[0]); err != nil {
		return err
	}
	app.note("asked %s; lethe hosts tells where its lives go on", args[0])
	return nil
}

func newTakeCommand(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "take NAME",
		Short: "Have an identity go on at this host",
		Long: `The host that has it can do nothing with it any more, whether it is asleep, silent or busy;
a call that it had begun there is told as one of unknown effect. What works for it comes along.`,
		Example: `  lethe take ada`,
		RunE: app.withHome(func(ctx context.Context, args []string) error {
			return runTake(ctx, app, args)
		}),
	}
}

// runTake makes a life go on at this host.
func runTake(ctx context.Context, app *app, args []string) error {
	shared, err := app.others()
	if err != nil {
		return err
	}
	id, err := shared.Take(ctx, args[0])
	if err != nil {
		return err
	}
	app.event("took", id)
	app.note("it goes on here: %s", app.howToRun(id, ""))
	return nil
}

// others returns the hosts of the home, and fails where it is on one host alone.
func (app *app) others() (*hosts.Cluster, error) {
	if app.shared == nil {
		err := usagef("this home is on one host alone")
		return nil, hint(err, "[share] url in %s says where it is shared; docs/machines.md", config.File(app.home.Dir))
	}
	return app.shared, nil
}

// besideHosts runs f, and meanwhile shares the rooms with other hosts, if there are any and no daemon here does so. If
// attends is set, it tells others that this host is there, and ends when the host is drained.
func (app *app) besideHosts(ctx context.Context, attends bool, f func(context.Context) error) error {
	if app.shared == nil {
		return f(ctx)
	}
	watcher := chat.NewWatcher(0, app.logTo(app.err))
	changed, cancel := watcher.Subscribe(chat.Scope{Dir: app.home.Chats()})
	defer cancel()
	return besideWatcher(ctx, watcher, func(ctx context.Context) error {
		ctx, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { // ends with ctx
			err := app.shared.Follow(ctx, changed, attends)
			if errors.Is(err, hosts.ErrDrained) {
				app.note("%v", err)
				end()
				err = nil
			}
			done <- err
		}()
		err := f(ctx)
		end()
		return errors.Join(err, <-done)
	})
}

// refresh fetches new lines of other hosts, if there are any.
func (app *app) refresh(ctx context.Context) {
	if app.shared == nil {
		return
	}
	if err := app.shared.Refresh(ctx); err != nil {
		app.note("what is said here waits, and what other hosts have said is missing: %v", err)
	}
}
