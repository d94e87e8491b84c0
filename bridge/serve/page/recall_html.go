package page

import "cmp"

func (d *recallData) show(p *htmlPage) {
	p.put("\n<h1>Search</h1>\n")
	d.form(p)
	p.put("<div class=\"text\">\n")
	if d.Wrong != nil {
		p.put(`<p class="notice" role="status">%s.</p>`, clean(d.Wrong.Error()))
	}
	p.put("\n")
	for _, note := range d.Notes {
		p.put(`<p class="notice small"><bdi>%s</bdi></p>`, clean(note))
	}
	p.put("\n")
	hasFound := len(d.Said) > 0 || len(d.Matches) > 0
	if d.Text != "" && !hasFound && d.Wrong == nil {
		p.put(`<p class="notice" role="status">Nothing was said that has these words, and nothing that has faded matches.</p>`)
	}
	p.put("\n")
	if len(d.Absent) > 0 {
		p.put(`<p class="soft small">In no original: `)
		for _, word := range d.Absent {
			p.put("<bdi>%s</bdi> ", clean(word))
		}
		p.put("</p>")
	}
	p.put("\n")
	d.lines(p)
	p.put("\n")
	d.originals(p)
	p.put("\n</div>\n")
}

func (d *recallData) form(p *htmlPage) {
	p.put(`<form class="text search" role="search" aria-label="All that was said, and all that has faded">
<p><label for="q">What was said in rooms, and what identities have forgotten</label>`+
		`<input id="q" name="q" type="search" value="%s" required></p>
<p class="row small"><label>since <input name="since" size="10" value="%s" placeholder="7d, 2026-05-01"></label> `+
		`<label>in room <input name="room" size="10" value="%s"></label>
<label>of <select name="of"><option value="">everybody</option>`, d.Text, d.Since, d.Room)
	for _, id := range p.Agents() {
		p.put("<option%s>%s</option>", when(id.Name == d.Of, " selected"), id.Name)
	}
	p.put(`</select></label>
<label>only <select name="kind"><option value="">all kinds</option>`)
	for _, kind := range d.Kinds() {
		p.put("<option%s>%s</option>", when(kind == d.Kind, " selected"), kind)
	}
	p.put(`</select></label> <button class="main">Search</button></p>
</form>
`)
}

// lines writes the lines of rooms that were found.
func (d *recallData) lines(p *htmlPage) {
	if len(d.Said) == 0 {
		return
	}
	p.put("<h2>Said in rooms</h2>\n<ol class=\"plain fades\">")
	for _, l := range d.Said {
		p.put(`<li><p><b><bdi>%s</bdi></b> <span class="soft small">in <bdi>%s</bdi>`,
			clean(l.Name), clean(cmp.Or(l.In.Title, l.In.Name)))
		if !l.At.IsZero() {
			p.put(" · ")
			p.time(l.At)
		}
		p.put(`</span></p>
<p dir="auto"><a href="/agents/%s/now?room=%s&amp;line=%d#l%[3]d">`, d.From(p.ID.Name, l), l.In.Name, l.From)
		p.marked(d.Text, l.Text)
		p.put("</a></p></li>")
	}
	p.put("</ol>")
}

// originals writes the forgotten originals that were found.
func (d *recallData) originals(p *htmlPage) {
	if len(d.Matches) == 0 {
		return
	}
	p.put("<h2>Faded</h2>\n<ol class=\"plain fades\">")
	for _, m := range d.Matches {
		p.put(`<li><p><b>%s</b> <span class="soft small">`, m.Name)
		p.time(m.At)
		for _, room := range m.Rooms {
			p.put(" · room <bdi>%s</bdi>", clean(room))
		}
		for _, tool := range m.Tools {
			p.put(" · <bdi>%s</bdi>", clean(tool))
		}
		p.put(`</span></p>
<p dir="auto"><a href="/agents/%s/original?hash=%s"><bdi>%s</bdi></a></p>
<blockquote dir="auto">`, m.Name, m.Hash, clean(m.Gist))
		p.marked(d.Text, m.Passage)
		p.put("</blockquote></li>")
	}
	p.put("</ol>")
}

// marked writes a text in which the words of a search are marked.
func (p *htmlPage) marked(query, text string) {
	for _, piece := range pieces(query, text) {
		if piece.Hit {
			p.put("<mark>%s</mark>", clean(piece.Text))
		} else {
			p.put("%s", clean(piece.Text))
		}
	}
}
