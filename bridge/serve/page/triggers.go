package page

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lethe/agent/wake/trigger"
	"lethe/bridge/report"
	"lethe/bridge/report/parts"
	"lethe/internal/durable"
)

// draft is a trigger in the form, as its file is or as it was typed. The name of a paused trigger begins with a dot, as
// its file's does, so that nothing else reads it.
type draft struct {
	Text, Seen string
	Next       []time.Time
}

const nextShown = 3 // times at which a draft would fire

// triggerPart comes before the name of a trigger, in the name of its part.
const triggerPart = "trigger "

// triggerFile is the file of a trigger.
func (f *frame) triggerFile(name string) (string, error) {
	if !trigger.ValidName(strings.TrimPrefix(name, ".")) {
		return "", report.Invalid("the name %.60q: write at most 32 of a-z, 0-9 and -, such as morning-brief", name)
	}
	return filepath.Join(report.TriggersDir(f.ID), name+".toml"), nil
}

// draftOf returns the draft that the form shows: the typed text, the file of a name, or an empty one. The error is for
// the form, too.
func draftOf(page *frame, r *http.Request) (shown draft, err error) {
	name := field(r, "name")
	shown.Text, shown.Seen = lineEnds.Replace(r.FormValue("text")), r.FormValue("seen")
	if name != "" && shown.Text == "" {
		p, err := partOf(page, nil, triggerPart+name)
		if err != nil {
			return shown, err
		}
		shown.Seen, shown.Text = p.Seen(), p.Text
	}
	if shown.Text == "" {
		return shown, nil
	}
	read, err := trigger.Parse(cmp.Or(strings.TrimPrefix(name, "."), "new"), []byte(shown.Text), page.Clock())
	if err != nil {
		return shown, err
	}
	read = read.For(page.ID.Self)
	for at := read.Next(time.Now()); !at.IsZero() && len(shown.Next) < nextShown; at = read.Next(at) {
		shown.Next = append(shown.Next, at)
	}
	return shown, nil
}

// saveTrigger writes the file of a trigger, as edit does; asked to check it shows what would come of it.
func saveTrigger(page *frame, w http.ResponseWriter, r *http.Request) error {
	if r.FormValue("do") == "check" {
		return page.look(w, r, http.StatusOK)
	}
	_, err := draftOf(page, r)
	if err == nil {
		err = durable.MkdirAll(report.TriggersDir(page.ID), 0o700)
	}
	if err != nil {
		return page.again(w, r, err)
	}
	r.Form.Set("part", triggerPart+field(r, "name"))
	r.Form.Set("seen", cmp.Or(r.FormValue("seen"), new(parts.Part).Seen())) // a new file replaces no other
	return edit(page, w, r)
}

// turn pauses a trigger, or has a paused trigger go on, or removes it.
func turn(page *frame, r *http.Request) (string, error) {
	name, do := r.FormValue("trigger"), r.FormValue("do")
	from, err := page.triggerFile(name)
	to := filepath.Join(filepath.Dir(from), "."+name+".toml")
	if do != "pause" {
		from, to = to, from
	}
	_, there := os.Lstat(to)
	switch {
	case err != nil:
	case do == "remove":
		err = durable.Remove(from)
	case there == nil:
		err = report.Invalid("there is another trigger %s beside the one that is paused", name)
	default:
		err = durable.Rename(from, to)
		synced := durable.SyncDir(filepath.Dir(to)) // a rename that failed can have happened
		if err == nil {
			err = synced
		}
	}
	return "/agents/" + page.ID.Name + "/triggers", err
}

func (d *triggersData) show(html *htmlPage) {
	name := html.ID.Name
	html.put("\n<h1>Triggers and jobs</h1>\n%s\n", when(d.Draft.Text == "", html.wrong()))
	if html.R.FormValue("saved") != "" {
		html.put(`<p class="text notice" role="status">Saved.`)
		if !d.Running {
			html.put(" It fires when %s runs.", name)
		}
		html.put("</p>")
	}
	d.fired(html)
	html.put("\n<h2 id=\"triggers\">What wakes %s by itself</h2>\n", name)
	if len(d.Triggers) == 0 {
		html.put(`<p class="text soft">Nothing yet. Ask it: “every day at nine say good morning”.</p>`)
	} else {
		d.table(html)
	}
	d.form(html)
	html.put("\n<h2 id=\"jobs\">Commands beside the talk</h2>\n")
	d.jobs(html)
	html.put("\n<h2 id=\"commands\">Every command that ran</h2>\n")
	d.commands(html)
}

