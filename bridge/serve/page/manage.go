package page

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"lethe/agent/home"
	"lethe/bridge/report"
)

// manage shows the purpose of an identity, and has it run, fork, get a label or another model, and go.
var manage = view{
	Name: "manage", Title: "Manage", data: manageOf,
	forms: map[string]form{
		"run": then(run), "fork": then(fork), "label": then(mark), "remove": then(remove),
	},
}

type manageData struct {
	report.Agent
	Soul     string
	Children []home.Identity // that would go with it
}

// Runs reports whether a process has the identity, which cannot be removed then.
func (d *manageData) Runs() bool { return d.PID != 0 || d.State == "starting" }

func manageOf(page *frame, _ *http.Request) (content, error) {
	d := &manageData{Agent: page.Agent(page.ID)}
	soul, err := page.ID.ReadOwn("SOUL.md", page.Log)
	d.Soul = string(soul)
	if err == nil && !d.Runs() {
		d.Children, err = page.Family(page.Store, page.ID)
		d.Children = d.Children[min(1, len(d.Children)):] // behind itself
	}
	return d, err
}

// said returns the address of the page, which then tells that something was done.
func said(name, what string) string {
	return "/agents/" + name + "/manage?said=" + url.QueryEscape(what)
}

// run has the identity be kept running with a model or offline, anew where it runs, or stop.
func run(page *frame, r *http.Request) (to string, err error) {
	do, was, ran := r.FormValue("do"), page.Agent(page.ID), false
	if do == "stop" || r.FormValue("anew") != "" {
		ran, err = report.Stop(r.Context(), page.ID)
	}
	if do != "stop" && err == nil {
		err = report.Start(r.Context(), page.ID, do == "offline", page.RunStarted)
	}
	wasOffline := ran && was.Endpoint == "offline"
	failed := err != nil && do == "model"
	if failed && wasOffline { // it goes on as it was
		if report.Start(r.Context(), page.ID, true, page.RunStarted) == nil {
			err = fmt.Errorf("%w; it runs with the offline model, as before", err)
		}
	}
	return said(page.ID.Name, ""), err
}

// fork boots an identity with the mind that this one had at a moment.
func fork(page *frame, r *http.Request) (string, error) {
	moment, err := report.ParseMoment(field(r, "at"), time.Now())
	if err != nil {
		return "", err
	}
	at, err := home.At(page.ID, page.Store, moment)
	if err != nil {
		return "", err
	}
	o := home.BootOptions{Name: strings.ToLower(field(r, "name")), Rooms: strings.Fields(field(r, "room"))}
	made, today, err := home.Fork(page.Home.Home, page.Store, page.ID, at, o)
	what := "A fork of " + page.ID.Name
	if len(today) > 0 {
		what += "; as they are today, since it is not known how they were: " + strings.Join(today, ", ")
	}
	return said(made.Name, what), err
}

func mark(page *frame, r *http.Request) (string, error) {
	name := field(r, "label")
	if !report.ValidLabel(name) {
		return "", report.Invalid("%.40q is not a label: a lower-case letter, then up to 31 of a-z, 0-9, - and _", name)
	}
	what := "The label " + name + " is given when it runs, and no turn is under way."
	return said(page.ID.Name, what), home.Ask(page.ID, home.WishLabel+home.Wish(name))
}

// removed returns the address of the list of identities, which then tells that something is removed.
func removed(what string) string { return "/agents?said=" + url.QueryEscape(what+" is removed.") }

func remove(f *frame, r *http.Request) (string, error) {
	if field(r, "sure") != f.ID.Name {
		return "", report.Invalid("type the name %s to remove it", f.ID.Name)
	}
	return removed(f.ID.Name), f.Remove(f.Store, f.ID)
}
