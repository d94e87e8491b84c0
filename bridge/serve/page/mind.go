package page

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"lethe/agent"
	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/lazy"
	"lethe/llm"
	"lethe/mind"
)

// mindView is the context as its blocks, each as large as its tokens. A block is a section of context.md, and
// an edit of it is one of that file.
var mindView = view{Name: "mind", Title: "Mind", data: mindOf, forms: map[string]form{"edit": edit}}

type mindData struct {
	agent.Parts
	Free    int // tokens
	Groups  []*group
	Waiting bool // an edit of context.md that the identity has not read yet
	Saved   bool
}

type group struct {
	Name, Class string
	Tokens      int
	Blocks      []*block
}

// run is blocks of a group that are shown together.
type run struct {
	Blocks []*block
	Folded string // what they are, where there are too many to show them all
	Tokens int
	Open   bool
}

// Runs are the blocks of a group, many gists or cards in a row as one.
func (g *group) Runs() (list []*run) {
	for i, b := range g.Blocks {
		if n := len(list); n == 0 || b.Class != g.Blocks[i-1].Class {
			list = append(list, &run{})
		}
		r := list[len(list)-1]
		r.Blocks, r.Tokens, r.Open = append(r.Blocks, b), r.Tokens+b.Tokens, r.Open || b.Open
		if n := len(r.Blocks); n > 3 && b.Away > 0 && b.Class != mind.Summary {
			r.Folded = fmt.Sprintf("%d %ss", n, b.Class)
		}
	}
	return list
}

// block is a section of the context.
type block struct {
	ID, Label, Class string
	Line             string // its first line, or its gist
	Tokens           int
	Long             float64 // its tokens beside those of the largest: hundredths
	X, Share         float64 // where it begins in the whole context, and how much of it it has: thousandths
	At               time.Time
	Turn, Epoch      int // 0 where that is not known
	Away             int // how many refs the words themselves are away; 0 where they stand here
	Original         blobs.Hash
	Replacement      blobs.Hash // the summary or the card that stands for it

	Open bool // the rest is for an open block
	Text string
	Edit *part

	section
}

// section is a part of context.md: a line that begins with ◆, and the lines until the next one.
type section struct {
	id, head, text string
	from, to       int // bytes of the text in the file, with its newline
}

// sections cuts a context.md up. No text in it can begin a section (docs/context.md).
func sections(file string) (list []section) {
	at := 0
	for line := range strings.Lines(file) {
		at += len(line)
		if words := strings.Fields(line); strings.HasPrefix(line, "◆ ") && len(words) > 1 {
			id := strings.TrimSuffix(words[1], ":")
			if _, k, _ := mind.ParseID(id); k > 0 && len(words) > 2 {
				id += "-" + words[2]
			}
			list = append(list, section{id: id, head: strings.TrimSpace(strings.TrimPrefix(line, "◆")), from: at, to: at})
		} else if n := len(list); n > 0 {
			list[n-1].to = at
		}
	}
	for i := range list {
		list[i].text = strings.TrimSuffix(file[list[i].from:list[i].to], "\n")
	}
	return list
}

func mindOf(f *frame, r *http.Request) (any, error) {
	s, parts, err := f.Context(f.ID)
	if err != nil {
		return nil, err
	}
	d := &mindData{Parts: parts, Free: max(0, parts.Limit-parts.Total), Groups: groups(s, parts), Saved: r.FormValue("saved") != ""}
	if file, _, err := readContext(f.ID, s); err == nil {
		seen, ok := mind.ReadView(file)
		d.Waiting = ok && !seen.Intact
	}
	open := r.FormValue("open")
	for _, g := range d.Groups {
		for _, b := range g.Blocks {
			if b.Open = b.ID == open; b.Open {
				b.Edit, err = partOf(f, s, b.ID)
				b.Text = b.text
			}
		}
	}
	return d, err
}

// groups are the blocks of a context, in the order in which the model reads them.
func groups(s *mind.State, parts agent.Parts) []*group {
	all := []*group{{Name: "Prompt and tools", Class: "system"}, {Name: "What has faded", Class: "gist"}, {Name: "Pins and MEMORY", Class: "notes"}, {Name: "Live, word for word", Class: "live"}}
	list := sections(string(s.View()))
	list = slices.Insert(list[1:len(list)-1], 1, section{id: "tools", head: "tools", text: s.Stable.Tools})
	list = slices.DeleteFunc(list, func(sec section) bool { return sec.id == "past" && sec.text == "" })
	weight, most := 0, 1
	for _, sec := range list {
		weight += llm.Weight(sec.head + sec.text)
	}
	perWeight, x := float64(parts.Total-parts.Answer)/float64(max(1, weight)), 0.0
	for _, sec := range list {
		b := &block{ID: sec.id, section: sec, Label: sec.head, Line: firstLine(sec.text)}
		if label, line, ok := strings.Cut(sec.head, ": "); ok {
			b.Label, b.Line = label, cmp.Or(b.Line, line)
		}
		tokens := float64(llm.Weight(sec.head+sec.text)) * perWeight
		b.Tokens, b.X = int(tokens), x
		b.Share = 1000 * tokens / float64(max(1, parts.Limit))
		x += b.Share
		g := all[b.describe(s)]
		b.Class = cmp.Or(b.Class, g.Class)
		g.Tokens, most = g.Tokens+b.Tokens, max(most, b.Tokens)
		g.Blocks = append(g.Blocks, b)
	}
	for _, g := range all {
		for _, b := range g.Blocks {
			b.Long = 100 * float64(b.Tokens) / float64(most)
		}
	}
	for i := len(all[3].Blocks) - 2; i >= 0; i-- { // what was heard belongs to the turn of the reply behind it
		b := all[3].Blocks[i]
		b.Turn = cmp.Or(b.Turn, all[3].Blocks[i+1].Turn)
	}
	return all
}

// describe fills in what the state knows of a block, and returns the number of its group.
func (b *block) describe(s *mind.State) int {
	first, _, isRange := strings.Cut(b.id, "..")
	n, k, err := mind.ParseID(strings.TrimSuffix(strings.TrimSuffix(first, "-call"), "-result"))
	switch {
	case b.id == "system" || b.id == "tools":
		return 0
	case err != nil && b.id != "past":
		return 2
	case isRange || err != nil:
		for _, r := range s.Faded {
			if r.From != n {
				continue
			}
			b.Label, b.Line, b.Class = entries(r.From, r.To)+" "+r.Level, r.Original.Gist, r.Level
			b.At, b.Epoch, b.Away, b.Original = r.At, r.Epoch, 1+r.Tier, r.Original.Hash
			if r.Summary != nil {
				b.Replacement = r.Summary.Hash
			}
		}
		return 1
	}
	if e := s.Entry(n); e != nil {
		b.At, b.Original = e.At, e.Ref.Hash
		_, _ = fmt.Sscanf(e.Ref.Gist, "turn %d:", &b.Turn) // as its daemon wrote it; none in what was heard
		if k > 0 && k <= len(e.Calls) && strings.HasSuffix(b.id, "-result") {
			b.Original = e.Calls[k-1].Result.Hash
		}
	}
	return 3
}

func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "<reasoning>" {
			return line
		}
	}
	return ""
}

var hashes = lazy.Regexp(`hash=([0-9a-f]{12,64})\b`)

// linked shows a text whose hashes lead to what is stored under them.
func linked(text string) template.HTML {
	return template.HTML(hashes().ReplaceAllString(template.HTMLEscapeString(chat.Sanitize(text)), `<a href="original?hash=$1">$0</a>`))
}
