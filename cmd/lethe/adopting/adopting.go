// Package adopting is lethe adopt: it lists what other agents keep, and has package shelf lay it down in a life.
package adopting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/agent/adopt"
	"lethe/agent/adopt/shelf"
	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/journal"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// Options are the flags of lethe adopt.
type Options struct {
	As     string // the name of an identity; "" for the default one
	Since  string // as report.Moment reads it
	DryRun bool
	But    int // lines at the end of a room are left out
	// Summarise has a model write gists of what was adopted; Yes does not ask whether its price is right.
	Summarise, Yes bool
	Watch          time.Duration // the pause between two runs, at least a second; 0 for one run
}

// Look reads sources, or whatever there is on this machine, and shows it.
func Look(ctx context.Context, app *cli.App, options Options, sources []string) error {
	adopts := options.As != "" || options.Watch > 0
	if adopts && len(sources) == 0 {
		return exit.Usagef("which one? Name a SOURCE: lethe adopt --help lists them")
	}
	since, err := report.Moment("since", options.Since, time.Now())
	if err != nil {
		return err
	}
	look := reading{App: app, since: since}
	if err := look.all(ctx, sources); err != nil {
		return err
	}
	return app.Show(look.findings, func(out io.Writer) {
		if options.DryRun {
			look.report(out, false)
		} else {
			look.list(out)
		}
	})
}

// Run adopts sources. What was adopted before an error stays, and is listed for the prompt.
func Run(ctx context.Context, app *cli.App, options Options, sources []string) error {
	into, err := find(app, options)
	if err != nil {
		return err
	}
	if options.Watch > 0 {
		return into.watch(ctx, options.Watch, sources)
	}
	run := &reading{App: app, findings: []finding{}}
	if len(sources) > 0 {
		run, err = into.adopt(ctx, sources)
	}
	if err == nil && options.Summarise {
		err = app.Opened(ctx, into.id, func(opened *host.Agent) error {
			return opened.SummariseAdopted(ctx, func(requests int, model string, tokens int, usd budget.USD) error {
				return app.ConfirmPrice(requests, model, tokens, "about", usd, options.Yes)
			})
		})
	}
	if err != nil {
		return err
	}
	return app.Show(run.findings, func(out io.Writer) {
		run.report(out, true)
		fmt.Fprintf(out, "%s finds it: %s\n", into.id.Name, app.Lethe("recall %s WORDS", into.id.Name))
	})
}

// target is the identity that adopts.
type target struct {
	*cli.App
	id    home.Identity
	blobs *blobs.Store
	since time.Time
	but   int  // see Options
	quiet bool // nobody is told again what will be uploaded
}

func find(app *cli.App, options Options) (into *target, err error) {
	into = &target{App: app, but: options.But}
	if into.since, err = report.Moment("since", options.Since, time.Now()); err != nil {
		return nil, err
	}
	if into.id, err = app.Find(options.As); err != nil {
		return nil, err
	}
	into.blobs, err = app.Store()
	return into, err
}

// adopt adopts sources once.
func (into *target) adopt(ctx context.Context, sources []string) (*reading, error) {
	held, err := journal.Hold(into.Home, into.id, into.blobs, into.LogTo(into.Err))
	if err != nil {
		return nil, err
	}
	defer held.Close()
	laid, err := shelf.Open(held)
	if err != nil {
		return nil, err
	}
	run := &reading{App: into.App, since: into.since, but: into.but, laid: laid, uploads: into.Shared != nil && !into.quiet}
	err = errors.Join(run.all(ctx, sources), laid.Close()) // what was taken before an error stays
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return run, err
}

// watch adopts sources again and again until ctx ends, with a pause between, and shows each session that came. While
// the identity runs it waits.
func (into *target) watch(ctx context.Context, pause time.Duration, sources []string) error {
	isWaiting := false
	for ctx.Err() == nil {
		run, err := into.adopt(ctx, sources)
		_, runs := errors.AsType[*home.RunningError](err)
		switch {
		case runs && !isWaiting:
			into.Note("%s runs: what is new is adopted when it has stopped", into.id.Name)
		case runs, ctx.Err() != nil:
		case err != nil && !into.quiet:
			return err
		case err != nil:
			into.Warn("%s", cli.Plain(err))
		default:
			into.quiet = true
		}
		isWaiting = runs
		if run != nil {
			run.announce()
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(pause, time.Second)):
		}
	}
	return nil
}

// reading reads stores, one after the other.
type reading struct {
	*cli.App
	laid     *shelf.Shelf // nil: nothing is laid down
	since    time.Time
	but      int // see Options
	findings []finding
	uploads  bool // other hosts get what is adopted
}

// announce shows a line for each original that was made.
func (r *reading) announce() {
	for _, found := range r.findings {
		for _, gist := range found.Made {
			r.Announce(map[string]string{"agent": found.Agent, "adopted": gist}, "%s", console.OneLine(gist))
		}
	}
}

// finding is a store that was read.
type finding struct {
	Agent string `json:"agent"`
	Store string `json:"store"`
	*shelf.Taken
	title string
}

// all reads sources, or without any what all agents keep on this machine.
func (r *reading) all(ctx context.Context, sources []string) error {
	r.findings = []finding{}
	if len(sources) == 0 {
		for i := range adopt.Agents {
			if err := r.agent(ctx, &adopt.Agents[i]); err != nil {
				return err
			}
		}
	}
	for _, source := range sources {
		if err := r.source(ctx, source); err != nil {
			return err
		}
	}
	return nil
}

