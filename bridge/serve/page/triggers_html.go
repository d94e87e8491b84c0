package page

import (
	"cmp"
	"time"

	"lethe/bridge/report"
)

func (d *triggersData) show(p *htmlPage) {
	name := p.ID.Name
	p.put("\n<h1>Triggers and jobs</h1>\n")
	if d.Draft.Text == "" {
		p.wrong()
	}
	p.put("\n")
	if p.R.FormValue("saved") != "" {
		p.put(`<p class="text notice" role="status">Saved.`)
		if !d.Running {
			p.put(" It fires when %s runs.", name)
		}
		p.put("</p>")
	}
	p.put("\n")
	d.fired(p)
	p.put("\n<h2 id=\"triggers\">What wakes %s by itself</h2>\n", name)
	if len(d.Triggers) == 0 {
		p.put(`<p class="text soft">Nothing yet. Ask it: “every day at nine say good morning”.</p>`)
	} else {
		d.table(p)
	}
	p.put("\n")
	d.form(p)
	p.put("\n<h2 id=\"jobs\">Commands beside the talk</h2>\n")
	d.jobs(p)
	p.put("\n<h2 id=\"commands\">Every command that ran</h2>\n")
	d.commands(p)
	p.put("\n")
}

func (d *triggersData) parts() map[string]func(*htmlPage) {
	return map[string]func(*htmlPage){"check": d.check}
}

// fired tells that a form has fired a trigger.
func (d *triggersData) fired(p *htmlPage) {
	for _, t := range d.Triggers {
		if t.Name != p.R.FormValue("fired") {
			continue
		}
		p.put(`<p class="text notice" role="status">%s fires `, clean(t.Name))
		if d.Running {
			p.put("now")
		} else {
			p.put("when %s runs", p.ID.Name)
		}
		p.put("; its line stands in its room.</p>")
	}
}

func (d *triggersData) table(p *htmlPage) {
	p.put(`<div class="scroll" role="region" aria-labelledby="triggers" tabindex="0"><table>
<thead><tr><th scope="col">Trigger</th><th scope="col">When</th><th scope="col">Next</th><td></td><th scope="col">Room</th>` +
		`<th scope="col">Last</th><th scope="col" class="number">Fired</th><th scope="col" class="number">Missed</th>` +
		`<th scope="col" class="number">Dollars</th></tr></thead>
<tbody>`)
	for _, t := range d.Triggers {
		p.put(`<tr><th scope="row"><bdi>%s</bdi></th><td><bdi>%s</bdi>`, clean(t.Name), clean(t.When))
		if t.Error != "" {
			p.put(`<p class="trouble small"><bdi>%s</bdi></p>`, clean(t.Error))
		}
		p.put("</td><td>")
		if t.Paused {
			p.put("paused")
		} else {
			p.at(t.Next)
		}
		p.put("</td>\n<td>")
		if t.When != "" || t.Error != "" {
			p.control(t)
		}
		p.put("</td>\n<td>%s</td><td>", t.Room)
		p.at(t.Last)
		p.put(`</td><td class="number">%d</td><td class="number">%d</td><td class="number">%s</td></tr>
`, t.Fired, t.Missed, dollars(t.USD))
	}
	p.put("</tbody></table></div>")
}

// at writes a moment, if it is known.
func (p *htmlPage) at(t time.Time) {
	if !t.IsZero() {
		p.put("<time>%s</time>", p.minute(t))
	}
}

// control writes the buttons of a trigger.
func (p *htmlPage) control(t report.Trigger) {
	self, of := p.ID.Name, of(t.Name)
	p.put(`<form class="row" method="post" action="/agents/%s/triggers/turn"><input type="hidden" name="trigger" value="%s">`,
		self, t.Name)
	dot := ""
	if t.Paused {
		dot = "."
		p.put(`<button name="do" value="resume">Resume%s</button> <button name="do" value="remove">Remove%[1]s</button>`, of)
	} else {
		p.put(`<button formaction="/agents/%s/triggers/fire">Run now%s</button> `+
			`<button name="do" value="pause">Pause%[2]s</button>`, self, of)
	}
	p.put(` <a href="/agents/%s/triggers?name=%s#edit">Edit%s</a></form>`, self, inURL(dot+t.Name), of)
}

// example is the text of a new trigger, in a room.
const example = `cron = "0 9 * * 1-5"   # minute hour day month weekday
room = "%s"
say = "Write the morning brief: what is open, what is due today."
`

