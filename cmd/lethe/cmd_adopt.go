package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lethe/agent/adopt"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// adoptOptions are the flags of lethe adopt.
type adoptOptions struct {
	dryRun bool
}

func newAdoptCommand(app *cli.App) *cobra.Command {
	var options adoptOptions
	var names []string
	for _, agent := range adopt.Agents {
		names = append(names, agent.Name)
	}
	cmd := &cobra.Command{
		Use:   "adopt [SOURCE…]",
		Short: "Show what other agents keep of their talks, and how much of it Lethe reads",
		Long: `Adopt reads the histories that other agents keep on this machine, and shows what is
there: sessions, their span and size, and what it does not understand. It writes
nothing, and brings nothing into a life. With a SOURCE and --dry-run it shows more.

A SOURCE is the name of an agent, or NAME=PATH for a store elsewhere or an export:
` + strings.Join(names, ", ") + ".",
		Example: `  lethe adopt                                    what the agents on this machine keep
  lethe adopt codex --dry-run                    what was read, merged, doubled, not understood
  lethe adopt claude-code=/mnt/old/.claude --dry-run`,
		Args: cli.MinimumArgs(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAdopt(cmd.Context(), app, options, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.dryRun, "dry-run", false, "read the sources, and report")
	return cmd
}

// adoptFinding is a store that was read.
type adoptFinding struct {
	Agent string `json:"agent"`
	Store string `json:"store"`
	*adopt.Report
	title string
}

func runAdopt(ctx context.Context, app *cli.App, options adoptOptions, args []string) error {
	if len(args) > 0 && !options.dryRun {
		return exit.Usagef("lethe adopt only shows so far: with a SOURCE, say --dry-run")
	}
	findings := []adoptFinding{}
	if len(args) == 0 {
		for i := range adopt.Agents {
			found, err := lookAtAgent(ctx, app, &adopt.Agents[i])
			if err != nil {
				return err
			}
			findings = append(findings, found...)
		}
	}
	for _, source := range args {
		found, err := lookAtSource(ctx, app, source)
		if err != nil {
			return err
		}
		findings = append(findings, found...)
	}
	return app.Show(findings, func(out io.Writer) {
		if options.dryRun {
			writeAdoptReports(out, findings)
		} else {
			writeAdoptList(out, app, findings)
		}
	})
}

// lookAtSource reads the stores of an agent, or the one that NAME=PATH names.
func lookAtSource(ctx context.Context, app *cli.App, source string) ([]adoptFinding, error) {
	name, place, given := strings.Cut(source, "=")
	agent := adopt.Find(name)
	if agent == nil {
		return nil, exit.Hint(exit.Usagef("no such agent: %q", name), "lethe adopt --help lists them")
	}
	if !given {
		found, err := lookAtAgent(ctx, app, agent)
		if err == nil && len(found) == 0 {
			err = exit.With(exit.NotFound, fmt.Errorf("%s keeps nothing on this machine", agent.Title))
			err = exit.Hint(err, "%s", agent.HowToGet())
		}
		return found, err
	}
	if below, isHome := strings.CutPrefix(place, "~/"); isHome { // no shell expands it here
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		place = filepath.Join(home, below)
	}
	store, err := adopt.Open(place)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	found, err := lookAtStore(ctx, app, agent, store, adopt.Options{})
	return []adoptFinding{found}, err
}

// lookAtAgent reads all stores of an agent on this machine.
func lookAtAgent(ctx context.Context, app *cli.App, agent *adopt.Agent) (findings []adoptFinding, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	stores, err := agent.Stores(home, os.Getenv)
	if err != nil {
		app.Warn("%s: %s", agent.Title, cli.Plain(err))
	}
	temp, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return nil, err
	}
	defer temp.Close()
	var failed error
	for _, store := range stores {
		if failed == nil {
			var found adoptFinding
			found, failed = lookAtStore(ctx, app, agent, store, adopt.Options{Temp: temp.FS()})
			if failed != nil || found.Files > 0 {
				findings = append(findings, found)
			}
		}
		failed = errors.Join(failed, store.Close())
	}
	return findings, failed
}

func lookAtStore(
	ctx context.Context, app *cli.App, agent *adopt.Agent, store *adopt.Store, options adopt.Options,
) (adoptFinding, error) {
	bar := app.Progress()
	options.Progress = func(done, of int64) {
		if of > 0 {
			bar(done, of, "%s: %s of %s", agent.Title, console.Megabytes(done), console.Megabytes(of))
		}
	}
	report, err := adopt.Look(ctx, agent, store, options)
	return adoptFinding{agent.Name, store.Place, report, agent.Title}, err
}

func writeAdoptList(out io.Writer, app *cli.App, findings []adoptFinding) {
	if len(findings) == 0 {
		fmt.Fprintln(out, "no history of an agent that Lethe knows on this machine")
		return
	}
	rows := console.NewTable("AGENT", "SESSIONS", "ENTRIES", "FROM", "TO", "SIZE", "NOT UNDERSTOOD", "STORE")
	for _, f := range findings {
		notUnderstood := 0
		for _, unknown := range f.Unknown {
			notUnderstood += unknown.Count
		}
		rows.Row(f.Agent, f.Sessions, f.Entries, day(f.First), day(f.Last), console.Megabytes(f.Bytes),
			console.Nonzero(notUnderstood), f.Store)
	}
	rows.Write(out)
	fmt.Fprintf(out, "\nwhat was not understood, by kind: %s\n", app.Lethe("adopt SOURCE --dry-run"))
}

func day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format(time.DateOnly)
}

func writeAdoptReports(out io.Writer, findings []adoptFinding) {
	for _, f := range findings {
		fmt.Fprintf(out, "%s, %s: %d sessions", f.title, console.OneLine(f.Store), f.Sessions)
		if !f.First.IsZero() {
			fmt.Fprintf(out, " from %s to %s", day(f.First), day(f.Last))
		}
		fmt.Fprintf(out, "\n  read            %d records, %s in %d files\n", f.Records, console.Megabytes(f.Bytes), f.Files)
		fmt.Fprintf(out, "  entries         %d, with %d pictures and %d files of memories\n",
			f.Entries, f.Pictures, f.Memories)
		fmt.Fprintf(out, "  merged          %d records into the message before them\n", f.Merged)
		fmt.Fprintf(out, "  doubled         %d that stand elsewhere, in a fork's parent or an event\n", f.Doubled)
		fmt.Fprintf(out, "  passed over     %d records in which nobody speaks\n", f.Passed)
		if f.Glued > 0 {
			fmt.Fprintf(out, "  glued           %d records in the line of another one\n", f.Glued)
		}
		if len(f.Unknown) == 0 {
			fmt.Fprintln(out, "  not understood  nothing")
		}
		for _, unknown := range f.Unknown {
			places := console.OneLine(strings.Join(unknown.Places, ", "))
			fmt.Fprintf(out, "  not understood  %d × %s: %s\n", unknown.Count, console.OneLine(unknown.Kind), places)
		}
	}
}
