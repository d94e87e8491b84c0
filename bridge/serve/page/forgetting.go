package page

import (
	"cmp"
	"net/http"
	"slices"

	"lethe/agent/events"
	"lethe/agent/home"
	"lethe/agent/prompt"
	"lethe/bridge/report"
	"lethe/bridge/report/history"
	"lethe/bridge/serve/backend"
)

// forgetting shows how the context has changed from epoch to epoch, and where the things went that left it.
var forgetting = view{Name: "forgetting", Title: "Forgetting", data: forgettingOf}

type forgettingData struct {
	Epochs []*history.Epoch // the oldest first
	Newest []*history.Epoch // the same, the newest first
	Older  int64            // where to go on behind these: a place in LIFE; 0 where nothing is older
	Later  bool             // there are newer epochs
	Limit  int
	Counts map[string]int // entries, and blocks of each level, as they are now
	Away   int            // refs that the furthest original is away
	history.Drawing
}

func forgettingOf(page *frame, r *http.Request) (content, error) {
	before, err := backend.Place(r, "before")
	if err != nil {
		return nil, err
	}
	data := &forgettingData{Later: before > 0, Limit: cmp.Or(page.ContextLimit, prompt.DefaultLimit)}
	if data.Epochs, data.Older, err = history.Epochs(page.Store, page.ID, max(0, before)); err != nil {
		return nil, err
	}
	if live, running := report.Live(page.ID); running && live.ContextLimit > 0 {
		data.Limit = live.ContextLimit
	}
	data.Drawing = history.Draw(data.Epochs, data.Limit)
	data.Newest = slices.Clone(data.Epochs)
	slices.Reverse(data.Newest)
	state, err := home.Fold(page.ID, page.Store)
	if err != nil {
		return nil, err
	}
	data.Counts = map[string]int{"all": state.Next - 1, "live": len(state.Live)}
	for _, r := range state.Faded {
		data.Counts[r.Level]++
		data.Away = max(data.Away, 1+r.Tier)
	}
	return data, nil
}

func (d *forgettingData) show(html *htmlPage) {
	html.put("\n<h1>Forgetting</h1>\n")
	if len(d.Epochs) == 0 {
		html.put("<p class=\"text\">Nothing was recorded yet.</p>\n%s", exampleOfForgetting)
		return
	}
	d.counts(html)
	d.picture(html)
	if d.Away == 0 {
		html.put("%s", exampleOfForgetting)
	}
	if d.Older != 0 || d.Later {
		html.put(`<p class="row small">`)
		if d.Older != 0 {
			html.put(`<a href="?before=%d">Older epochs</a>`, d.Older)
		}
		html.put(`%s</p>`, when(d.Later, ` <a href="?">Newest epochs</a>`))
	}
	for i, e := range d.Newest {
		showEpoch(html, e, i == 0)
	}
}

// exampleOfForgetting shows what the picture is once something has faded.
const exampleOfForgetting markup = `<figure class="strata example"><svg viewBox="0 0 300 100" preserveAspectRatio="none" ` +
	`aria-hidden="true"><path class="limit" d="M0 8H300"/>` +
	`<path class="system" d="M0 88h80v12H0zM110 88h80v12h-80zM220 88h80v12h-80z"/>` +
	`<path class="live" d="M0 88L80 12V88zM110 58L190 12V76H110zM220 56L300 30V72H220z"/>` +
	`<path class="summary" d="M110 76h80v12h-80zM220 72h80v8h-80z"/><path class="gist" d="M220 80h80v8h-80z"/></svg>` +
	`<figcaption class="text soft small">An example of three epochs. What is said piles up to the limit; then the older ` +
	`part fades to summaries, and later to gists, and there is room again. Every original stays.</figcaption></figure>
`

// counts counts the entries that are there word for word, and the texts that stand for the others.
func (d *forgettingData) counts(html *htmlPage) {
	all := d.Counts["all"]
	html.put(`<p class="text lead">`)
	switch {
	case d.Away > 0:
		html.put("%s has %d of %d entries before it word for word. For the others it has",
			html.ID.Name, d.Counts["live"], all)
		for _, level := range [][2]string{{"summary", "summaries"}, {"gist", "gists"}, {"card", "cards"}} {
			if n := d.Counts[level[0]]; n > 0 {
				html.put(" %d %s,", n, counted(n, level[0], level[1]))
			}
		}
		html.put(" and every original is kept, at most %d %s away.", d.Away, counted(d.Away, "ref", "refs"))
	case all == 0:
		html.put("Nothing has faded yet: %s has no entries yet.", html.ID.Name)
	case all == 1:
		html.put("Nothing has faded yet: %s has its only entry before it word for word.", html.ID.Name)
	default:
		html.put("Nothing has faded yet: %s has all %d entries before it word for word.", html.ID.Name, all)
	}
	html.put("</p>\n")
}

