package mind

import (
	"maps"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/internal/lazy"
)

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
// the person saw.
func (m MemoryEdit) Of(now string) (text string, ok bool) {
	switch {
	case same(memoryText(now), memoryText(m.Is)): // as after a crash
		return now, true
	case same(memoryText(now), m.Was):
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
	c := comparison{
		state: s, base: s.sections(f.Through), now: map[string]section{},
		stale: f.Epoch != s.Epoch,
	}
	known := map[string]bool{}
	for _, sec := range c.base {
		known[key(sec.head)] = true
	}
	c.read(clean(f.text), known)
	c.missing()
	for _, was := range c.base {
		c.compare(was)
	}
	c.edit.Added = c.added(clean(f.above), f.Through)
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

var lineEnds = lazy.Regexp(`(?m)[ \t\r]+$`)

func trimLines(s string) string {
	return strings.TrimRight(lineEnds().ReplaceAllString(s, ""), "\n")
}

// comparison is an edited file beside the sections it was made from.
type comparison struct {
	state *State
	stale bool // the file was written in another epoch

	base  []section
	now   map[string]section // the sections of base that the file has, by their keys
	extra []section          // what is not in base
	edit  Edit
}

// key names a section: its head without what may vary (a status, a gist).
func key(head string) string {
	f := strings.Fields(head)
	switch {
	case len(f) >= 3 && strings.Contains(f[1], ".") && !strings.Contains(f[1], ".."):
		return strings.Join(f[:3], " ")
	case len(f) >= 2:
		return f[0] + " " + f[1]
	}
	return head
}

// id is the second word of a head: e5, e5.1, e1..e4, system.
func (sec section) id() string {
	if f := strings.Fields(sec.head); len(f) >= 2 {
		return f[1]
	}
	return ""
}

// title is a head without its mark.
func (sec section) title() string { return strings.TrimSpace(strings.TrimPrefix(sec.head, "◆")) }

// text is all of a section.
func (sec section) text() string { return strings.TrimSpace(sec.title() + "\n" + sec.body) }

func (c *comparison) ignore(what string) { c.edit.Ignored = append(c.edit.Ignored, what) }

// read sorts the sections of the file; known are the keys of base.
func (c *comparison) read(text string, known map[string]bool) {
	faded := ""
	for _, sec := range parse(text) {
		k := key(sec.head)
		_, twice := c.now[k]
		switch {
		case sec.head == endHeader:
			c.extra = append(c.extra, section{"", sec.body})
		case known[k] && !twice:
			c.now[k] = sec
		case c.stale && !known[k] && c.fadedSince(sec):
			faded = sec.id()
		default:
			c.extra = append(c.extra, sec)
		}
	}
	if faded != "" {
		c.ignore("what has faded since the file was written, up to " + faded)
	}
}

// fadedSince reports whether a section is of entries that are faded now.
func (c *comparison) fadedSince(sec section) bool {
	id, _, _ := strings.Cut(sec.id(), "..")
	n, _, err := ParseID(id)
	return err == nil && c.state.faded(n)
}

// missing finds the entries with no section left, of those that the file went
// through.
func (c *comparison) missing() {
	left := map[int]bool{}
	for _, sec := range c.base {
		if n, _, err := ParseID(sec.id()); err == nil {
			_, there := c.now[key(sec.head)]
			left[n] = left[n] || there
		}
	}
	for _, n := range slices.Sorted(maps.Keys(left)) {
		if !left[n] {
			c.edit.Deleted = append(c.edit.Deleted, n)
		}
	}
}

// Kinds of sections, by what an edit of them does.
const (
	fixed    = iota // system, past, life, calls: cannot be changed
	memory          // MEMORY.md is changed
	pins            // a line taken away is unpinned
	faded           // a summary: the text changes, the ref stays
	writable        // an entry or a result
)

func (sec section) sort() (kind, n, k int) {
	switch sec.head {
	case memoryHeader:
		return memory, 0, 0
	case pinsHeader:
		return pins, 0, 0
	}
	from, _, isRange := strings.Cut(sec.id(), "..")
	n, k, err := ParseID(from)
	switch {
	case err != nil || k > 0 && strings.HasSuffix(key(sec.head), " call"):
		return fixed, n, k
	case isRange:
		return faded, n, 0
	}
	return writable, n, k
}

func (sec section) isReply() bool { return strings.HasSuffix(sec.head, " "+Reply) }

// compare looks at what the file makes of a section.
func (c *comparison) compare(was section) {
	is, there := c.now[key(was.head)]
	kind, n, k := was.sort()
	if !there {
		if c.stale && (n == 0 || kind == faded) || slices.Contains(c.edit.Deleted, n) {
			return // the file may never have had it, or all of its entry goes
		}
		is = section{head: was.head}
		if kind == writable {
			is.body = removed
		}
	}
	if c.stale && kind == fixed && n == 0 {
		return // made anew with each epoch, and never a person's to change
	}
	if was.head != is.head && !(c.stale && kind == faded) {
		c.ignore("the heading " + was.title())
	}
	if (there || kind != fixed) && same(was.body, is.body) {
		return
	}
	if was.isReply() && same(joinReply(splitReply(clean(was.body))), joinReply(splitReply(is.body))) {
		return
	}
	switch {
	case kind == memory:
		c.memory(was, is.body)
	case c.stale && kind != fixed && kind != writable:
		c.ignore(was.id() + ", which was another when the file was written")
	case kind == pins:
		left := c.state.readPins(is.body)
		c.edit.Pins = &left
		c.take(was, is.body)
	case kind == fixed:
		c.ignore(was.title())
	default:
		c.change(was, Change{N: n, K: k, Faded: kind == faded, Text: is.body})
	}
}

// memory takes an edit of MEMORY where the file shows all of it as it is in this epoch.
func (c *comparison) memory(was section, is string) {
	if c.stale || moreMemory().MatchString(was.body) {
		c.ignore(MemoryStays)
		return
	}
	text := strings.TrimPrefix(strings.TrimSpace(blobs.Unescape(is)), noMemory)
	if text != "" {
		text += "\n"
	}
	c.edit.Memory = &MemoryEdit{was.body, text}
	if was.body != noMemory {
		c.take(was, is)
	}
}

// MemoryStays says that an edit of MEMORY was not carried out.
const MemoryStays = "memory, of which the file did not show all that stands in self/MEMORY.md by now"

var moreMemory = lazy.Regexp(`\n\(\d+ more characters are in self/MEMORY\.md\)$`)

func (c *comparison) change(was section, to Change) {
	c.edit.Changed = append(c.edit.Changed, to)
	c.take(was, to.Text)
}

// take keeps the lines of a section that the edit takes away.
func (c *comparison) take(was section, now string) {
	if lines := lost(was.body, now); lines != "" {
		c.edit.Taken += was.head + "\n" + lines + "\n"
	}
}

// added is what a person wrote under no section. After a crash between the epoch
// of an edit and the new file, the same edit is read again: what a later note
// says already is not said twice.
func (c *comparison) added(above string, through int) string {
	parts := []string{above}
	for _, sec := range c.extra {
		parts = append(parts, sec.text())
	}
	text := strings.TrimSpace(strings.Join(parts, "\n"))
	if text == "" || !c.stale {
		return text
	}
	for _, e := range c.state.Live {
		if e.N > through && e.Kind == Note && strings.HasSuffix(e.Text, "\n"+model(text)) {
			return ""
		}
	}
	return text
}

// lost returns the lines of old that are not in now any more.
func lost(old, now string) string {
	left := map[string]bool{"": true}
	for line := range strings.SplitSeq(trimLines(now), "\n") {
		left[line] = true
	}
	gone := slices.DeleteFunc(strings.Split(old, "\n"), func(line string) bool { return left[trimLines(line)] })
	return strings.Join(gone, "\n")
}

// Describe tells the agent what a person did to its context.
func (edit Edit) Describe() string {
	var changed, deleted []string
	for _, c := range edit.Changed {
		switch {
		case c.Faded:
			changed = append(changed, "what has faded from "+EntryID(c.N)+" on")
		case c.K > 0:
			changed = append(changed, "the result of "+CallID(c.N, c.K))
		default:
			changed = append(changed, EntryID(c.N))
		}
	}
	for _, n := range edit.Deleted {
		deleted = append(deleted, EntryID(n))
	}
	text := "A person edited your context."
	for _, part := range []struct {
		is   bool
		text string
	}{
		{len(changed) > 0, "Changed: " + strings.Join(changed, ", ") + "."},
		{len(deleted) > 0, "Removed, and still reachable by ref in the past: " + strings.Join(deleted, ", ") + "."},
		{edit.Memory != nil, "MEMORY was changed."},
		{edit.Pins != nil, "The pins were changed."},
		{len(edit.Ignored) > 0,
			"These parts cannot be changed there and stayed as they were: " + strings.Join(edit.Ignored, ", ") + "."},
		{edit.Taken != "", "RECALL still finds what was taken away."},
		{edit.Added != "", "They wrote to you:\n" + blobs.Unescape(edit.Added)},
	} {
		if part.is {
			text += " " + part.text
		}
	}
	return text
}