// source reads the stores of an agent, or the one that NAME=PATH names.
func (r *reading) source(ctx context.Context, source string) error {
	name, place, given := strings.Cut(source, "=")
	agent := adopt.Find(name)
	if agent == nil {
		return exit.Hint(exit.Usagef("no such agent: %q", name), "lethe adopt --help lists them")
	}
	if !given {
		before := len(r.findings)
		err := r.agent(ctx, agent)
		if err == nil && len(r.findings) == before {
			err = nothing(agent, "on this machine")
		}
		return err
	}
	if below, isHome := strings.CutPrefix(place, "~/"); isHome { // no shell expands it here
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		place = filepath.Join(home, below)
	}
	store, err := adopt.Open(place)
	if err != nil {
		return err
	}
	defer store.Close()
	found, err := r.store(ctx, agent, store, adopt.Options{But: r.but})
	if err == nil && found.Files+found.Unchanged == 0 {
		return nothing(agent, "in "+place)
	}
	r.findings = append(r.findings, found)
	return err
}

// nothing is the error of a place where an agent keeps nothing.
func nothing(agent *adopt.Agent, where string) error {
	err := exit.With(exit.NotFound, fmt.Errorf("%s keeps nothing %s", agent.Title, where))
	return exit.Hint(err, "%s", agent.HowToGet())
}

// agent reads all stores of an agent on this machine.
func (r *reading) agent(ctx context.Context, agent *adopt.Agent) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	temp, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return err
	}
	defer temp.Close()
	for _, place := range agent.Places(home, os.Getenv) {
		store, opened := adopt.Open(place)
		switch {
		case errors.Is(opened, fs.ErrNotExist):
			continue
		case opened != nil:
			r.Warn("%s: %s", agent.Title, cli.Plain(opened))
			continue
		}
		found, err := r.store(ctx, agent, store, adopt.Options{Temp: temp.FS()})
		if err != nil || found.Files+found.Unchanged > 0 {
			r.findings = append(r.findings, found)
		}
		if err = errors.Join(err, store.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) store(
	ctx context.Context, agent *adopt.Agent, store *adopt.Store, options adopt.Options,
) (finding, error) {
	bar := r.Progress()
	options.Progress = func(done, of int64) {
		if done == 0 && of > 0 && r.uploads {
			r.Note("%s: of %s at most the texts are uploaded for the other hosts", agent.Title, console.Megabytes(of))
		}
		if of > 0 {
			bar(done, of, "%s: %s of %s", agent.Title, console.Megabytes(done), console.Megabytes(of))
		}
	}
	options.Rows, options.Since = rowsOf(store), r.since
	taken, err := r.laid.Take(ctx, agent, store, options)
	return finding{agent.Name, store.Place, taken, agent.Title}, err
}

func (r *reading) list(out io.Writer) {
	if len(r.findings) == 0 {
		fmt.Fprintln(out, "no history of an agent that Lethe knows on this machine")
		return
	}
	rows := console.NewTable("AGENT", "SESSIONS", "ENTRIES", "FROM", "TO", "SIZE", "NOT UNDERSTOOD", "STORE")
	for _, f := range r.findings {
		notUnderstood := 0
		for _, unknown := range f.Unknown {
			notUnderstood += unknown.Count
		}
		rows.Row(f.Agent, f.Sessions, f.Entries, day(f.First), day(f.Last), console.Megabytes(f.Bytes),
			console.Nonzero(notUnderstood), f.Store)
	}
	rows.Write(out)
	fmt.Fprintf(out, "\nwhat was not understood, by kind: %s\nto adopt it: %s\n",
		r.Lethe("adopt SOURCE --dry-run"), r.Lethe("adopt SOURCE --as NAME"))
}

func day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format(time.DateOnly)
}

func (r *reading) report(out io.Writer, adopted bool) {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(out, "  %-15s %s\n", label, console.OneLine(fmt.Sprintf(format, args...)))
	}
	some := func(count int, label, what string) {
		if count > 0 {
			line(label, "%d %s", count, what)
		}
	}
	struck := "to strike out"
	if adopted {
		struck = "struck out"
	}
	for _, f := range r.findings {
		fmt.Fprintf(out, "%s, %s: %d sessions", f.title, console.OneLine(f.Store), f.Sessions)
		if !f.First.IsZero() {
			fmt.Fprintf(out, " from %s to %s", day(f.First), day(f.Last))
		}
		fmt.Fprintln(out)
		line("read", "%d records, %s in %d files", f.Records, console.Megabytes(f.Bytes), f.Files)
		some(f.Unchanged, "unchanged", "files")
		line("entries", "%d, with %d pictures and %d files of memories", f.Entries, f.Pictures, f.Memories)
		if adopted {
			line("adopted", "%d of them, in %d originals", f.Added, f.Adopted)
		}
		some(f.Known, "left", "that were adopted before")
		some(f.Away, "left", "that stay away: their session was erased here")
		some(f.Early, "left", "that are older than --since")
		some(f.Struck, struck, "secrets: "+strings.Join(f.Places, "; "))
		line("merged", "%d records into the message before them", f.Merged)
		line("doubled", "%d that stand elsewhere, in a fork's parent or an event", f.Doubled)
		line("passed over", "%d records in which nobody speaks", f.Passed)
		some(f.Glued, "glued", "records in the line of another one")
		if len(f.Unknown) == 0 {
			line("not understood", "nothing")
		}
		for _, unknown := range f.Unknown {
			line("not understood", "%d × %s: %s", unknown.Count, unknown.Kind, strings.Join(unknown.Places, ", "))
		}
	}
}
