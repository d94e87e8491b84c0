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
func (d *manageData) show(html *htmlPage) {
	name, offline := html.ID.Name, d.Endpoint == "offline"
	html.put(`
<h1>%s</h1>
%s
%s
<div class="text">
<p>%s</p>
`, name, html.wrong(), html.said(), how(d.Agent))
	if d.Error != "" {
		html.put(`<p class="trouble">`)
		if html.Wrong == nil {
			html.put("<bdi>%s</bdi> ", d.Error)
		}
		html.put(`<a href="/agents#settings">Model and key</a></p>`)
	}
	d.control(html, offline)
	html.put(`
<h2>Purpose</h2>
<pre tabindex="0" dir="auto" aria-label="Purpose">%s</pre>
<p class="soft small">It is in the hash <code>%s</code> that is the identity, and stays. What changes is `+
		`<a href="/agents/%s/mind?open=memory#memory">MEMORY</a>, which you and %[3]s edit.</p>
<p class="soft small">`, d.Soul, short(16, html.ID.Self), name)
	if offline {
		html.put("It thinks with the offline model until you start it with another one, above. ")
	} else if d.Model != "" {
		html.put(`It thinks with %s, which you change in <a href="/agents/%s/now#model">Now</a>. `, d.Model, name)
	}
	html.put(`<a href="/agents#settings">Keys, limits and budgets</a> are those of all; `+
		`<code>/budget +2 today</code> in a room `+
		`raises one for a day.</p>
<h2>This moment</h2>
<form class="row" method="post" action="/agents/%s/manage/label"><label for="label">Label it</label>`+
		`<input id="label" name="label" size="14" value="%v" title="a lower-case letter, then a-z, 0-9, - and _" required `+
		`pattern="[a-z][a-z0-9_\-]*" maxlength="32" placeholder="before-the-move"> <button>Label</button></form>
<form class="fields" method="post" action="/agents/%[1]s/manage/fork"><p><label for="fork">Fork it: another identity `+
		`begins with this mind. Its name</label><input id="fork" name="name" value="%[3]v" `+
		`title="a letter, then letters, digits and dashes" required maxlength="32" pattern="[A-Za-z][A-Za-z0-9\-]*" `+
		`placeholder="%[1]s-2"></p>
<p class="row"><label>as it was at <input name="at" size="12" value="%[4]v" placeholder="now, e39, 2h ago" `+
		`title="now, e39, 2h ago, or a label"></label> <label>hears room <input name="room" size="10" value="%[5]v" `+
		`placeholder="another room" title="a-z, 0-9, - and _" pattern="[a-z0-9][a-z0-9_\-]*" maxlength="64" `+
		`required></label> `+
		`<button>Fork</button></p></form>
<p><a href="/agents/%[1]s/rerun">Ask again</a> what it was asked then, with another model or limit.</p>
<h2>Remove it</h2>
`, name, html.Typed("label", ""), html.Typed("name", ""), html.Typed("at", ""), html.Typed("room", ""))
	d.removal(html)
	html.put("\n</div>\n")
}

// control writes the buttons that have the identity run and stop.
func (d *manageData) control(html *htmlPage, offline bool) {
	canStart := d.State == "stopped" && d.Parent == ""
	switch {
	case d.PID != 0:
		model := "model"
		if offline {
			model = "offline"
		}
		html.put(`<form class="row" method="post" action="/agents/%s/manage/run">`+
			`<button name="do" value="stop">Stop</button></form>
<form class="row" method="post" action="/agents/%[1]s/manage/run"><input type="hidden" name="anew" value="1">`+
			`<button name="do" value="%s">Start anew</button>%s <span class="soft small">`+
			`takes new settings and keys; nothing is lost`,
			html.ID.Name, model, when(offline, ` <button name="do" value="model">Start anew with a model</button>`))
		if provider := html.Keyless(); offline && provider != "" {
			html.put(`. %s has no <a href="/agents#settings">key</a> yet`, provider)
		}
		html.put("</span></form>\n")
	case canStart:
		main := markup(` class="main"`)
		html.put(`<form class="row" method="post" action="/agents/%s/manage/run">`+
			`<button%s name="do" value="model">Start</button>`,
			html.ID.Name, when(!offline, main))
		if offline || d.Endpoint == "" {
			html.put(` <button%s name="do" value="offline">Start offline</button>`, when(offline, main))
		}
		html.put(` <span class="soft small">it runs until somebody stops it, ` +
			`over crashes and restarts of lethe serve</span></form>`)
	}
}

// removal writes the form that removes the identity.
func (d *manageData) removal(html *htmlPage) {
	if d.Runs() {
		html.put("<p class=\"soft\">%s runs: stop it first.</p>\n", html.ID.Name)
		return
	}
	html.put("<p>Its files go for good")
	for i, child := range d.Children {
		html.put("%s %s", when(i == 0, ", and those of its children:"), child.Name)
	}
	html.put(`. Rooms stay, and texts that were stored.</p>
<form class="row" method="post" action="/agents/%s/manage/remove"><label for="sure">Type %[1]s</label>`+
		`<input id="sure" name="sure" size="12" required autocomplete="off" autocapitalize="none"> `+
		`<button>Remove %[1]s</button></form>`, html.ID.Name)
}
