// Package rerun is lethe rerun: it asks past requests of a life again, outside of it, and shows the answers beside
// those of then.
package rerun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"lethe/agent/budget"
	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/agent/llm"
	"lethe/blobs"
	"lethe/cmd/lethe/cli"
	"lethe/cmd/lethe/console"
	"lethe/cmd/lethe/exit"
)

// Options are the flags of lethe rerun.
type Options struct {
	At, From, To string // moments
	Model        string // "" for the one of then
	Soul         string // a file in place of the soul
	Limit        uint   // tokens of a request; 0 for the one of then
	Yes          bool   // the price is not asked about
}

// Report has the answers of then and now.
type Report struct {
	Name    string  `json:"name"`
	Moments []Pair  `json:"moments"`
	Differ  int     `json:"differ"` // moments whose calls differ
	Then    float64 `json:"then_usd"`
	Now     float64 `json:"now_usd"`
	Ended   string  `json:"ended,omitempty"` // why no more was asked
}

// Run asks the requests of a turn again from the moment --at on, until a call differs, or all between --from and --to.
func Run(ctx context.Context, app *cli.App, options Options, who string) error {
	isTurn := options.At != ""
	if isTurn == (options.From != "") {
		return exit.Usagef("give either --at, or --from and --to")
	}
	options.Model = app.Known().Settle(options.Model, "", app.Preset())
	id, steps, err := find(ctx, app, &options, who)
	if err != nil {
		return err
	}
	fitter := &fitter{Store: app.Look.Store, people: app.Look.People, made: map[blobs.Hash][]byte{}}
	for _, s := range steps {
		if err := s.prepare(app, id, &options, fitter); err != nil {
			return fmt.Errorf("rerun %s: %w", s.Entry, err)
		}
	}
	if err := confirm(app, steps, options.Yes); err != nil {
		return err
	}
	hosting := app.HostOptions(app.LogTo(app.Err))
	hosting.Offline = options.Model == "" && !app.LivedOnline(id)
	here, err := host.New(app.Home, app.Settings.Settings, hosting)
	if err != nil {
		return err
	}
	out := Report{Name: id.Name}
	err = here.Serving(ctx, func(ctx context.Context) error { return out.ask(ctx, app, here, id, steps, isTurn) })
	if err != nil && len(out.Moments) == 0 {
		return err
	}
	return errors.Join(err, app.Show(&out, out.tell)) // also what was paid for before an error
}

// find returns an identity and the steps that the flags name.
func find(ctx context.Context, app *cli.App, options *Options, who string) (home.Identity, []*step, error) {
	id, then, err := app.IdentityAt(ctx, app.FindToRead, who, cmp.Or(options.At, options.From))
	if err != nil {
		return id, nil, err
	}
	_, last, err := app.IdentityAt(ctx, app.FindToRead, who, cmp.Or(options.To, "now"))
	if err != nil {
		return id, nil, err
	}
	steps, err := list(app.Look.Store, id, then, last.End, options.At != "")
	if err == nil && len(steps) == 0 {
		err = fmt.Errorf("rerun %s: no answer follows that moment", id.Name)
	}
	return id, steps, err
}

// confirm tells the price, and asks unless yes is set.
func confirm(app *cli.App, steps []*step, yes bool) error {
	most, tokens, model := budget.USD(0), 0, steps[0].request.Model
	for _, s := range steps {
		most, tokens = most+s.worst, tokens+s.tokens
	}
	return app.ConfirmPrice(len(steps), model, tokens, "at most", most, yes)
}

// ask asks the steps one after the other, as long as the budget of the identity has room for each.
func (r *Report) ask(
	ctx context.Context, app *cli.App, here *host.Host, id home.Identity, steps []*step, isTurn bool,
) error {
	store, err := blobs.Open(app.Home.Blobs()) // also where the life is read from a copy
	if err != nil {
		return err
	}
	wallet := budget.Beside(app.Home, store, id, app.Look.Limits)
	for _, s := range steps {
		paid := budget.USD(0)
		s.request.Pay = func(llm.Waste) error {
			err := wallet.Spend(s.worst, false, app.Look.Clock())
			if err == nil {
				paid += s.worst
			}
			return err
		}
		reply, err := here.Complete(ctx, s.request)
		cost := s.answered(app.Known(), reply.Redacted())
		if cost != paid {
			err = errors.Join(err, wallet.Spend(cost-paid, true, app.Look.Clock()))
		}
		if err != nil {
			return err
		}
		r.Moments = append(r.Moments, s.Pair)
		r.Then, r.Now = r.Then+s.Then.USD, r.Now+s.Now.USD
		if s.Same {
			continue
		}
		r.Differ++
		if isTurn {
			r.Ended = "the calls of " + s.Entry + " differ, and nobody knows their results"
			return nil
		}
	}
	return nil
}

// tell shows the answers beside each other.
func (r *Report) tell(out io.Writer) {
	for _, p := range r.Moments {
		p.Then.tell(out, p.Entry+" then")
		p.Now.tell(out, p.Entry+" now")
	}
	fmt.Fprintf(out, "%d answers, other calls in %d: then %.4f USD, now %.4f\n", len(r.Moments), r.Differ, r.Then, r.Now)
	if r.Ended != "" {
		fmt.Fprintf(out, "it ends here: %s\n", r.Ended)
	}
}

func (a Answer) tell(out io.Writer, when string) {
	used := a.Usage
	fmt.Fprintf(out, "%s, %s: %d tokens, cached %d, answer %d, %.4f USD\n",
		when, a.Model, used.Input, used.Cached, used.Output, a.USD)
	for _, text := range append(a.Calls, a.Text) {
		fmt.Fprintln(out, console.Indented("  ", text))
	}
}
