package page

import (
	"cmp"
	"strings"
	"time"

	"lethe/agent/events"
	"lethe/blobs"
)

func (d *lifeData) show(p *htmlPage) {
	p.put(`
<h1>Life</h1>
<nav class="kinds" aria-label="Kinds of events"><ul class="plain row">`)
	for _, kind := range d.Kinds {
		current := when(kind == d.Kind, ` aria-current="true"`)
		if kind == "" {
			p.put(`<li><a href="?"%s>everything</a></li>`, current)
		} else {
			p.put(`<li><a href="?kind=%s"%s>%[1]s</a></li>`, kind, current)
		}
	}
	p.put(`</ul></nav>
<div class="text">
<div data-part="events" data-query="kind=%s">`, d.Kind)
	d.events(p)
	p.put("</div>\n")
	if len(d.Events) == 0 {
		p.put(`<p class="soft">Nothing of this kind in these %d lines.</p>`, d.Lines)
	}
	p.put("\n")
	if d.Newest {
		p.put(`<p id="wrong" role="alert"></p>`)
	} else {
		p.put(`<p class="soft small"><a href="?kind=%s">Newest</a></p>`, d.Kind)
	}
	p.put("\n</div>\n")
}

func (d *lifeData) parts() map[string]func(*htmlPage) {
	return map[string]func(*htmlPage){"events": d.events}
}

func (d *lifeData) events(p *htmlPage) {
	p.put("<ol class=\"plain events\" data-after=\"%s\">\n", d.After)
	if d.Older != 0 {
		p.put(`<li class="soft small more"><a data-more href="?kind=%s&amp;before=%d">Older</a></li>`, d.Kind, d.Older)
	}
	for _, h := range d.Events {
		p.put("\n")
		if h.NewDay {
			p.put("<li>")
			p.newDay(h.At)
			p.put("</li>")
		}
		p.put(`<li class="event%s"><time datetime="%s">%s</time><div>`,
			when(h.Type == events.TurnStart, " turn"), stamp(h.At), p.clock(h.At))
		p.event(h)
		hasOwn := h.Type == events.ToolRequest || h.Type == events.ThinkingDone || h.Type == events.Noted
		if !hasOwn {
			p.put(" ")
			p.original(h)
		}
		p.put("</div></li>")
	}
	p.put("</ol>")
}

// event writes what happened.
func (p *htmlPage) event(h happening) {
	switch h.Type {
	case events.TurnStart:
		p.put(`<span class="soft small">Turn %d</span>`, h.Turn)
	case events.UserMessage:
		p.put(`<b><bdi>%s</bdi></b> <span class="soft small">in %s</span> `, clean(h.By), h.Room)
		p.words(h.Text)
	case events.MessageDone:
		p.message(h)
	case events.ThinkingDone:
		p.thought(h)
	case events.ToolRequest:
		p.call(h)
	case events.Forgot, events.Reminded, events.Opened:
		p.memory(h)
	case events.Asked:
		p.put(`<b class="self">%s</b> asks <span class="soft small">in %s</span> `, h.Agent, h.Room)
		p.words(h.Text)
	case events.Answered:
		p.put(`<b><bdi>%s</bdi></b> answers `, clean(h.By))
		if h.Question != nil {
			p.put("“<bdi>%s</bdi>”", clean(short(200, h.Question.Text)))
		}
		p.put(": ")
		p.words(h.Text)
	case events.Error, events.Paused:
		p.put(`<span class="wrong">%s</span>`, clean(h.Words()))
	case events.Noted:
		p.put(`<details class="did"><summary class="soft">note: %s</summary><div class="streams">%s</div>`,
			clean(short(120, cmp.Or(h.Text, h.Why))), clean(short(2000, h.Text)))
		p.more(h)
		p.put("</details>")
	default:
		p.put(`<span class="soft">%s</span>`, clean(h.Words()))
	}
}

func (p *htmlPage) message(h happening) {
	where := "aside"
	if rooms := h.Where(); rooms != "" {
		where = "in " + rooms
	}
	if h.Status != "" {
		where += " · " + h.Status
	}
	p.put(`<b class="self">%s</b> <span class="soft small">%s</span> `, h.Agent, where)
	p.words(h.Text)
}

// words writes the beginning of what somebody said.
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

func (d originalData) show(p *htmlPage) {
	b := d.Blob
	p.put("\n<h1><bdi>%s</bdi></h1>\n<p class=\"soft small\">%s bytes", clean(cmp.Or(b.Gist, "A stored text")), count(len(b.Body)))
	if !b.At.IsZero() {
		p.put(", %s, %s", p.day(b.At), p.clock(b.At))
	}
	if !b.Parent.IsZero() {
		p.put(` · <a href="original?hash=%s">the one before</a>`, b.Parent)
	}
	p.put(` · <a href="/api/blobs/%s">as it is stored</a></p>
<p class="soft small"><code>%[1]s</code></p>
<pre class="original" dir="auto">%s</pre>
`, b.Hash, linked(d.Text))
	if d.Rest > 0 {
		p.put(`<p class="soft">%s bytes more are in what is stored.</p>`, count(d.Rest))
	}
	p.put("\n")
}
