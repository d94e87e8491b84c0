package page

import (
	"cmp"
	"slices"

	"lethe/bridge/report"
	"lethe/bridge/report/parts"
)

const saved markup = `<p class="text notice" role="status">Saved. It holds from the next call of the model on.</p>`

func (d *mindData) show(html *htmlPage) {
	html.put(`
<h1>Mind</h1>
<p class="text lead">What %s has before it when it thinks: %s of %s tokens; %s are kept for its answer.</p>
`, html.ID.Name, report.Count(d.Used()), report.Count(d.Limit), report.Count(d.Answer))
	if d.Saved && !d.Opened {
		html.put("%s", saved)
	} else if d.Waiting {
		html.put(`<p class="text notice">An edit of context.md waits to be read; what follows is without it.</p>`)
	}
	d.picture(html)
	for _, g := range d.Groups {
		if len(g.Blocks) > 0 {
			d.group(html, g)
		}
	}
	html.put("\n")
}

// picture draws the blocks in a row.
func (d *mindData) picture(html *htmlPage) {
	html.put(`
<figure class="whole">
<svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="group" ` +
		`aria-label="The context, from its beginning to its limit; the list below says the same in words">
<g aria-hidden="true">`)
	for _, g := range d.Groups {
		for _, b := range g.Blocks {
			html.put(`<a href="?open=%s#%[1]s" tabindex="-1"><rect class="%s" x="%.2f" width="%.2f" height="10">`+
				`<title>%s: %d tokens</title></rect></a>
`, inURL(b.ID), b.Class, b.X, b.Share, clean(b.Label), b.Tokens)
		}
	}
	html.put("</g></svg>\n<figcaption><ul class=\"plain legend\">")
	for _, g := range d.Groups {
		html.put(`<li class="k-%s">%s <span>%s</span></li>`, g.Class, g.Name, report.Count(g.Tokens))
	}
	html.put(`<li class="k-free">for its answer <span>%s</span></li>`+
		`<li class="k-free">free <span>%s</span></li></ul></figcaption>
</figure>
`, report.Count(d.Answer), report.Count(d.Free))
}

const foldedFrom = 20 // more blocks of a group are folded

func (d *mindData) group(html *htmlPage, one *group) {
	html.put(`<section class="text blocks" aria-labelledby="g-%s">
<h2 id="g-%[1]s">%s <small class="soft">%s tokens</small></h2>
`, one.Class, one.Name, report.Count(one.Tokens))
	isFolded := one.Class == "gist" && len(one.Blocks) > foldedFrom
	if isFolded {
		isOpen := slices.ContainsFunc(one.Blocks, func(b *block) bool { return b.Open })
		html.put(`<details class="folded"%s><summary>%d parts</summary>`, when(isOpen, " open"), len(one.Blocks))
	}
	html.put("\n<ol class=\"plain\">")
	for _, b := range one.Blocks {
		d.block(html, one, b)
	}
	html.put("</ol>%s\n</section>", when(isFolded, "</details>"))
}

func (d *mindData) block(html *htmlPage, one *group, shown *block) {
	id, opens := inURL(shown.ID), ""
	if !shown.Open {
		opens = "open=" + id
	}
	html.put(`<li id="%s"%s>
<a class="block" href="?%s#%s"%s><svg aria-hidden="true"><rect class="%s" width="%.1f%%" height="100%%"/></svg>
<span><b><bdi>%s</bdi></b> <bdi>%s</bdi></span> <small>%d</small></a>
`, shown.ID, when(shown.Open, ` class="open"`), opens, id, when(shown.Open, ` aria-expanded="true"`), shown.Class,
		report.Hundredths(shown.Tokens, one.Tokens), clean(shown.Label), clean(short(80, shown.Line)), shown.Tokens)
	if shown.Open {
		d.opened(html, shown)
	}
	html.put("</li>")
}

// opened writes the text of a block, where it comes from, and the form that edits it.
func (d *mindData) opened(html *htmlPage, shown *block) {
	html.put("<div class=\"opened\">%s\n<p class=\"soft small\">", when(d.Saved, saved))
	if !shown.At.IsZero() {
		html.time(shown.At)
	}
	if shown.Epoch != 0 {
		html.put(` · so since <a href="/agents/%s/forgetting#k%d">epoch %[2]d</a>`, html.ID.Name, shown.Epoch)
	}
	if shown.Away != 0 {
		html.put(" · %d %s away", shown.Away, counted(shown.Away, "ref", "refs"))
	}
	html.put("\n")
	if !shown.Original.IsZero() {
		name := "the original"
		if shown.Class == "card" {
			name = "what the card lists"
		}
		html.put(` · <a href="original?hash=%s">%s</a>`, shown.Original, name)
	}
	if !shown.Replacement.IsZero() {
		html.put(` · <a href="original?hash=%s">the summary</a>`, shown.Replacement)
	}
	html.put(`</p>
<pre tabindex="0" aria-label="%s as the model reads it" dir="auto">%s</pre>
`, shown.ID, linked(cmp.Or(shown.Text, shown.Label)))
	if shown.Edit != nil && !shown.Edit.Left {
		editForm(html, shown.Edit, d.Saved)
	}
	html.put("</div>")
}

// editForm writes the form that edits a part.
func editForm(html *htmlPage, e *parts.Part, isOpen bool) {
	name := e.ID
	if e.ID == "memory" {
		name = "MEMORY.md"
	}
	html.put(`<details%s><summary>Edit %s</summary><form method="post" action="/agents/%s/mind/edit">
<input type="hidden" name="part" value="%s"><input type="hidden" name="seen" value="%s">
<label class="hidden" for="edit">Its text</label>
<textarea id="edit" name="text" rows="8" dir="auto">
%s</textarea>
<p class="row"><button class="main">Save</button>%s</p>
<p class="soft small">The original stays, whatever you save; the identity is told what was changed.</p>
</form></details>`, when(isOpen, " open"), name, html.ID.Name, e.ID, e.Seen(), e.Text,
		when(e.ID != "memory" && e.ID != "pins", ` <button name="do" value="remove">Take it out of the context</button>`))
}