func (d *triggersData) parts() map[string]func(*htmlPage) {
	return map[string]func(*htmlPage){"check": d.check}
}

// fired tells that a form has fired a trigger.
func (d *triggersData) fired(html *htmlPage) {
	for _, t := range d.Triggers {
		if t.Name != html.R.FormValue("fired") {
			continue
		}
		html.put(`<p class="text notice" role="status">%s fires `, t.Name)
		if d.Running {
			html.put("now")
		} else {
			html.put("when %s runs", html.ID.Name)
		}
		html.put("; its line stands in its room.</p>")
	}
}

func (d *triggersData) table(html *htmlPage) {
	html.put(`<div class="scroll" role="region" aria-labelledby="triggers" tabindex="0"><table>
<thead><tr><th scope="col">Trigger</th><th scope="col">When</th><th scope="col">Next</th><td></td>` +
		`<th scope="col">Room</th>` +
		`<th scope="col">Last</th><th scope="col" class="number">Fired</th><th scope="col" class="number">Missed</th>` +
		`<th scope="col" class="number">Dollars</th></tr></thead>
<tbody>`)
	for _, one := range d.Triggers {
		html.put(`<tr><th scope="row"><bdi>%s</bdi></th><td><bdi>%s</bdi>`, one.Name, one.When)
		if one.Error != "" {
			html.put(`<p class="trouble small"><bdi>%s</bdi></p>`, one.Error)
		}
		next := html.at(one.Next)
		if one.Paused {
			next = "paused"
		}
		html.put("</td><td>%s</td>\n<td>", next)
		if one.When != "" || one.Error != "" {
			html.control(one)
		}
		html.put(`</td>
<td>%s</td><td>%s</td><td class="number">%d</td><td class="number">%d</td><td class="number">%s</td></tr>
`, one.Room, html.at(one.Last), one.Fired, one.Missed, report.Dollars(one.USD))
	}
	html.put("</tbody></table></div>")
}

// at is a moment, if it is known.
func (p *htmlPage) at(t time.Time) markup {
	return when(!t.IsZero(), format("<time>%s</time>", p.moment(t, minute)))
}

// control writes the buttons of a trigger.
func (p *htmlPage) control(one report.Trigger) {
	self, of := p.ID.Name, of(one.Name)
	p.put(`<form class="row" method="post" action="/agents/%s/triggers/turn">`+
		`<input type="hidden" name="trigger" value="%s">`,
		self, one.Name)
	dot := ""
	if one.Paused {
		dot = "."
		p.put(`<button name="do" value="resume">Resume%s</button> <button name="do" value="remove">Remove%[1]s</button>`, of)
	} else {
		p.put(`<button formaction="/agents/%s/triggers/fire">Run now%s</button> `+
			`<button name="do" value="pause">Pause%[2]s</button>`, self, of)
	}
	p.put(` <a href="/agents/%s/triggers?name=%s#edit">Edit%s</a></form>`, self, inURL(dot+one.Name), of)
}

// example is the text of a new trigger, in a room.
const example = `cron = "0 9 * * 1-5"   # minute hour day month weekday
room = "%s"
say = "Write the morning brief: what is open, what is due today."
`

