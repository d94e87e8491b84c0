package page

import (
	"cmp"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"lethe/agent/llm"
	"lethe/agent/prompt"
	"lethe/blobs"
	"lethe/bridge/report/history"
	"lethe/bridge/report/parts"
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
		seen, ok := mind.ReadView([]byte(p.File()))
		data.Waiting = ok && !seen.Intact
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
	list = slices.Insert(list[1:len(list)-1], 1, mind.Section{ID: "tools", Title: "tools", Text: state.Stable.Tools})
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

var hashes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`hash=([0-9a-f]{12,64})\b`) })

// linked links the hashes in a text to their blobs.
func linked(text string) markup {
	safe := html.EscapeString(clean(text))
	return markup(hashes().ReplaceAllString(safe, `<a href="original?hash=$1">$0</a>`))
}
