package page

import "cmp"

func (d *recallData) show(html *htmlPage) {
	html.put("\n<h1>Search</h1>\n")
	d.form(html)
	html.put("<div class=\"text\">\n")
	if d.Wrong != nil {
		html.put(`<p class="notice" role="status">%s.</p>`, clean(d.Wrong.Error()))
	}
	html.put("\n")
	for _, note := range d.Notes {
		html.put(`<p class="notice small"><bdi>%s</bdi></p>`, clean(note))
	}
	html.put("\n")
	hasFound := len(d.Said) > 0 || len(d.Matches) > 0
	foundNothing := !hasFound && d.Wrong == nil
	if d.Text != "" && foundNothing {
		html.put(`<p class="notice" role="status">Nothing was said that has these words, ` +
			`and nothing that has faded matches.</p>`)
	}
	html.put("\n")
	if len(d.Absent) > 0 {
		html.put(`<p class="soft small">In no original: `)
		for _, word := range d.Absent {
			html.put("<bdi>%s</bdi> ", clean(word))
		}
		html.put("</p>")
	}
	html.put("\n")
	d.lines(html)
	html.put("\n")
	d.originals(html)
	html.put("\n</div>\n")
}

func (d *recallData) form(html *htmlPage) {
	html.put(`<form class="text search" role="search" aria-label="All that was said, and all that has faded">
<p><label for="q">What was said in rooms, and what identities have forgotten</label>`+
		`<input id="q" name="q" type="search" value="%s" required></p>
<p class="row small"><label>since <input name="since" size="10" value="%s" placeholder="7d, 2026-05-01"></label> `+
		`<label>in room <input name="room" size="10" value="%s"></label>
<label>of <select name="of"><option value="">everybody</option>`, d.Text, d.Since, d.Room)
	for _, id := range html.Agents() {
		html.put("<option%s>%s</option>", when(id.Name == d.Of, " selected"), id.Name)
	}
	html.put(`</select></label>
<label>only <select name="kind"><option value="">all kinds</option>`)
	for _, kind := range d.Kinds() {
		html.put("<option%s>%s</option>", when(kind == d.Kind, " selected"), kind)
	}
	html.put(`</select></label> <button class="main">Search</button></p>
</form>
`)
}

// lines writes the lines of rooms that were found.
func (d *recallData) lines(html *htmlPage) {
	if len(d.Said) == 0 {
		return
	}
	html.put("<h2>Said in rooms</h2>\n<ol class=\"plain fades\">")
	for _, l := range d.Said {
		html.put(`<li><p><b><bdi>%s</bdi></b> <span class="soft small">in <bdi>%s</bdi>`,
			clean(l.Name), clean(cmp.Or(l.In.Title, l.In.Name)))
		if !l.At.IsZero() {
			html.put(" · ")
			html.time(l.At)
		}
		html.put(`</span></p>
<p dir="auto"><a href="/agents/%s/now?room=%s&amp;line=%d#l%[3]d">`, d.From(html.ID.Name, l), l.In.Name, l.From)
		html.marked(d.Text, l.Text)
		html.put("</a></p></li>")
	}
	html.put("</ol>")
}

// originals writes the forgotten originals that were found.
func (d *recallData) originals(html *htmlPage) {
	if len(d.Matches) == 0 {
		return
	}
	html.put("<h2>Faded</h2>\n<ol class=\"plain fades\">")
	for _, m := range d.Matches {
		html.put(`<li><p><b>%s</b> <span class="soft small">`, m.Name)
		html.time(m.At)
		for _, room := range m.Rooms {
			html.put(" · room <bdi>%s</bdi>", clean(room))
		}
		for _, tool := range m.Tools {
			html.put(" · <bdi>%s</bdi>", clean(tool))
		}
		html.put(`</span></p>
<p dir="auto"><a href="/agents/%s/original?hash=%s"><bdi>%s</bdi></a></p>
<blockquote dir="auto">`, m.Name, m.Hash, clean(m.Gist))
		html.marked(d.Text, m.Passage)
		html.put("</blockquote></li>")
	}
	html.put("</ol>")
}

// marked writes a text with the words of a search marked.
func (p *htmlPage) marked(query, text string) {
	for _, piece := range pieces(query, text) {
		if piece.Hit {
			p.put("<mark>%s</mark>", clean(piece.Text))
		} else {
			p.put("%s", clean(piece.Text))
		}
	}
}
