package page

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/blobs"
	"lethe/bridge/report"
	"lethe/bridge/report/history"
	"lethe/bridge/report/parts"
	"lethe/internal/pattern"
	"lethe/mind"
)

// mindView is the context as its blocks, each as large as its tokens. A block is a section of context.md, and
// an edit of it is one of that file.
var mindView = view{Name: "mind", Title: "Mind", data: mindOf, forms: map[string]form{"edit": edit}}

type mindData struct {
	prompt.Parts
	Free    int // tokens
	Groups  []*group
	Waiting bool // an edit of context.md that the identity has not read yet
	Saved   bool
	Opened  bool // a block is
	Adopted []*report.Adopted
}

type group struct {
	Name, Class string
	Tokens      int
	X, Share    float64 // as of its blocks
	Blocks      []*block
}

// block is a section of the context.
type block struct {
	ID, Label, Class string
	Line             string // its first line, or its gist
	Tokens           int
	X, Share         float64 // where it begins in the whole context, and how much of it it has: thousandths
	At               time.Time
	Epoch            int // 0 where that is not known
	Away             int // how many refs the words themselves are away; 0 where they stand here
	Original         blobs.Hash
	Replacement      blobs.Hash // the summary or the card that stands for it

	Open bool // the rest is for an open block
	Text string
	Edit *parts.Part
}

func mindOf(page *frame, r *http.Request) (content, error) {
	c, err := page.Context(page.ID)
	if err != nil {
		return nil, err
	}
	state, parts := c.State, c.Parts
	data := &mindData{Parts: parts, Groups: groups(state, parts), Saved: r.FormValue("saved") != ""}
	data.Free = max(0, parts.Limit-parts.Total)
	if p, err := partOf(page, state, "pins"); err == nil {
		seen, ok := mind.ReadView([]byte(p.File))
		data.Waiting = ok && !seen.Intact
	}
	if len(state.Adopted) > 0 {
		data.Adopted, err = report.AdoptedBy(page.ID)
	}
	open := r.FormValue("open")
	for _, g := range data.Groups {
		for _, b := range g.Blocks {
			if b.Open = b.ID == open; b.Open {
				data.Opened = true
				b.Edit, err = partOf(page, state, b.ID)
			}
		}
	}
	return data, err
}

// groups returns the blocks of a context, in the order of the request.
func groups(state *mind.State, parts prompt.Parts) []*group {
	all := []*group{
		{Name: "Prompt and tools", Class: "system"}, {Name: "What has faded", Class: "gist"},
		{Name: "Pins and MEMORY", Class: "notes"}, {Name: "Live, word for word", Class: "live"},
	}
	list := mind.Sections(string(state.View()))
	list[0], list[1] = list[1], mind.Section{ID: "tools", Title: "tools", Text: state.Stable.Tools}
	list = list[:len(list)-1]
	list = slices.DeleteFunc(list, func(sec mind.Section) bool { return sec.ID == "past" && sec.Text == "" })
	weight := 0
	for _, sec := range list {
		weight += llm.Weight(sec.Title + sec.Text)
	}
	perWeight, x := float64(parts.Used())/float64(max(1, weight)), 0.0
	for _, sec := range list {
		shown := &block{ID: sec.ID, Label: sec.Title, Text: sec.Text, Line: firstLine(sec.Text)}
		if label, line, ok := strings.Cut(sec.Title, ": "); ok {
			shown.Label, shown.Line = label, cmp.Or(shown.Line, line)
		}
		tokens := float64(llm.Weight(sec.Title+sec.Text)) * perWeight
		shown.Tokens, shown.X = int(tokens), x
		shown.Share = 1000 * tokens / float64(max(1, parts.Limit))
		x += shown.Share
		g := all[shown.describe(state)]
		shown.Class = cmp.Or(shown.Class, g.Class)
		g.Tokens += shown.Tokens
		g.Share += shown.Share
		g.Blocks = append(g.Blocks, shown)
	}
	for i, g := range all[1:] {
		g.X = all[i].X + all[i].Share
	}
	return all
}

// describe fills in a block from the state, and returns the number of its group.
func (b *block) describe(state *mind.State) int {
	first, _, isRange := strings.Cut(b.ID, "..")
	n, k, err := mind.ParseID(strings.TrimSuffix(strings.TrimSuffix(first, "-call"), "-result"))
	switch {
	case b.ID == "system" || b.ID == "tools":
		return 0
	case err != nil && b.ID != "past":
		return 2
	case isRange || err != nil:
		for _, span := range state.Faded {
			if span.From != n {
				continue
			}
			b.Label, b.Line, b.Class = history.Entries(span.From, span.To)+" "+span.Level, span.Original.Gist, span.Level
			b.At, b.Epoch, b.Away, b.Original = span.At, span.Epoch, 1+span.Tier, span.Original.Hash
			if span.Summary != nil {
				b.Replacement = span.Summary.Hash
			}
		}
		return 1
	}
	if e := state.Entry(n); e != nil {
		b.At, b.Original = e.At, e.Ref.Hash
		ofCall := k > 0 && k <= len(e.Calls)
		if ofCall && strings.HasSuffix(b.ID, "-result") {
			b.Original = e.Calls[k-1].Result.Hash
		}
	}
	return 3
}

// firstLine returns the first line of a text that is not blank. A reply begins behind its reasoning, unless it says
// nothing.
func firstLine(text string) string {
	if _, said, ok := strings.Cut(text, "</reasoning>"); ok && strings.TrimSpace(said) != "" {
		text = said
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "<reasoning>" {
			return line
		}
	}
	return ""
}

var hashes = pattern.Lazy(`hash=([0-9a-f]{12,64})\b`)

// linked links the hashes in a text to their blobs.
func linked(text string) markup {
	safe := string(format("%s", text))
	return markup(hashes().ReplaceAllString(safe, `<a href="original?hash=$1">$0</a>`))
}

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
	for _, a := range d.Adopted {
		html.put("\n<figure class=\"curve\">")
		if a.From != a.To {
			html.put(`<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"><path d="%s"/></svg>`, a.Path)
		}
		html.put(`
<figcaption class="soft small">Adopted from <bdi>%s</bdi>: entries %d; sessions %d, begun from %s to %s</figcaption></figure>
`, a.Title, a.Entries, a.Sessions, a.From.Format(time.DateOnly), a.To.Format(time.DateOnly))
	}
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
`, inURL(b.ID), b.Class, b.X, b.Share, b.Label, b.Tokens)
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
		report.Hundredths(shown.Tokens, one.Tokens), shown.Label, short(80, shown.Line), shown.Tokens)
	if shown.Open {
		d.opened(html, shown)
	}
	html.put("</li>")
}

// opened writes the text of a block, where it comes from, and the form that edits it.
func (d *mindData) opened(html *htmlPage, shown *block) {
	html.put("<div class=\"opened\">%s\n<p class=\"soft small\">%s", when(d.Saved, saved),
		when(!shown.At.IsZero(), html.time(shown.At)))
	if shown.Epoch != 0 {
		html.put(` · so since <a href="/agents/%s/forgetting#k%d">epoch %[2]d</a>`, html.ID.Name, shown.Epoch)
	}
	if shown.Away != 0 {
		html.put(" · %d %s away", shown.Away, counted(shown.Away, "ref", "refs"))
	}
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
</form></details>`, when(isOpen, " open"), name, html.ID.Name, e.ID, e.Seen(), exact(e.Text),
		when(e.ID != "memory" && e.ID != "pins", ` <button name="do" value="remove">Take it out of the context</button>`))
}
