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
		html.put("\n%s", when(happened.NewDay, "<li>"+html.newDay(happened.At)+"</li>"))
		hasOwn := slices.Contains([]string{events.ToolRequest, events.ThinkingDone, events.Noted}, happened.Type)
		html.put(`<li class="event%s"><time datetime="%s">%s</time><div>%s%s</div></li>`,
			when(happened.Type == events.TurnStart, " turn"), stamp(happened.At), html.moment(happened.At, clock),
			eventOf(happened), when(!hasOwn, " "+toOriginal(happened)))
	}
	html.put("</ol>")
}

// eventOf tells what happened.
func eventOf(happened happening) markup {
	switch happened.Type {
	case events.TurnStart:
		return format(`<span class="soft small">Turn %d</span>`, happened.Turn)
	case events.UserMessage:
		return format(`<b><bdi>%s</bdi></b> <span class="soft small">in %s</span> %s`,
			happened.By, happened.Room, words(happened.Text))
	case events.MessageDone:
		return message(happened)
	case events.ThinkingDone:
		return thought(happened)
	case events.ToolRequest:
		return toolCall(happened)
	case events.Forgot, events.Reminded, events.Opened:
		return memory(happened)
	case events.Asked:
		return format(`<b class="self">%s</b> asks <span class="soft small">in %s</span> %s`,
			happened.Agent, happened.Room, words(happened.Text))
	case events.Answered:
		asked := markup("")
		if happened.Question != nil {
			asked = format("“<bdi>%s</bdi>”", short(200, happened.Question.Text))
		}
		return format(`<b><bdi>%s</bdi></b> answers %s: %s`, happened.By, asked, words(happened.Text))
	case events.Error, events.Paused:
		return format(`<span class="wrong">%s</span>`, happened.Words())
	case events.Noted:
		return format(`<details class="did"><summary class="soft">note: %s</summary><div class="streams">%s</div>`+
			`<p>%s</p></details>`, short(120, cmp.Or(happened.Text, happened.Why)),
			short(2000, happened.Text), toOriginal(happened))
	}
	return format(`<span class="soft">%s</span>`, happened.Words())
}

func message(happened happening) markup {
	where := "aside"
	if rooms := happened.Where(); rooms != "" {
		where = "in " + rooms
	}
	if happened.Status != "" {
		where += " · " + happened.Status
	}
	return format(`<b class="self">%s</b> <span class="soft small">%s</span> %s`,
		happened.Agent, where, words(happened.Text))
}

// words shows the beginning of somebody's words.
func words(text string) markup {
	if !strings.Contains(text, "\n") {
		return format(`<span class="streams" dir="auto">%s</span>`, short(420, unhashed(text)))
	}
	return format(`<div class="said" dir="auto">%s</div>`, formatted(short(600, unhashed(text))))
}

func (p *htmlPage) newDay(at time.Time) markup {
	return format(`<p class="day"><span>%s</span></p>`, p.moment(at, day))
}

// originalData is a text as it is stored.
type originalData struct {
	Blob blobs.Blob
	Text string // its beginning
	Rest int    // bytes behind that
}

func (d originalData) show(html *htmlPage) {
	blob := d.Blob
	moment := format(", %s, %s", html.moment(blob.At, day), html.moment(blob.At, clock))
	before := format(` · <a href="original?hash=%s">the one before</a>`, blob.Parent)
	html.put(`
<h1><bdi>%s</bdi></h1>
<p class="soft small">%s bytes%s%s · <a href="/api/blobs/%s">as it is stored</a></p>
<p class="soft small"><code>%[5]s</code></p>
<pre class="original" dir="auto">%s</pre>
`, cmp.Or(blob.Gist, "A stored text"), report.Count(len(blob.Body)), when(!blob.At.IsZero(), moment),
		when(!blob.Parent.IsZero(), before), blob.Hash, linked(d.Text))
	if d.Rest > 0 {
		html.put(`<p class="soft">%s bytes more are in what is stored.</p>`, report.Count(d.Rest))
	}
}
