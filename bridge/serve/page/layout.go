package page

import (
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/serve/backend"
)

// layout writes the whole page around a content.
func (p *htmlPage) layout(c content) {
	name := ""
	if p.View != nil {
		name = p.View.Name
	}
	p.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s · %sLethe</title>
<link rel="icon" href="/page/%[3]s/favicon.svg">
<link rel="apple-touch-icon" href="/page/%[3]s/icon.png">
<link rel="manifest" href="/page/%[3]s/manifest.json" crossorigin="use-credentials">
<link rel="stylesheet" href="/page/%[3]s/style.css">
<script defer src="/page/%[3]s/page.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
%[4]s
<div class="book">
<header class="contents">
`, p.Title, when(p.ID.Name != "", format("%s · ", p.ID.Name)), version(),
		when(name == "now", `<a class="skip" href="#text">Skip to what you say</a>`))
	if p.ID.Name == "" {
		p.put(`<p class="who"><a href="/">Lethe</a></p>`)
	} else {
		p.contents()
	}
	p.put(`
</header>
<main id="main" tabindex="-1"%s data-view="%s">
`, when(p.Live != "", format(` data-live="%s"`, p.Live)), name)
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
`, html.Title, d.Error)
	if d.Hint != "" {
		html.put(`<p class="soft"><bdi>%s</bdi></p>`, d.Hint)
	}
	html.put(`</div>
<p class="text"><a href="/agents">All identities</a></p>
`)
}

// wrong tells what is wrong with a form.
func (p *htmlPage) wrong() markup {
	if p.Wrong == nil {
		return ""
	}
	advice := backend.Hint(p.Wrong)
	hint := format(`<p class="soft small"><bdi>%s</bdi></p>`, advice)
	return format(`<div class="text trouble" role="alert"><p><bdi>%s</bdi></p>%s</div>`,
		p.Wrong.Error(), when(advice != "", hint))
}

// how tells the state of an identity in words.
func how(agent report.Agent) markup {
	words := format("%s", agent.State)
	if agent.Host != "" {
		words = format("at <bdi>%s</bdi>", agent.Host)
	}
	if doing := agent.Doing(); agent.PID != 0 && doing != "" {
		words += format(", %s", doing)
	}
	if agent.Endpoint == "offline" {
		words += " · offline model"
	} else if agent.Model != "" {
		words += format(" · %s", agent.Model)
	}
	return words
}

// of names the object of a button for people who hear the page.
func of(name string) markup { return format(`<span class="hidden"> %s</span>`, name) }

// toolCall shows a call of a tool, with its result.
func toolCall(happened happening) markup {
	state, text := markup("runs"), ""
	if result := happened.Result; result != nil {
		state, text = format("%s", result.Status), result.Text
		if result.Job != 0 {
			state += format(", goes on as job %d", result.Job)
		}
	}
	return format(`<details class="did"><summary><b>%s</b> <code>%s</code> <span class="soft">%s</span></summary>
<pre tabindex="0">%s</pre><p>%s</p></details>`,
		happened.Tool, happened.About, state, short(1200, text), toOriginal(happened))
}

func thought(h happening) markup {
	return format(`<details class="did"><summary class="soft">thinks</summary><div class="streams">%s</div>`+
		`<p>%s</p></details>`,
		short(4000, h.Text), toOriginal(h))
}

// memory shows what a mind has let go, was reminded of or has opened.
func memory(happened happening) markup {
	all := format(`<b class="self">%s</b> %s`, happened.Agent, happened.Lead())
	separator := markup(": ")
	for _, ref := range happened.Shown {
		all += separator + linkTo(happened, ref)
		separator = "; "
	}
	if len(happened.More) == 0 {
		return all
	}
	all += format(`<details class="did"><summary>and %d more</summary><ul>`, len(happened.More))
	for _, ref := range happened.More {
		all += "<li>" + linkTo(happened, ref) + "</li>"
	}
	return all + "</ul></details>"
}

func linkTo(h happening, ref blobs.Ref) markup {
	return format(`<a href="/agents/%s/original?hash=%s"><bdi>%s</bdi></a>`,
		h.Agent, inURL(ref.Hash), short(72, ref.Gist))
}

// toOriginal leads to the original of an event.
func toOriginal(happened happening) markup {
	hash := happened.Hash
	if happened.Result != nil {
		hash = happened.Result.Hash
	}
	link := format(`<a class="original-of" href="/agents/%s/original?hash=%s">original</a>`, happened.Agent, inURL(hash))
	return when(hash != "", link)
}
