package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/config"
	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/chat"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
	"lethe/internal/durable"
	"lethe/internal/screen"
	"lethe/life"
)

// lifeOptions are the flags of lethe life.
type lifeOptions struct {
	after  string
	follow bool
	raw    bool
	types  []string
}

func newLifeCommand(app *cli.App) *cobra.Command {
	var options lifeOptions
	cmd := &cobra.Command{
		Use:        "life [NAME]",
		SuggestFor: []string{"logs", "log", "history"},
		Short:      "Tell what an identity has done, or print its log",
		Long: `Life tells what has happened to an identity, in words, on a terminal as in a pipe. With --raw
it prints the lines of LIFE.md as they are stored.

With --json it prints events, one JSON object a line; --after goes on behind the
event with that id, so a program that keeps the newest id misses nothing.`,
		Example: `  lethe life ada
  lethe life ada -f --json --after 16766
  lethe life ada --type forgot --type reminded`,
		Args: cli.MaximumArgs(1),
		RunE: app.ReadingIdentity(
			func([]string) bool { return !options.follow },
			func(ctx context.Context, id home.Identity, _ []string) error { return runLife(ctx, app, id, options) },
		),
	}
	flags := cmd.Flags()
	flags.StringVar(&options.after, "after", "", "`ID` of the event to go on behind")
	flags.BoolVarP(&options.follow, "follow", "f", false, "go on as it happens")
	flags.BoolVar(&options.raw, "raw", false, "print the lines of LIFE.md")
	flags.StringArrayVar(&options.types, "type", nil, "`TYPE` of events to tell; may be repeated")
	return cmd
}

// runLife tells events, or prints the log.
func runLife(ctx context.Context, app *cli.App, id home.Identity, options lifeOptions) error {
	if err := checkTypes(options.types); err != nil {
		return err
	}
	if options.raw {
		ofEvents := app.JSON || options.follow
		narrowed := options.after != "" || len(options.types) > 0
		if ofEvents || narrowed {
			return exit.Usagef("--raw prints all lines of the log as they are; leave out --after, --type, --follow and --json")
		}
		return printLog(app, id)
	}
	log := events.Log{Path: id.LIFE(), Name: id.Name}
	stream, err := events.Open(app.Look.Store, log, options.after)
	if errors.Is(err, events.ErrGone) {
		err = fmt.Errorf("find event %s: %w", options.after, err)
	}
	if err != nil {
		return id.Unread(err)
	}
	defer stream.Close()
	tellEvent := eventTeller(app)
	tell := func(event events.Event) error {
		if len(options.types) > 0 && !slices.Contains(options.types, event.Type) {
			return nil
		}
		return tellEvent(event)
	}
	if options.follow {
		watcher := chat.NewWatcher(500*time.Millisecond, nil)
		return cli.BesideWatcher(ctx, watcher, func(ctx context.Context) error { return stream.Follow(ctx, watcher, tell) })
	}
	for event, err := range stream.All() {
		if err != nil {
			return err
		}
		if err := tell(event); err != nil {
			return err
		}
	}
	return nil
}

// checkTypes refuses types of no event.
func checkTypes(types []string) error {
	for _, name := range types {
		if !slices.Contains(events.Types, name) {
			near := cmp.Or(config.Nearest(name, events.Types), strings.Join(events.Types, ", "))
			return exit.Hint(exit.Usagef("--type is %q, which no event has", name), "did you mean: %s", near)
		}
	}
	return nil
}

// eventTeller prints events: each with its time in words, or as an object.
func eventTeller(app *cli.App) func(events.Event) error {
	if app.JSON {
		return func(event events.Event) error { return console.PrintLine(app.Out, event) }
	}
	day := ""
	return func(event events.Event) error {
		if event.ID == "" { // it is under way, and comes whole when it is done
			return nil
		}
		at := event.At.In(app.Settings.Zone())
		text := ""
		if today := at.Format("Monday 2 January 2006"); today != day {
			day = today
			text = day + "\n"
		}
		begin := at.Format(time.TimeOnly)
		for line := range strings.Lines(screen.Sanitize(event.Words())) {
			text += fmt.Sprintf("%8s  %s\n", begin, strings.TrimRight(line, "\n"))
			begin = ""
		}
		_, err := io.WriteString(app.Out, text)
		return err
	}
}

// printLog prints the lines of a log as they stand. The end of a line that is being written is left out.
func printLog(app *cli.App, id home.Identity) error {
	file, _, err := durable.OpenRegular(id.LIFE(), os.O_RDONLY, 0)
	if err != nil {
		return id.Unread(err)
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	for {
		line, err := life.ReadLine(reader)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: read %s: %w", home.ErrCorrupt, file.Name(), err)
		}
		if _, err := io.WriteString(app.Out, screen.Sanitize(line)); err != nil {
			return err
		}
	}
}