// form writes the form that makes and changes a trigger.
func (d *triggersData) form(html *htmlPage) {
	name, isThere := html.R.FormValue("name"), d.Draft.Seen != ""
	text := format("%s", exact(d.Draft.Text))
	if text == "" {
		text = format(example, d.Room)
	}
	html.put(`<form class="text fields" id="edit" method="post" action="/agents/%s/triggers/edit#edit" data-check>
<h2>`, html.ID.Name)
	if isThere {
		html.put("Change %s", name)
	} else {
		html.put("Make a trigger")
	}
	html.put(`</h2>
<input type="hidden" name="seen" value="%s">
<p><label for="name">Name</label><input id="name" name="name" value="%s" required maxlength="33" `+
		`pattern="\.?[a-z0-9][a-z0-9\-]*" placeholder="morning-brief" title="a-z, 0-9 and -" autocapitalize="none"%s></p>
<p><label for="text">When, and what is said then</label><textarea id="text" name="text" rows="4" required `+
		`spellcheck="false" aria-describedby="when">
%s</textarea></p>
<div role="status" data-checked>`, d.Draft.Seen, name, when(isThere, " readonly"), text)
	d.check(html)
	html.put(`</div>
<p class="soft small" id="when">Instead of cron: every = "10m", at = "2026-11-23 09:00", watch = "a-file", ` +
		`mail = "/a/directory". Also run = "a command", tz = "Europe/Berlin", quiet = "22:00-07:00", grace = "12h".</p>
<p class="row"><button class="main">Save</button> <button name="do" value="check" formnovalidate>Check</button>`)
	if isThere {
		html.put(` <a href="/agents/%s/triggers#edit">Make another one</a>`, html.ID.Name)
	}
	html.put("</p>\n</form>")
}

// check writes the times at which the draft would fire, or its error.
func (d *triggersData) check(html *htmlPage) {
	switch {
	case d.Draft.Text == "":
	case html.Wrong != nil:
		html.put("%s", html.wrong())
	case len(d.Draft.Next) == 0:
		html.put(`<p class="small">It does not come by the clock.</p>`)
	default:
		html.put(`<p class="small">Next: `)
		for i, next := range d.Draft.Next {
			html.put("%s%s", when(i > 0, ", "), html.at(next))
		}
		html.put("</p>")
	}
}

func (d *triggersData) jobs(html *htmlPage) {
	if len(d.Jobs) == 0 {
		html.put(`<p class="text soft">None yet.</p>`)
		return
	}
	html.put(`<div class="scroll" role="region" aria-labelledby="jobs" tabindex="0"><table>
<thead><tr><th scope="col">Job</th><th scope="col">Command</th><th scope="col">Began</th><th scope="col">End</th>` +
		`<td></td></tr></thead>
<tbody>`)
	for _, job := range d.Jobs {
		html.put(`<tr><th scope="row">%d</th><td><code dir="auto">%s</code></td><td>`, job.ID, short(200, job.Command))
		html.put("<time>%s</time></td><td>", html.moment(job.Began, minute))
		if job.State == "running" {
			html.put(`runs</td>
<td><form method="post" action="/agents/%s/triggers/stop"><button name="job" value="%d">`+
				`Stop<span class="hidden"> job %[2]d</span></button></form>`, html.ID.Name, job.ID)
		} else {
			html.put("%s</td>\n<td>", cmp.Or(job.End, job.State))
		}
		html.put("</td></tr>\n")
	}
	html.put("</tbody></table></div>")
}

func (d *triggersData) commands(html *htmlPage) {
	if len(d.Ran) == 0 {
		html.put(`<p class="text soft">None yet.</p>`)
		return
	}
	html.put(`<div class="scroll" role="region" aria-labelledby="commands" tabindex="0"><table>
<thead><tr><th scope="col">At</th><th scope="col">Call</th><th scope="col">Command</th><th scope="col">End</th>` +
		`<th scope="col" class="number">Bytes</th><th scope="col">Who said yes</th></tr></thead>
<tbody>`)
	for _, ran := range d.Ran {
		html.put(`<tr><td><time>%s</time></td><th scope="row">%s</th><td><code dir="auto">%s</code></td><td>%s</td>`+
			`<td class="number">%d</td><td>`, html.moment(ran.At, minute), ran.ID, ran.Command, ran.End, ran.Bytes)
		if ran.By != "" {
			html.put("<bdi>%s</bdi> (%s)", ran.By, ran.Question)
		}
		html.put("</td></tr>\n")
	}
	html.put("</tbody></table></div>")
	if len(d.Ran) < d.All {
		html.put(`<p class="small">The newest %d of %d: lethe jobs %s --all --limit %[2]d</p>`,
			len(d.Ran), d.All, html.ID.Name)
	}
}
