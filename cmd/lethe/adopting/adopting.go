// Package adopting is lethe adopt: it lists what other agents keep, and has package shelf lay it down in a life.
package adopting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	"lethe/internal/durable"
)

// Options are the flags of lethe adopt.
type Options struct {
	As     string // the name of an identity; "" for the default one
	Since  string // as report.Moment reads it
	DryRun bool
	But    int // lines at the end of a room are left out
	// Summarise has a model write gists of what was adopted; Yes does not ask whether its price is right.
	Summarise, Yes bool
	Weekly         bool          // a trigger goes on
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
	look := reading{App: app, since: since, findings: []shelf.Finding{}}
	stores, err := look.sources(sources)
	if err == nil {
		err = look.all(ctx, stores)
	}
	if err != nil {
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
	if len(sources) > 0 {
		err = into.adopt(ctx, sources)
	}
	if err == nil && options.Weekly {
		err = into.weekly(sources)
	}
	asked := 0
	if err == nil && options.Summarise {
		asked, err = into.summarise(ctx, options.Yes)
	}
	if err != nil {
		return err
	}
	return app.Show(into.findings, func(out io.Writer) {
		into.report(out, true)
		if options.Summarise {
			fmt.Fprintf(out, "a model was asked for %d gists\n", asked)
		}
		fmt.Fprintf(out, "%s finds it: %s\n", into.id.Name, app.Lethe("recall %s WORDS", into.id.Name))
		if len(sources) > 0 && !options.Weekly && into.but == 0 {
			fmt.Fprintln(out, "others delete what they keep: --weekly goes on")
		}
	})
}

// target is the identity that adopts.
type target struct {
	reading
	id    home.Identity
	blobs *blobs.Store
	quiet bool // nobody is told again what will be uploaded
}

func find(app *cli.App, options Options) (into *target, err error) {
	into = &target{reading: reading{App: app, but: options.But, findings: []shelf.Finding{}}}
	if into.since, err = report.Moment("since", options.Since, time.Now()); err != nil {
		return nil, err
	}
	if into.id, err = app.Find(options.As); err != nil {
		return nil, err
	}
	into.blobs, err = app.Store()
	return into, err
}

// adopt adopts sources once: through the identity, if it runs.
func (into *target) adopt(ctx context.Context, names []string) error {
	into.findings = []shelf.Finding{}
	sources, err := into.sources(names)
	if err != nil {
		return err
	}
	held, err := journal.Hold(into.Home, into.id, into.blobs, into.LogTo(into.Err))
	if errors.As(err, new(*home.RunningError)) {
		if err = into.ask(ctx, sources); errors.Is(err, errStopped) {
			return into.adopt(ctx, names)
		}
		return err
	}
	if err != nil {
		return err
	}
	defer held.Close()
	if into.laid, err = shelf.Open(held); err != nil {
		return err
	}
	into.tell(sources, into.laid)
	return errors.Join(into.all(ctx, sources), into.laid.Close()) // what was taken before an error stays
}

// tell says, where other hosts share the home, what will be uploaded for them.
func (into *target) tell(sources []adopt.Source, laid *shelf.Shelf) {
	if into.Shared == nil || into.quiet {
		return
	}
	if size := laid.Size(sources); size > 0 {
		requests := size/(256<<10) + 4
		conf := into.Settings.Share
		into.Note("at most %s are uploaded for the other hosts, in some %d requests, for %s USD", console.Megabytes(size),
			requests, budget.Writes(conf.URL, conf.PutUSD, requests))
	}
}

var errStopped = errors.New("it has stopped")

// ask has the identity, which runs, adopt sources.
func (into *target) ask(ctx context.Context, sources []adopt.Source) error {
	into.tell(sources, nil)
	order := shelf.Order{Sources: sources, Since: into.since, But: into.but}
	answer, err := into.order(ctx, order, func(wish home.Wish) error { return errors.Join(errStopped, wish.Drop(into.id)) })
	for _, found := range answer.Found {
		isOwn := slices.ContainsFunc(sources, func(s adopt.Source) bool { return s.Own && s.Place == found.Store })
		err = errors.Join(err, into.add(found, isOwn))
	}
	return err
}

// order leaves an order, and waits for the answer. here obeys where the identity does not run.
func (into *target) order(
	ctx context.Context, order shelf.Order, here func(home.Wish) error,
) (answer shelf.Answer, err error) {
	by := strconv.Itoa(os.Getpid())
	wish := home.WishAdopt + home.Wish(by)
	_, _ = shelf.TakeAnswer(into.id, by) // to a command that was killed
	busy := func() { into.Note("%s is at work; it does this after that", into.id.Name) }
	err = report.Obey(ctx, into.id, wish, order.String(), busy, func() error { return here(wish) })
	if ctx.Err() != nil && len(order.Sources) == 0 { // nobody pays for what he no longer waits for
		err = errors.Join(err, wish.Drop(into.id))
	}
	if err == nil {
		answer, err = shelf.TakeAnswer(into.id, by)
	}
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer, err
}

// summarise has the identity, or where it does not run this process, ask a model for gists of what was adopted, once the
// price is agreed to.
func (into *target) summarise(ctx context.Context, yes bool) (asked int, err error) {
	here := func(wish home.Wish) error {
		return into.Opened(ctx, into.id, func(opened *host.Agent) error { return opened.Obey(ctx, wish) })
	}
	answer, err := into.order(ctx, shelf.Order{Price: true}, here)
	price := answer.Price
	if err != nil || price.Requests == 0 {
		return 0, err
	}
	if err := into.ConfirmPrice(price.Requests, price.Model, price.Tokens, "about", price.USD, yes); err != nil {
		return 0, err
	}
	_, err = into.order(ctx, shelf.Order{Gists: price.Originals}, here)
	return price.Requests, err
}

// watch adopts sources again and again until ctx ends, with a pause between, and shows each session that came.
func (into *target) watch(ctx context.Context, pause time.Duration, names []string) error {
	for ctx.Err() == nil {
		err := into.adopt(ctx, names)
		switch {
		case ctx.Err() != nil:
		case err != nil && !into.quiet:
			return err
		case err != nil:
			into.Warn("%s", cli.Plain(err))
		default:
			into.quiet = true
		}
		into.announce()
		select {
		case <-ctx.Done():
		case <-time.After(max(pause, time.Second)):
		}
	}
	return nil
}

// weekly has triggers of the identity adopt sources each week.
func (into *target) weekly(names []string) error {
	for _, name := range names {
		agent, _, _ := strings.Cut(name, "=")
		if strings.ContainsAny(name, " \t\"\\") {
			return exit.Usagef("a trigger cannot have the place %q", name)
		}
		file := filepath.Join(report.TriggersDir(into.id), "adopt-"+agent+".toml")
		text := fmt.Sprintf("cron = \"@weekly\"\nadopt = %q\n", name)
		err := durable.MkdirAll(filepath.Dir(file), 0o700)
		if err == nil {
			err = durable.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			return err
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
	findings []shelf.Finding
}

// announce shows a line for each original that was made.
func (r *reading) announce() {
	for _, found := range r.findings {
		for _, gist := range found.Made {
			r.Announce(map[string]string{"agent": found.Agent, "adopted": gist}, "%s", console.OneLine(gist))
		}
	}
}

// sources returns the stores that names mean; without names all that there are.
func (r *reading) sources(names []string) (all []adopt.Source, err error) {
	isGiven := len(names) > 0
	if !isGiven {
		for _, agent := range adopt.Agents {
			names = append(names, agent.Name)
		}
	}
	for _, name := range names {
		found, err := adopt.Sources(name)
		switch agent := adopt.Find(strings.SplitN(name, "=", 2)[0]); {
		case agent == nil:
			return nil, exit.Hint(exit.Usagef("%w", err), "lethe adopt --help lists them")
		case err != nil:
			return nil, err
		case len(found) == 0 && isGiven:
			return nil, nothing(agent, "on this machine")
		}
		all = append(all, found...)
	}
	return all, nil
}

// all reads sources. One where an agent keeps nothing is an error only where its place was named.
func (r *reading) all(ctx context.Context, sources []adopt.Source) error {
	bar := r.Progress()
	for _, source := range sources {
		agent := adopt.Find(source.Agent)
		options := adopt.Options{Since: r.since, But: r.but, Progress: func(done, of int64) {
			if of > 0 {
				bar(done, of, "%s: %s of %s", agent.Title, console.Megabytes(done), console.Megabytes(of))
			}
		}}
		found, err := r.laid.From(ctx, source, options)
		if err == nil {
			err = r.add(found, source.Own)
		} else if source.Own && found.Taken == nil {
			r.Warn("%s: %s", agent.Title, cli.Plain(err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a finding. One without files is an error where a person has named its place.
func (r *reading) add(found shelf.Finding, isOwn bool) error {
	if found.Files+found.Unchanged > 0 {
		r.findings = append(r.findings, found)
	} else if !isOwn {
		return nothing(adopt.Find(found.Agent), "in "+found.Store)
	}
	return nil
}

// nothing is the error of a place where an agent keeps nothing.
func nothing(agent *adopt.Agent, where string) error {
	err := exit.With(exit.NotFound, fmt.Errorf("%s keeps nothing %s", agent.Title, where))
	return exit.Hint(err, "%s", agent.HowToGet())
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
		fmt.Fprintf(out, "%s, %s: %d sessions", adopt.Find(f.Agent).Title, console.OneLine(f.Store), f.Sessions)
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
		some(f.Merged, "merged", "records into the message before them")
		some(f.Doubled, "doubled", "that stand elsewhere, in a fork's parent or an event")
		some(f.Passed, "passed over", "records in which nobody speaks")
		if len(f.Unknown) == 0 {
			line("not understood", "nothing")
		}
		for _, unknown := range f.Unknown {
			line("not understood", "%d × %s: %s", unknown.Count, unknown.Kind, strings.Join(unknown.Places, ", "))
		}
	}
}