// form writes the form that makes and changes a trigger.
func (d *triggersData) form(p *htmlPage) {
	name, isThere := p.R.FormValue("name"), d.Draft.Seen != ""
	p.put(`<form class="text fields" id="edit" method="post" action="/agents/%s/triggers/edit#edit" data-check>
<h2>`, p.ID.Name)
	if isThere {
		p.put("Change %s", name)
	} else {
		p.put("Make a trigger")
	}
	p.put(`</h2>
<input type="hidden" name="seen" value="%s">
<p><label for="name">Name</label><input id="name" name="name" value="%s" required maxlength="33" `+
		`pattern="\.?[a-z0-9][a-z0-9\-]*" placeholder="morning-brief" title="a-z, 0-9 and -" autocapitalize="none"%s></p>
<p><label for="text">When, and what is said then</label><textarea id="text" name="text" rows="4" required `+
		`spellcheck="false" aria-describedby="when">
`, d.Draft.Seen, name, when(isThere, " readonly"))
	if d.Draft.Text == "" {
		p.put(example, d.Room)
	} else {
		p.put("%s", d.Draft.Text)
	}
	p.put(`</textarea></p>
<div role="status" data-checked>`)
	d.check(p)
	p.put(`</div>
<p class="soft small" id="when">Instead of cron: every = "10m", at = "2026-11-23 09:00", watch = "a-file", ` +
		`mail = "/a/directory". Also run = "a command", tz = "Europe/Berlin", quiet = "22:00-07:00", grace = "12h".</p>
<p class="row"><button class="main">Save</button> <button name="do" value="check" formnovalidate>Check</button>`)
	if isThere {
		p.put(` <a href="/agents/%s/triggers#edit">Make another one</a>`, p.ID.Name)
	}
	p.put("</p>\n</form>")
}

// check says when the draft would fire, or what is wrong with it.
func (d *triggersData) check(p *htmlPage) {
	switch {
	case d.Draft.Text == "":
	case p.Wrong != nil:
		p.wrong()
	case len(d.Draft.Next) == 0:
		p.put(`<p class="small">It does not come by the clock.</p>`)
	default:
		p.put(`<p class="small">Next: `)
		for i, next := range d.Draft.Next {
			p.put("%s", when(i > 0, ", "))
			p.at(next)
		}
		p.put("</p>")
	}
}

func (d *triggersData) jobs(p *htmlPage) {
	if len(d.Jobs) == 0 {
		p.put(`<p class="text soft">None yet.</p>`)
		return
	}
	p.put(`<div class="scroll" role="region" aria-labelledby="jobs" tabindex="0"><table>
<thead><tr><th scope="col">Job</th><th scope="col">Command</th><th scope="col">Began</th><th scope="col">End</th>` +
		`<td></td></tr></thead>
<tbody>`)
	for _, job := range d.Jobs {
		p.put(`<tr><th scope="row">%d</th><td><code dir="auto">%s</code></td><td>`, job.ID, clean(short(200, job.Command)))
		p.put("<time>%s</time></td><td>", p.minute(job.Began))
		if job.State == "running" {
			p.put(`runs</td>
<td><form method="post" action="/agents/%s/triggers/stop"><button name="job" value="%d">`+
				`Stop<span class="hidden"> job %[2]d</span></button></form>`, p.ID.Name, job.ID)
		} else {
			p.put("%s</td>\n<td>", clean(cmp.Or(job.End, job.State)))
		}
		p.put("</td></tr>\n")
	}
	p.put("</tbody></table></div>")
}

func (d *triggersData) commands(p *htmlPage) {
	if len(d.Ran) == 0 {
		p.put(`<p class="text soft">None yet.</p>`)
		return
	}
	p.put(`<div class="scroll" role="region" aria-labelledby="commands" tabindex="0"><table>
<thead><tr><th scope="col">At</th><th scope="col">Call</th><th scope="col">Command</th><th scope="col">End</th>` +
		`<th scope="col" class="number">Bytes</th><th scope="col">Who said yes</th></tr></thead>
<tbody>`)
	for _, ran := range d.Ran {
		p.put(`<tr><td><time>%s</time></td><th scope="row">%s</th><td><code dir="auto">%s</code></td><td>%s</td>`+
			`<td class="number">%d</td><td>`, p.minute(ran.At), clean(ran.ID), clean(ran.Command), clean(ran.End), ran.Bytes)
		if ran.By != "" {
			p.put("<bdi>%s</bdi> (%s)", clean(ran.By), ran.Question)
		}
		p.put("</td></tr>\n")
	}
	p.put("</tbody></table></div>")
	if len(d.Ran) < d.All {
		p.put(`<p class="small">The newest %d of %d: lethe jobs %s --all --limit %[2]d</p>`, len(d.Ran), d.All, p.ID.Name)
	}
}
