package page

import "lethe/bridge/report/parts"

// conflict shows both versions of a text that changed while a person edited it.
type conflict struct {
	Theirs *parts.Part
	Yours  string
	Name   string // of a trigger
}

func (d conflict) show(html *htmlPage) {
	html.put(`
<h1>%s changed meanwhile</h1>
<div class="text">
<p class="trouble">Nothing was saved, and nothing is lost: both versions stand here.</p>
`, d.Theirs.ID)
	if d.Theirs.Left {
		html.put(`<p>It has left the live context since you opened it. Your text can be copied from here.</p>`)
	} else {
		html.put(`
<h2 id="now">As it stands now</h2>
<pre tabindex="0" aria-labelledby="now" dir="auto">%s</pre>`, clean(d.Theirs.Text))
	}
	html.put(`
<form method="post" action="/agents/%s/%s/edit">
<input type="hidden" name="part" value="%s"><input type="hidden" name="seen" value="%s">`,
		html.ID.Name, html.View.Name, d.Theirs.ID, d.Theirs.Seen())
	if d.Name != "" {
		html.put(`<input type="hidden" name="name" value="%s">`, d.Name)
	}
	html.put(`
<h2><label for="text">Yours</label></h2>
<textarea id="text" name="text" rows="14" dir="auto">
%s</textarea>
<p class="row">%s <a href="/agents/%s/%s?open=%s#%[5]s">Leave it as it is</a></p>
</form>
</div>
`, d.Yours, when(!d.Theirs.Left, `<button class="main">Save mine in its place</button>`),
		html.ID.Name, html.View.Name, inURL(d.Theirs.ID))
}
