package page

import (
	"cmp"
	"slices"
)

const saved markup = `<p class="text notice" role="status">Saved. It holds from the next call of the model on.</p>`

func (d *mindData) show(p *htmlPage) {
	p.put(`
<h1>Mind</h1>
<p class="text lead">What %s has before it when it thinks: %s of %s tokens, %s of them kept for its answer.</p>
`, p.ID.Name, count(d.Total), count(d.Limit), count(d.Answer))
	if d.Saved && !d.Opened {
		p.put("%s", saved)
	} else if d.Waiting {
		p.put(`<p class="text notice">An edit of context.md waits to be read; what follows is without it.</p>`)
	}
	d.picture(p)
	for _, g := range d.Groups {
		if len(g.Blocks) > 0 {
			d.group(p, g)
		}
	}
	p.put("\n")
}

// picture draws the blocks in a row.
func (d *mindData) picture(p *htmlPage) {
	p.put(`
<figure class="whole">
<svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="group" ` +
		`aria-label="The context, from its beginning to its limit; the list below says the same in words">
<g aria-hidden="true">`)
	for _, g := range d.Groups {
		for _, b := range g.Blocks {
			p.put(`<a href="?open=%s#%[1]s" tabindex="-1"><rect class="%s" x="%.2f" width="%.2f" height="10">`+
				`<title>%s: %d tokens</title></rect></a>
`, inURL(b.ID), b.Class, b.X, b.Share, clean(b.Label), b.Tokens)
		}
	}
	p.put("</g></svg>\n<figcaption><ul class=\"plain legend\">")
	for _, g := range d.Groups {
		p.put(`<li class="k-%s">%s <span>%s</span></li>`, g.Class, g.Name, count(g.Tokens))
	}
	p.put(`<li class="k-free">for its answer <span>%s</span></li><li class="k-free">free <span>%s</span></li></ul></figcaption>
</figure>
`, count(d.Answer), count(d.Free))
}

const foldedFrom = 20 // more blocks of a group are folded

func (d *mindData) group(p *htmlPage, g *group) {
	p.put(`<section class="text blocks" aria-labelledby="g-%s">
<h2 id="g-%[1]s">%s <small class="soft">%s tokens</small></h2>
`, g.Class, g.Name, count(g.Tokens))
	isFolded := g.Class == "gist" && len(g.Blocks) > foldedFrom
	if isFolded {
		isOpen := slices.ContainsFunc(g.Blocks, func(b *block) bool { return b.Open })
		p.put(`<details class="folded"%s><summary>%d parts</summary>`, when(isOpen, " open"), len(g.Blocks))
	}
	p.put("\n<ol class=\"plain\">")
	for _, b := range g.Blocks {
		d.block(p, g, b)
	}
	p.put("</ol>%s\n</section>", when(isFolded, "</details>"))
}

func (d *mindData) block(p *htmlPage, g *group, b *block) {
	id, opens := inURL(b.ID), ""
	if !b.Open {
		opens = "open=" + id
	}
	p.put(`<li id="%s"%s>
<a class="block" href="?%s#%s"%s><svg aria-hidden="true"><rect class="%s" width="%.1f%%" height="100%%"/></svg>
<span><b><bdi>%s</bdi></b> <bdi>%s</bdi></span> <small>%d</small></a>
`, b.ID, when(b.Open, ` class="open"`), opens, id, when(b.Open, ` aria-expanded="true"`), b.Class,
		hundredths(b.Tokens, g.Tokens), clean(b.Label), clean(short(80, b.Line)), b.Tokens)
	if b.Open {
		d.opened(p, b)
	}
	p.put("</li>")
}

// opened writes the text of a block, where it comes from, and the form that edits it.
func (d *mindData) opened(p *htmlPage, b *block) {
	p.put("<div class=\"opened\">%s\n<p class=\"soft small\">", when(d.Saved, saved))
	if !b.At.IsZero() {
		p.time(b.At)
	}
	if b.Epoch != 0 {
		p.put(` · so since <a href="/agents/%s/forgetting#k%d">epoch %[2]d</a>`, p.ID.Name, b.Epoch)
	}
	if b.Away != 0 {
		p.put(" · %d %s away", b.Away, counted(b.Away, "ref", "refs"))
	}
	p.put("\n")
	if !b.Original.IsZero() {
		name := "the original"
		if b.Class == "card" {
			name = "what the card lists"
		}
		p.put(` · <a href="original?hash=%s">%s</a>`, b.Original, name)
	}
	if !b.Replacement.IsZero() {
		p.put(` · <a href="original?hash=%s">the summary</a>`, b.Replacement)
	}
	p.put(`</p>
<pre tabindex="0" aria-label="%s as the model reads it" dir="auto">%s</pre>
`, b.ID, linked(cmp.Or(b.Text, b.Label)))
	if b.Edit != nil && !b.Edit.Left {
		b.Edit.form(p, d.Saved)
	}
	p.put("</div>")
}

// form writes the form that edits a part.
func (e *part) form(p *htmlPage, isOpen bool) {
	name := e.ID
	if e.ID == "memory" {
		name = "MEMORY.md"
	}
	p.put(`<details%s><summary>Edit %s</summary><form method="post" action="/agents/%s/mind/edit">
<input type="hidden" name="part" value="%s"><input type="hidden" name="seen" value="%s">
<label class="hidden" for="edit">Its text</label>
<textarea id="edit" name="text" rows="8" dir="auto">
%s</textarea>
<p class="row"><button class="main">Save</button>%s</p>
<p class="soft small">The original stays, whatever you save; the identity is told what was changed.</p>
</form></details>`, when(isOpen, " open"), name, p.ID.Name, e.ID, e.Seen(), e.Text,
		when(e.ID != "memory" && e.ID != "pins", ` <button name="do" value="remove">Take it out of the context</button>`))
}
