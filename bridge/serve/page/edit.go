package page

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"lethe/bridge/report"
	"lethe/bridge/report/parts"
	"lethe/mind"
)

// An edit is made where an editor would make it: in context.md or MEMORY.md, which the identity reads before
// its next call of the model. It holds only for the text that the person saw.

// partOf returns the part of a file that a person may edit as a block, or nil: docs/context.md lists the editable parts.
func partOf(page *frame, state *mind.State, id string) (*parts.Part, error) {
	if id == "memory" {
		return parts.Whole(id, filepath.Join(page.ID.Dir, "MEMORY.md"))
	}
	if trigger, ok := strings.CutPrefix(id, triggerPart); ok {
		path, err := page.triggerFile(trigger)
		if err != nil {
			return nil, err
		}
		return parts.Whole(id, path)
	}
	return parts.OfContext(id, filepath.Join(page.ID.Dir, "context.md"), state)
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\x00", "\uFFFD")

// edit saves the text that a person made of a part, if the part is still as they saw it.
func edit(page *frame, w http.ResponseWriter, r *http.Request) error {
	c, err := page.Context(page.ID)
	if err != nil {
		return err
	}
	state := c.State
	id, text := r.FormValue("part"), lineEnds.Replace(r.FormValue("text"))
	edited, err := partOf(page, state, id)
	if err != nil {
		return err
	}
	if edited == nil {
		return report.Invalid("%.40q cannot be edited; docs/context.md says what can", id)
	}
	if !edited.Left && edited.Seen() == r.FormValue("seen") {
		file := edited.With(text)
		removable := !edited.IsWhole() && id != "pins"
		if removable && r.FormValue("do") == "remove" {
			file = edited.Without()
		}
		saved, err := edited.Save(file)
		if err != nil {
			return err
		}
		if saved {
			return page.done(w, r, "?saved=1&open="+url.QueryEscape(id)+"#"+id)
		}
		if edited, err = partOf(page, state, id); err != nil {
			return err
		}
	}
	page.Title = "Changed meanwhile"
	page.show(w, http.StatusConflict, conflict{Theirs: edited, Yours: text, Name: r.FormValue("name")}, "")
	return nil
}

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
<pre tabindex="0" aria-labelledby="now" dir="auto">%s</pre>`, d.Theirs.Text)
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
`, exact(d.Yours), when(!d.Theirs.Left, `<button class="main">Save mine in its place</button>`),
		html.ID.Name, html.View.Name, inURL(d.Theirs.ID))
}
