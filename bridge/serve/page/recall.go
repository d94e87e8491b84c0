package page

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"lethe/agent/home"
	"lethe/agent/host"
	"lethe/bridge/report"
)

// recall searches what was said in rooms, and what identities have forgotten.
var recall = view{Name: "recall", Title: "Search", data: recallOf}

type recallData struct {
	report.Search
	Of      string // the only identity that is searched; "": all are
	Said    []report.Line
	Matches []match
	Absent  []string // words that no original shows
	Wrong   error    // with the search
	Notes   []string // what could not be searched
}

// match is an original that fits, and whose it is.
type match struct {
	Name string
	report.Match
	rank int
}

func recallOf(page *frame, r *http.Request) (content, error) {
	data := &recallData{Of: r.FormValue("of"), Search: report.Search{
		Text: r.FormValue("q"), Since: r.FormValue("since"),
		Room: r.FormValue("room"), Kind: r.FormValue("kind"), Limit: 10,
	}}
	if !r.URL.Query().Has("q") {
		return data, nil
	}
	said, err := page.Lines(data.Search)
	if errors.As(err, new(*report.InvalidError)) {
		data.Wrong = err
		return data, nil
	}
	data.Said = said
	for _, id := range page.Agents() {
		if data.Of == "" || data.Of == id.Name {
			data.forgotten(page, r, id)
		}
	}
	sort.SliceStable(data.Matches, func(i, j int) bool { return data.Matches[i].rank < data.Matches[j].rank }) // each identity's order stays
	data.Matches = data.Matches[:min(len(data.Matches), data.Limit)]
	return data, err
}

// forgotten searches what one identity has forgotten.
func (d *recallData) forgotten(f *frame, r *http.Request, id home.Identity) {
	found, err := f.Recall(r.Context(), id, d.Search, f.Log)
	for rank, m := range found.Matches {
		d.Matches = append(d.Matches, match{id.Name, m, rank})
	}
	if len(found.Near) > 0 {
		d.Notes = append(d.Notes, "Looked for as well: "+strings.Join(found.Near, "; "))
	}
	if d.Absent = found.Absent; d.Of == "" {
		d.Absent = nil // others may have them
	}
	noWords := errors.As(err, new(*report.InvalidError))
	if noWords || errors.Is(err, report.ErrNoMatch) {
		err = nil
	}
	if err != nil {
		d.Notes = append(d.Notes, err.Error())
	}
	if found.Behind != "" {
		d.Notes = append(d.Notes, "The index of "+id.Name+" is not up to date: "+found.Behind)
	}
}

// From returns an identity whose page has the room: the page's own, if it hears the room.
func (d *recallData) From(own string, h report.Line) string {
	if len(h.In.Heard) == 0 || slices.Contains(h.In.Heard, own) {
		return own
	}
	return h.In.Heard[0]
}

// piece is a part of a text, that holds a word of a search or lies between two.
type piece struct {
	Text string
	Hit  bool
}

// pieces takes a text apart at the words of a search, from a little before the first.
func pieces(query, text string) (list []piece) {
	var words []string
	for _, word := range strings.Fields(query) {
		words = append(words, regexp.QuoteMeta(word))
	}
	at := regexp.MustCompile("(?i)" + strings.Join(words, "|"))
	hits := at.FindAllStringIndex(text, 20)
	if len(hits) > 0 && hits[0][0] > 200 {
		from := hits[0][0] - 100
		for !utf8.RuneStart(text[from]) {
			from--
		}
		return append([]piece{{Text: "…"}}, pieces(query, text[from:])...)
	}
	last := 0
	for _, hit := range hits {
		list = append(list, piece{Text: text[last:hit[0]]}, piece{text[hit[0]:hit[1]], true})
		last = hit[1]
	}
	return append(list, piece{Text: short(300, text[last:])})
}

// triggers shows the triggers and the jobs of the identity.
var triggers = view{
	Name: "triggers", Title: "Triggers", data: triggersOf,
	forms: map[string]form{"fire": fire, "stop": stopJob, "edit": saveTrigger, "turn": then(turn)},
}

