package mind

import (
	_ "embed"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"

	"lethe/blobs"
)

// Compare reads an edited context.md against the entries it was based on; later
// entries are not touched by it. White space at the ends of lines does not
// count, nor how lines end. Whatever else is different is in the Edit.
//
// A file of an earlier epoch is compared where it can be: its live entries. What
// has faded since, and pins and summaries that are others now, are Ignored.
func (s *State) Compare(f Seen) Edit {
	if f.self != s.shortSelf() {
		return Edit{Ignored: []string{"the whole file, which is the context of " + f.self}}
	}
	c := comparison{state: s, stale: f.Epoch != s.Epoch, now: map[string]section{}}
	base, known := s.sections(f.Through), map[string]bool{}
	for _, sec := range base {
		known[sec.about().key] = true
	}
	c.read(f, known)
	for _, e := range s.Live {
		if e.N <= f.Through && !slices.ContainsFunc(e.sections(false), c.has) {
			c.edit.Deleted = append(c.edit.Deleted, e.N)
		}
	}
	for _, was := range base {
		c.compare(was)
	}
	return c.edit
}

// clean makes the text of a file comparable: one kind of line end, and no bytes
// that a request cannot hold.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
}

// same compares two texts without the white space at the ends of lines, which
// editors take away.
func same(a, b string) bool { return a == b || trimLines(a) == trimLines(b) }

var lineEnds = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)[ \t\r]+$`) })

func trimLines(s string) string {
	return strings.TrimRight(lineEnds().ReplaceAllString(s, ""), "\n")
}

// comparison is an edited file beside the context it was made from.
type comparison struct {
	state *State
	stale bool               // the file was written in another epoch
	now   map[string]section // by their keys, the sections of the context that the file has
	edit  Edit
}

func (c *comparison) has(sec section) bool {
	_, there := c.now[sec.about().key]
	return there
}

func (c *comparison) ignore(what string) { c.edit.Ignored = append(c.edit.Ignored, what) }

// read sorts the sections of the file; known are the keys of the context. What stands under none of them a person
// added. After a crash between the epoch of an edit and the new file, the same edit is read again: what a later note
// says already is not said twice.
func (c *comparison) read(f Seen, known map[string]bool) {
	added, gone := []string{clean(f.above)}, ""
	for _, sec := range parse(clean(f.text)) {
		about := sec.about()
		switch {
		case about.key == "end":
			added = append(added, sec.body)
		case known[about.key] && !c.has(sec):
			c.now[about.key] = sec
		case c.stale && !known[about.key] && c.state.FadedAt(about.n).Level != "":
			gone = about.key
		default:
			added = append(added, sec.title()+"\n"+sec.body)
		}
	}
	if gone != "" {
		c.ignore("what has faded since the file was written, up to " + gone)
	}
	text := strings.TrimSpace(strings.Join(added, "\n"))
	said := func(e *Entry) bool {
		return e.N > f.Through && e.Kind == Note && strings.HasSuffix(e.Text, "\n"+model(text))
	}
	if !c.stale || !slices.ContainsFunc(c.state.Live, said) {
		c.edit.Added = text
	}
}

// compare looks at what the file makes of a section.
func (c *comparison) compare(was section) {
	about := was.about()
	is, there := c.now[about.key]
	if c.stale && (about.n == 0 || about.kind == faded) { // it is made anew with each epoch
		if there && about.kind != fixed && !same(was.body, is.body) {
			c.ignore(about.key + ", which was another when the file was written")
		}
		return
	}
	if !there {
		if slices.Contains(c.edit.Deleted, about.n) {
			return // all of its entry goes
		}
		is.head = was.head
		if about.kind == writable {
			is.body = removed
		}
	}
	if was.head != is.head {
		c.ignore("the heading " + was.title())
	}
	switch {
	case (there || about.kind != fixed) && same(ordinary(was.body), ordinary(is.body)):
		return
	case about.kind == fixed:
		c.ignore(was.title())
		return
	case about.kind == memory:
		text := strings.TrimPrefix(strings.TrimSpace(blobs.Unescape(is.body)), noMemory)
		if text != "" {
			text += "\n"
		}
		c.edit.Memory = &MemoryEdit{was.body, text}
	case about.kind == pins:
		left := c.state.readPins(is.body)
		c.edit.Pins = &left
	default:
		c.edit.Changed = append(c.edit.Changed, Change{N: about.n, K: about.k, Faded: about.kind == faded, Text: is.body})
	}
	if lines := lost(was.body, is.body); lines != "" {
		c.edit.Taken += was.head + "\n" + lines + "\n"
	}
}

// ordinary is the text of a section as the context would show it.
func ordinary(body string) string { return joinReply(splitReply(clean(body))) }

// MemoryStays says that an edit of MEMORY was not carried out.
const MemoryStays = "memory, of which the file did not show all that stands in self/MEMORY.md by now"

// lost returns the lines of old that are not in now any more.
func lost(old, now string) string {
	left := map[string]bool{"": true, noMemory: true}
	for line := range strings.SplitSeq(trimLines(now), "\n") {
		left[line] = true
	}
	gone := slices.DeleteFunc(strings.Split(old, "\n"), func(line string) bool { return left[trimLines(line)] })
	return strings.Join(gone, "\n")
}

//go:embed edited.txt
var editedText string

var edited = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Parse(editedText))
})

// Describe tells the agent what a person did to its context.
func (edit Edit) Describe() string {
	edit.Added = blobs.Unescape(edit.Added)
	var text strings.Builder
	_ = edited().Execute(&text, edit) // an Edit has the fields that it names
	return text.String()
}

// Edit is what a person changed in context.md.
type Edit struct {
	Changed []Change
	Deleted []int    // entries whose every section is gone
	Added   string   // text under no entry that exists
	Pins    *[]Pin   // the pins as they are to be
	Ignored []string // what cannot be obeyed, by its head or in words
	Taken   string   // the lines that it takes away, each under the head of its section
	Memory  *MemoryEdit
}

// MemoryEdit is what a person saw of MEMORY, and what it is to be.
type MemoryEdit struct{ Was, Is string }

// Of returns what MEMORY.md, which holds now, is to hold. It is false where that is not what
// the person saw, or not all of it.
func (m MemoryEdit) Of(now string) (text string, ok bool) {
	switch has := wholeMemory(now); {
	case same(has, wholeMemory(m.Is)): // as after a crash
		return now, true
	case same(has, m.Was):
		return m.Is, true
	}
	return now, false
}

// Change is one entry, call result or faded range with a new text.
type Change struct {
	N int // the entry, or the first of a faded range
	K int // the call whose result it is, from 1; 0 for the entry itself
	// Faded says that N begins a faded range.
	Faded bool
	Text  string
}

// Empty reports whether nothing was changed.
func (ed Edit) Empty() bool {
	return len(ed.Changed)+len(ed.Deleted)+len(ed.Ignored) == 0 && ed.Added == "" && ed.Memory == nil && ed.Pins == nil
}

// removed stands where a person took something away that cannot be missing.
const removed = "(removed by a person)"
