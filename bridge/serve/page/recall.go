package page

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"lethe/report"
)

var recall = view{Name: "recall", Title: "Recall", data: recallOf}

type recallData struct {
	report.Search
	report.Found
	Wrong error // with the search
}

func recallOf(f *frame, r *http.Request) (any, error) {
	d := &recallData{Search: report.Search{
		Text: r.FormValue("q"), Since: r.FormValue("since"), Room: r.FormValue("room"), Kind: r.FormValue("kind"), Limit: 20,
	}}
	if !r.URL.Query().Has("q") {
		return d, nil
	}
	found, err := f.Recall(r.Context(), f.ID, d.Search, f.Log)
	if d.Found = found; errors.Is(err, report.ErrNoMatch) || errors.As(err, new(*report.InvalidError)) {
		d.Wrong, err = err, nil
	}
	return d, err
}

func (d *recallData) Kinds() []string { return report.Kinds }

// triggers shows the triggers and the jobs of the identity.
var triggers = view{
	Name: "triggers", Title: "Triggers", data: triggersOf,
	forms: map[string]form{"fire": fire, "stop": stopJob, "edit": saveTrigger, "turn": then(turn)},
}

type triggersData struct {
	Triggers []report.Trigger
	Jobs     []report.Job
	Ran      []*report.Ran // the newest commands
	All      int           // that ever ran
	Running  bool
	Draft    draft
}

func triggersOf(f *frame, r *http.Request) (any, error) {
	all, err := f.Triggers(f.ID)
	_, running := report.Live(f.ID)
	ran, total, rerr := f.Commands(f.ID, 100)
	draft, derr := draftOf(f, r)
	f.Wrong = cmp.Or(f.Wrong, derr)
	return &triggersData{all, report.Jobs(f.ID), ran, total, running, draft}, errors.Join(err, rerr)
}

func fire(f *frame, w http.ResponseWriter, r *http.Request) error {
	all, err := f.Triggers(f.ID)
	if err == nil {
		err = report.Fire(f.ID, r.FormValue("trigger"), all)
	}
	if err != nil {
		return err
	}
	return f.done(w, r, "?fired="+url.QueryEscape(r.FormValue("trigger")))
}

func stopJob(f *frame, w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.Atoi(r.FormValue("job"))
	if err != nil {
		return report.Invalid("%.40q is not the number of a job", r.FormValue("job"))
	}
	if _, err := report.StopJob(r.Context(), f.ID, n); err != nil {
		return err
	}
	return f.done(w, r, "")
}