type triggersData struct {
	Triggers []report.Trigger
	Jobs     []report.Job
	Ran      []*report.Ran // the newest commands
	All      int           // that ever ran
	Running  bool
	Draft    draft
	Room     string // to say something in, of a new trigger
}

func triggersOf(page *frame, r *http.Request) (content, error) {
	all, err := page.Triggers(page.ID)
	_, running := report.Live(page.ID)
	ran, total, rerr := page.Commands(page.ID, 100)
	draft, derr := draftOf(page, r)
	if page.Wrong == nil {
		page.Wrong = derr
	}
	data := &triggersData{all, report.Jobs(page.ID), ran, total, running, draft, host.RoomOf(page.ID)}
	return data, errors.Join(err, rerr)
}

func fire(page *frame, w http.ResponseWriter, r *http.Request) error {
	all, err := page.Triggers(page.ID)
	if err == nil {
		err = report.Fire(page.ID, r.FormValue("trigger"), all)
	}
	if err != nil {
		return err
	}
	return page.done(w, r, "?fired="+url.QueryEscape(r.FormValue("trigger")))
}

func stopJob(page *frame, w http.ResponseWriter, r *http.Request) error {
	n, err := strconv.Atoi(r.FormValue("job"))
	if err != nil {
		return report.Invalid("%.40q is not the number of a job", r.FormValue("job"))
	}
	if _, err := report.StopJob(r.Context(), page.ID, n); err != nil {
		return err
	}
	return page.done(w, r, "")
}

func (d *recallData) show(html *htmlPage) {
	html.put("\n<h1>Search</h1>\n")
	d.form(html)
	html.put("<div class=\"text\">\n")
	if d.Wrong != nil {
		html.put(`<p class="notice" role="status">%s.</p>`, d.Wrong.Error())
	}
	for _, note := range d.Notes {
		html.put(`<p class="notice small"><bdi>%s</bdi></p>`, note)
	}
	hasFound := len(d.Said) > 0 || len(d.Matches) > 0
	foundNothing := !hasFound && d.Wrong == nil
	if d.Text != "" && foundNothing {
		html.put(`<p class="notice" role="status">Nothing was said that has these words, ` +
			`and nothing that has faded matches.</p>`)
	}
	if len(d.Absent) > 0 {
		html.put(`<p class="soft small">No original shows in its first 4 MB: `)
		for _, word := range d.Absent {
			html.put("<bdi>%s</bdi> ", word)
		}
		html.put("</p>")
	}
	d.lines(html)
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
	for _, kind := range report.Kinds {
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
		html.put(`<li><p><b><bdi>%s</bdi></b> <span class="soft small">in <bdi>%s</bdi>%s</span></p>
`, l.Name, cmp.Or(l.In.Title, l.In.Name), when(!l.At.IsZero(), " · "+html.time(l.At)))
		html.put(`<p dir="auto"><a href="/agents/%s/now?room=%s&amp;line=%d#l%[3]d">%s</a></p></li>`,
			d.From(html.ID.Name, l), l.In.Name, l.From, marked(d.Text, l.Text))
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
		html.put(`<li><p><b>%s</b> <span class="soft small">%s`, m.Name, html.time(m.At))
		if m.Source != "" {
			html.put(" · from <bdi>%s</bdi>", m.Source)
		}
		for _, room := range m.Rooms {
			html.put(" · room <bdi>%s</bdi>", room)
		}
		for _, tool := range m.Tools {
			html.put(" · <bdi>%s</bdi>", tool)
		}
		html.put(`</span></p>
<p dir="auto"><a href="/agents/%s/original?hash=%s"><bdi>%s</bdi></a></p>
<blockquote dir="auto">%s</blockquote></li>`, m.Name, m.Hash, m.Gist, marked(d.Text, m.Passage))
	}
	html.put("</ol>")
}

// marked is a text with the words of a search marked.
func marked(query, text string) (all markup) {
	for _, piece := range pieces(query, text) {
		all += format("%s%s%s", when(piece.Hit, "<mark>"), piece.Text, when(piece.Hit, "</mark>"))
	}
	return all
}