// picture draws the context over the epochs.
func (d *forgettingData) picture(html *htmlPage) {
	html.put(`<figure class="strata">
<div class="picture"><div class="scroll" role="region" aria-label="The picture" tabindex="0"><div>
<svg viewBox="0 0 %d %d" preserveAspectRatio="none" role="group" `+
		`aria-label="The context over %d epochs; the list below says the same in words">
`, d.Width, d.Height, len(d.Epochs))
	for _, drawn := range d.Shapes {
		if drawn.Link != "" {
			html.put(`<a href="#%s" tabindex="-1" aria-hidden="true">`, inURL(drawn.Link))
		}
		html.put(`<path class="%s" d="%s"><title>%s</title></path>%s
`, drawn.Class, drawn.Path, drawn.Title, when(drawn.Link != "", "</a>"))
	}
	for _, m := range d.Marks {
		html.put(`<a href="#%s" tabindex="-1" aria-hidden="true"><path class="%s" d="%s"><title>%s</title></path>`+
			`<path class="tip" d="%s"/></a>
`, inURL(m.Link), m.Class, m.Path, m.Title, m.Tip)
	}
	html.put("</svg>\n<ol class=\"plain columns\">")
	for _, one := range d.Epochs {
		html.put(`<li><a href="#k%d">epoch <b>%[1]d</b> <span>%s</span> <span>`, one.K, html.moment(one.At, "2 Jan 15:04"))
		if n := len(one.Fades); n > 0 {
			html.put("%d faded, ", n)
		}
		html.put("%s</span></a></li>", report.Dollars(one.USD))
	}
	html.put(`</ol>
</div></div>
<svg class="labels" viewBox="0 0 96 %d" preserveAspectRatio="xMinYMin" aria-hidden="true">`, d.Height)
	for _, l := range d.Labels {
		html.put(`<text y="%.0f"><tspan class="name">%s</tspan> %s</text>`, l.Y, l.Name, report.Count(l.Tokens))
	}
	html.put(`</svg></div>
<figcaption><ul class="plain legend"><li class="k-live">live, word for word</li><li class="k-summary">summary</li>`+
		`<li class="k-gist">gist</li><li class="k-card">card</li><li class="k-notes">pins, MEMORY</li>`+
		`<li class="k-system">prompt, tools</li><li class="k-reminded">reminded</li><li class="k-opened">opened</li></ul>
<p class="text soft small">Each column is an epoch: what is said piles up, until it comes near the limit of %s tokens `+
		`(dashed). Then the darker bands fade to the summaries, gists and cards that stand for them; the pale bands stay `+
		`word for word. A red line leads up from what came back.</p></figcaption>
</figure>
`, report.Count(d.Limit))
}

// showEpoch writes an epoch in words; the newest is unfolded.
func showEpoch(html *htmlPage, e *history.Epoch, isNewest bool) {
	html.put(`<section class="text epoch" id="k%d">
<h2>Epoch %[1]d <small class="soft">%s</small></h2>
<p class="soft small">%s%s · %d %s of the model, %s`, e.K, events.Cause(e.Why), html.time(e.At),
		when(e.Cut, " · its beginning is older than what is read here"), e.Calls,
		counted(e.Calls, "call", "calls"), report.Dollars(e.USD))
	if e.Forgetting != 0 {
		html.put(", %s of it to summarise", report.Dollars(e.Forgetting))
	}
	html.put("</p>\n")
	if e.Before != 0 && e.After != 0 {
		html.put("<p>%s → %s tokens", report.Count(e.Before), report.Count(e.After))
		if e.Last > e.After {
			html.put(", grown to %s", report.Count(e.Last))
		}
		html.put("</p>")
	}
	if a := e.Again; a.Tokens > 0 {
		html.put("<p>Read again after it was forgotten: %d opened, %d searched, %d calls repeated: %s tokens, %s</p>",
			a.Opened, a.Searched, a.Repeated, report.Count(a.Tokens), report.Dollars(a.USD))
	}
	open := when(isNewest, " open")
	if n := len(e.Fades); n > 0 {
		html.put("<details%s><summary><h3>Let go: %d</h3></summary>\n<ul class=\"plain fades\">", open, n)
		for i, f := range e.Fades {
			showFaded(html, f, e.K, i)
		}
		html.put("</ul></details>")
	}
	if n := len(e.Reminded); n > 0 {
		html.put("<details%s><summary><h3>Came up again: %d</h3></summary>\n<ul class=\"plain fades\">", open, n)
		for i, r := range e.Reminded {
			showReminder(html, r, e.K, i)
		}
		html.put("</ul></details>")
	}
	html.put("\n</section>")
}

func showFaded(html *htmlPage, f history.Faded, k, i int) {
	html.put(`<li id="k%d-f%d"><p><span class="dot k-%s"></span> <b>%s</b> `+
		`<span class="soft">%s → %[3]s, relevance %[6]d</span></p>
<p dir="auto"><bdi>%[7]s</bdi></p>
<p class="small">`, k, i, f.To, history.Entries(f.Entries.From, f.Entries.To), f.Was, f.Relevance,
		cmp.Or(f.Replacement.Gist, f.Original.Gist))
	if hash := f.Replacement.Hash; hash != "" {
		html.put(`<a href="original?hash=%s">the %s</a> · `, inURL(hash), f.To)
	}
	if hash := f.Original.Hash; hash != "" {
		html.put(`<a href="original?hash=%s">the original</a>, `, inURL(hash))
	}
	html.put(`<span class="soft">%d %s away</span></p></li>`, f.Away, counted(f.Away, "ref", "refs"))
}

func showReminder(html *htmlPage, r history.Reminder, k, i int) {
	class, what := "reminded", "was reminded of"
	if r.Opened {
		class, what = "opened", "opened"
	}
	html.put(`<li id="k%d-r%d"><p><span class="dot k-%s"></span> <b>%s</b> <span class="soft">%s`,
		k, i, class, r.Entry, what)
	if r.From != 0 {
		html.put(" %s", history.Entries(r.From, r.To))
	}
	html.put(` at %s</span></p>
<p dir="auto"><a href="original?hash=%s"><bdi>%s</bdi></a></p></li>`,
		html.moment(r.At, clock), inURL(r.Hash), cmp.Or(r.Gist, r.Hash))
}
