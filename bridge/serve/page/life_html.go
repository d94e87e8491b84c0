package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lethe/agent/events"
	"lethe/blobs"
	"lethe/bridge/report"
)

func (d *lifeData) show(html *htmlPage) {
	html.put(`
<h1>Life</h1>
<nav class="kinds" aria-label="Kinds of events"><ul class="plain row">`)
	for _, kind := range d.Kinds {
		current := when(kind == d.Kind, ` aria-current="true"`)
		if kind == "" {
			html.put(`<li><a href="?"%s>everything</a></li>`, current)
		} else {
			html.put(`<li><a href="?kind=%s"%s>%[1]s</a></li>`, kind, current)
		}
	}
	html.put(`</ul></nav>
<div class="text">
<div data-part="events" data-query="kind=%s">`, d.Kind)
	d.events(html)
	html.put("</div>\n")
	if len(d.Events) == 0 {
		html.put(`<p class="soft">Nothing of this kind in these %d lines.</p>`, d.Lines)
	}
	html.put("\n")
	if d.Newest {
		html.put(`<p id="wrong" role="alert"></p>`)
	} else {
		html.put(`<p class="soft small"><a href="?kind=%s">Newest</a></p>`, d.Kind)
	}
	html.put("\n</div>\n")
}

func (d *lifeData) parts() map[string]func(*htmlPage) {
	return map[string]func(*htmlPage){"events": d.events}
}

func (d *lifeData) events(html *htmlPage) {
	html.put("<ol class=\"plain events\" data-after=\"%s\">\n", d.After)
	if d.Older != 0 {
		html.put(`<li class="soft small more"><a data-more href="?kind=%s&amp;before=%d">Older</a></li>`, d.Kind, d.Older)
	}
	for _, happened := range d.Events {
		html.put("\n")
		if happened.NewDay {
			html.put("<li>")
			html.newDay(happened.At)
			html.put("</li>")
		}
		html.put(`<li class="event%s"><time datetime="%s">%s</time><div>`,
			when(happened.Type == events.TurnStart, " turn"), stamp(happened.At), html.clock(happened.At))
		html.event(happened)
		hasOwn := slices.Contains([]string{events.ToolRequest, events.ThinkingDone, events.Noted}, happened.Type)
		if !hasOwn {
			html.put(" ")
			html.original(happened)
		}
		html.put("</div></li>")
	}
	html.put("</ol>")
}

// event writes what happened.
func (p *htmlPage) event(happened happening) {
	switch happened.Type {
	case events.TurnStart:
		p.put(`<span class="soft small">Turn %d</span>`, happened.Turn)
	case events.UserMessage:
		p.put(`<b><bdi>%s</bdi></b> <span class="soft small">in %s</span> `, clean(happened.By), happened.Room)
		p.words(happened.Text)
	case events.MessageDone:
		p.message(happened)
	case events.ThinkingDone:
		p.thought(happened)
	case events.ToolRequest:
		p.call(happened)
	case events.Forgot, events.Reminded, events.Opened:
		p.memory(happened)
	case events.Asked:
		p.put(`<b class="self">%s</b> asks <span class="soft small">in %s</span> `, happened.Agent, happened.Room)
		p.words(happened.Text)
	case events.Answered:
		p.put(`<b><bdi>%s</bdi></b> answers `, clean(happened.By))
		if happened.Question != nil {
			p.put("“<bdi>%s</bdi>”", clean(short(200, happened.Question.Text)))
		}
		p.put(": ")
		p.words(happened.Text)
	case events.Error, events.Paused:
		p.put(`<span class="wrong">%s</span>`, clean(happened.Words()))
	case events.Noted:
		p.put(`<details class="did"><summary class="soft">note: %s</summary><div class="streams">%s</div>`,
			clean(short(120, cmp.Or(happened.Text, happened.Why))), clean(short(2000, happened.Text)))
		p.more(happened)
		p.put("</details>")
	default:
		p.put(`<span class="soft">%s</span>`, clean(happened.Words()))
	}
}

func (p *htmlPage) message(happened happening) {
	where := "aside"
	if rooms := happened.Where(); rooms != "" {
		where = "in " + rooms
	}
	if happened.Status != "" {
		where += " · " + happened.Status
	}
	p.put(`<b class="self">%s</b> <span class="soft small">%s</span> `, happened.Agent, where)
	p.words(happened.Text)
}

// words writes the beginning of somebody's words.
func (p *htmlPage) words(text string) {
	if !strings.Contains(text, "\n") {
		p.put(`<span class="streams" dir="auto">%s</span>`, clean(short(420, unhashed(text))))
		return
	}
	p.put(`<div class="said" dir="auto">`)
	p.markdown(short(600, unhashed(text)))
	p.put("</div>")
}

func (p *htmlPage) newDay(at time.Time) { p.put(`<p class="day"><span>%s</span></p>`, p.day(at)) }

// originalData is a text as it is stored.
type originalData struct {
	Blob blobs.Blob
	Text string // its beginning
	Rest int    // bytes behind that
}

func (d originalData) show(html *htmlPage) {
	blob := d.Blob
	title, size := clean(cmp.Or(blob.Gist, "A stored text")), report.Count(len(blob.Body))
	html.put("\n<h1><bdi>%s</bdi></h1>\n<p class=\"soft small\">%s bytes", title, size)
	if !blob.At.IsZero() {
		html.put(", %s, %s", html.day(blob.At), html.clock(blob.At))
	}
	if !blob.Parent.IsZero() {
		html.put(` · <a href="original?hash=%s">the one before</a>`, blob.Parent)
	}
	html.put(` · <a href="/api/blobs/%s">as it is stored</a></p>
<p class="soft small"><code>%[1]s</code></p>
<pre class="original" dir="auto">%s</pre>
`, blob.Hash, linked(d.Text))
	if d.Rest > 0 {
		html.put(`<p class="soft">%s bytes more are in what is stored.</p>`, report.Count(d.Rest))
	}
	html.put("\n")
}
