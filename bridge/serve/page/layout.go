package page

import (
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
)

// layout writes the whole page around a content.
func (p *htmlPage) layout(c content) {
	p.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s · `, p.Title)
	if p.ID.Name != "" {
		p.put("%s · ", p.ID.Name)
	}
	p.put(`Lethe</title>
<link rel="icon" href="/page/%[1]s/favicon.svg">
<link rel="apple-touch-icon" href="/page/%[1]s/icon.png">
<link rel="manifest" href="/page/%[1]s/manifest.json" crossorigin="use-credentials">
<link rel="stylesheet" href="/page/%[1]s/style.css">
<script defer src="/page/%[1]s/page.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
`, version())
	name := ""
	if p.View != nil {
		name = p.View.Name
	}
	p.put(`%s
<div class="book">
<header class="contents">
`, when(name == "now", `<a class="skip" href="#text">Skip to what you say</a>`))
	if p.ID.Name == "" {
		p.put(`<p class="who"><a href="/">Lethe</a></p>`)
	} else {
		p.contents()
	}
	p.put(`
</header>
<main id="main" tabindex="-1"`)
	if p.Live != "" {
		p.put(` data-live="%s"`, p.Live)
	}
	p.put(` data-view="%s">
`, name)
	c.show(p)
	p.put(`
</main>
</div>
</body>
</html>
`)
}

// contents writes the way to other identities, and to the other views of this one.
func (p *htmlPage) contents() {
	p.put(`<details class="who"><summary>%s</summary>
<ul aria-label="Identities">`, p.ID.Name)
	for _, id := range p.Agents() {
		current := when(id.Self == p.ID.Self, ` aria-current="true"`)
		p.put(`<li><a href="/agents/%s/%s"%s>%[1]s</a></li>`, id.Name, p.View.Name, current)
	}
	p.put(`</ul><p><a href="/agents">All identities</a></p><p><a href="/agents/%s/devices">Devices</a></p></details>
`, p.ID.Name)
	if p.View.Name != "recall" {
		p.put(`<form class="find" role="search" aria-label="Everywhere" action="/agents/%s/recall">`+
			`<label class="hidden" for="find">Search all that was said, and all that has faded</label>`+
			`<input id="find" name="q" type="search" placeholder="Search" required></form>
`, p.ID.Name)
	}
	p.put(`<nav aria-label="Views"><ul>`)
	for _, v := range p.Views {
		if !v.Apart {
			p.put(`<li><a href="/agents/%s/%s"%s>%s</a></li>`,
				p.ID.Name, v.Name, when(v == p.View, ` aria-current="page"`), v.Title)
		}
	}
	p.put(`</ul></nav>
`)
}

// failure is shown where a view could not be.
type failure struct{ Error, Hint string }

func (d failure) show(html *htmlPage) {
	html.put(`<h1>%s</h1>
<div class="text trouble"><p><bdi>%s</bdi></p>
`, html.Title, clean(d.Error))
	if d.Hint != "" {
		html.put(`<p class="soft"><bdi>%s</bdi></p>`, clean(d.Hint))
	}
	html.put(`</div>
<p class="text"><a href="/agents">All identities</a></p>
`)
}

// wrong writes what is wrong with a form.
func (p *htmlPage) wrong() {
	if p.Wrong == nil {
		return
	}
	p.put(`<div class="text trouble" role="alert"><p><bdi>%s</bdi></p>`, clean(p.Wrong.Error()))
	if hint := backend.Hint(p.Wrong); hint != "" {
		p.put(`<p class="soft small"><bdi>%s</bdi></p>`, clean(hint))
	}
	p.put("</div>")
}

// how writes the state of an identity in words.
func (p *htmlPage) how(agent report.Agent) {
	if agent.Host != "" {
		p.put("at <bdi>%s</bdi>", clean(agent.Host))
	} else {
		p.put("%s", agent.State)
	}
	if agent.PID != 0 {
		if doing := agent.Doing(); doing != "" {
			p.put(", %s", clean(doing))
		}
	}
	if agent.Endpoint == "offline" {
		p.put(" · offline model")
	} else if agent.Model != "" {
		p.put(" · %s", clean(agent.Model))
	}
}

// of names the object of a button for people who hear the page.
func of(name string) markup {
	var p htmlPage
	p.put(`<span class="hidden"> %s</span>`, name)
	return markup(p.String())
}

// call writes a call of a tool, with its result.
func (p *htmlPage) call(happened happening) {
	tool, about := clean(happened.Tool), clean(happened.About)
	p.put(`<details class="did"><summary><b>%s</b> <code>%s</code> <span class="soft">`, tool, about)
	text := ""
	if happened.Result == nil {
		p.put("runs")
	} else {
		p.put("%s", happened.Result.Status)
		if happened.Result.Job != 0 {
			p.put(", goes on as job %d", happened.Result.Job)
		}
		text = happened.Result.Text
	}
	p.put(`</span></summary>
<pre tabindex="0">%s</pre>`, clean(short(1200, text)))
	p.more(happened)
	p.put("</details>")
}

func (p *htmlPage) thought(h happening) {
	thought := clean(short(4000, h.Text))
	p.put(`<details class="did"><summary class="soft">thinks</summary><div class="streams">%s</div>`, thought)
	p.more(h)
	p.put("</details>")
}

// memory writes what a mind has let go, was reminded of or has opened.
func (p *htmlPage) memory(happened happening) {
	p.put(`<b class="self">%s</b> %s`, happened.Agent, happened.Lead())
	for i, ref := range happened.Shown {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		p.put("%s", separator)
		p.ref(happened, ref)
	}
	if len(happened.More) == 0 {
		return
	}
	p.put(`<details class="did"><summary>and %d more</summary><ul>`, len(happened.More))
	for _, ref := range happened.More {
		p.put("<li>")
		p.ref(happened, ref)
		p.put("</li>")
	}
	p.put("</ul></details>")
}

func (p *htmlPage) ref(h happening, ref blobs.Ref) {
	p.put(`<a href="/agents/%s/original?hash=%s"><bdi>%s</bdi></a>`, h.Agent, inURL(ref.Hash), clean(short(72, ref.Gist)))
}

// more leads to the original of an event from what is folded.
func (p *htmlPage) more(h happening) {
	p.put("<p>")
	p.original(h)
	p.put("</p>")
}

func (p *htmlPage) original(happened happening) {
	hash := happened.Hash
	if happened.Result != nil {
		hash = happened.Result.Hash
	}
	if hash != "" {
		p.put(`<a class="original-of" href="/agents/%s/original?hash=%s">original</a>`, happened.Agent, inURL(hash))
	}
}
