package mind

import (
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/internal/pattern"
)

// Compare returns the differences between an edited context.md and the context from
// which it was made. It ignores white space and the kind of newline at the ends of
// lines. Entries newer than the file stay untouched.
//
// From a file of an earlier epoch it takes changes of live entries. Changes of entries
// that have faded since, and of pins and summaries that are no longer the same, are in
// Edit.Ignored.
func (s *State) Compare(file Seen) Edit {
	if file.self != shortSelf(s.Self) {
		return Edit{Ignored: []string{"the whole file, which is the context of " + file.self}}
	}
	compared := comparison{state: s, stale: file.Epoch != s.Epoch, now: map[string]section{}}
	base, known := s.sections(file.Through), map[string]bool{}
	for _, sec := range base {
		known[sec.about().key] = true
	}
	compared.read(file, known)
	for _, entry := range s.Live {
		if entry.N <= file.Through && !slices.ContainsFunc(entry.sections(false), compared.has) {
			compared.edit.Deleted = append(compared.edit.Deleted, entry.N)
		}
	}
	for _, was := range base {
		compared.compare(was)
	}
	return compared.edit
}

// clean makes the text of a file comparable: one kind of line end, and no bytes
// that a request cannot hold.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")
}

// same compares two texts without the white space at the ends of lines, which
// editors take away.
func same(a, b string) bool { return a == b || trimLines(a) == trimLines(b) }

var lineEnds = pattern.Lazy(`(?m)[ \t\r]+$`)

func trimLines(s string) string {
	return strings.TrimRight(lineEnds().ReplaceAllString(s, ""), "\n")
}

// comparison is an edited file beside its original context.
type comparison struct {
	state *State
	stale bool               // the file was written in another epoch
	now   map[string]section // the context's sections that the file still has, by their keys
	edit  Edit
}

func (c *comparison) has(sec section) bool {
	_, there := c.now[sec.about().key]
	return there
}

func (c *comparison) ignore(what string) { c.edit.Ignored = append(c.edit.Ignored, what) }

// read sorts the sections of the file; known has the keys of the context. A person has added the text under other
// heads. After a crash between the epoch of an edit and the new file, read meets the same edit again: it drops an added
// text that a later note already tells.
func (c *comparison) read(file Seen, known map[string]bool) {
	added, gone := []string{clean(file.above)}, ""
	for _, sec := range parse(clean(file.text)) {
		about := sec.about()
		switch {
		case about.key == "end":
			added = append(added, sec.body)
		case known[about.key] && !c.has(sec):
			c.now[about.key] = sec
		case c.hasFaded(about, known):
			gone = about.key
		default:
			added = append(added, sec.title()+"\n"+sec.body)
		}
	}
	if gone != "" {
		c.ignore("what has faded since the file was written, up to " + gone)
	}
	text := strings.TrimSpace(strings.Join(added, "\n"))
	said := func(entry *Entry) bool {
		later := entry.Kind == Note && entry.N > file.Through
		return later && strings.HasSuffix(entry.Text, "\n"+model(text))
	}
	if !c.stale || !slices.ContainsFunc(c.state.Live, said) {
		c.edit.Added = text
	}
}

// hasFaded reports whether a section of a stale file is an entry that has faded since.
func (c *comparison) hasFaded(about subject, known map[string]bool) bool {
	if !c.stale || known[about.key] {
		return false
	}
	return c.state.FadedAt(about.n).Level != ""
}

// compare adds the difference between the context's section and the file's to the edit.
func (c *comparison) compare(was section) {
	about := was.about()
	is, there := c.now[about.key]
	madeByEpoch := about.n == 0 || about.kind == faded
	if c.stale && madeByEpoch {
		changed := there && !same(was.body, is.body)
		if changed && about.kind != fixed {
			c.ignore(about.key + ", which was another when the file was written")
		}
		return
	}
	if !there {
		if slices.Contains(c.edit.Deleted, about.n) {
			return // the person deleted the whole entry
		}
		is.head = was.head
		if about.kind == writable {
			is.body = removed
		}
	}
	if was.head != is.head {
		c.ignore("the heading " + was.title())
	}
	comparable := there || about.kind != fixed
	switch {
	case comparable && same(ordinary(was.body), ordinary(is.body)):
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
		change := Change{N: about.n, K: about.k, Faded: about.kind == faded, Text: is.body}
		c.edit.Changed = append(c.edit.Changed, change)
	}
	if lines := lost(was.body, is.body); lines != "" {
		c.edit.Taken += was.head + "\n" + lines + "\n"
	}
}

// ordinary returns the text of a section in the context's own form.
func ordinary(body string) string { return joinReply(splitReply(clean(body))) }

// MemoryStays tells the agent, in Edit.Ignored, that a person's edit of MEMORY was not carried out.
const MemoryStays = "memory, of which the file did not show all that stands in self/MEMORY.md by now"

// lost returns the lines of old that now lacks.
func lost(old, now string) string {
	left := map[string]bool{"": true, noMemory: true}
	for _, line := range strings.Split(trimLines(now), "\n") {
		left[line] = true
	}
	gone := slices.DeleteFunc(strings.Split(old, "\n"), func(line string) bool { return left[trimLines(line)] })
	return strings.Join(gone, "\n")
}

// Describe renders the note that tells the agent about a person's edit of its context.
func (edit Edit) Describe() string {
	text := "A person edited your context."
	say := func(what string, parts []string) {
		if len(parts) > 0 {
			text += " " + what + strings.Join(parts, ", ") + "."
		}
	}
	var changed, deleted []string
	for _, change := range edit.Changed {
		changed = append(changed, change.about())
	}
	for _, n := range edit.Deleted {
		deleted = append(deleted, EntryID(n))
	}
	say("Changed: ", changed)
	say("Removed, and still reachable by ref in the past: ", deleted)
	if edit.Memory != nil {
		text += " MEMORY was changed."
	}
	if edit.Pins != nil {
		text += " The pins were changed."
	}
	say("These parts cannot be changed there and stayed as they were: ", edit.Ignored)
	if edit.Taken != "" {
		text += " RECALL still finds what was taken away."
	}
	if added := blobs.Unescape(edit.Added); added != "" {
		text += " They wrote to you:\n" + added
	}
	return text
}

// Edit is a person's edit of context.md.
type Edit struct {
	Changed []Change
	Deleted []int       // entries without any section left
	Added   string      // text under no entry that exists
	Pins    *[]Pin      // all pins from now on; nil leaves them
	Ignored []string    // changes that cannot be obeyed, by their heads or in words
	Taken   string      // lines that the edit removes, under the heads of their sections
	Memory  *MemoryEdit // nil leaves MEMORY.md
}

// MemoryEdit is the text of MEMORY that a person saw, and the person's new text.
type MemoryEdit struct{ Was, Is string }

// Of returns the new content of MEMORY.md, whose content is now. It returns false, and now, if the file has changed
// since the person saw it, or if the person saw only a part of it.
func (m MemoryEdit) Of(now string) (text string, ok bool) {
	switch has := wholeMemory(now); {
	case same(has, wholeMemory(m.Is)): // it was carried out before a crash
		return now, true
	case same(has, m.Was):
		return m.Is, true
	}
	return now, false
}

// Change is one entry, call result or faded range with a new text.
type Change struct {
	N     int  // the entry, or the first of a faded range
	K     int  // the number of the call whose result changes, from 1; 0 for the entry itself
	Faded bool // N begins a faded range
	Text  string
}

// about names the text that changes.
func (c Change) about() string {
	switch {
	case c.Faded:
		return "what has faded from " + EntryID(c.N) + " on"
	case c.K > 0:
		return "the result of " + CallID(c.N, c.K)
	}
	return EntryID(c.N)
}

// Empty reports whether nothing was changed.
func (edit Edit) Empty() bool {
	entries := len(edit.Changed) + len(edit.Deleted) + len(edit.Ignored)
	if entries > 0 || edit.Added != "" {
		return false
	}
	return edit.Memory == nil && edit.Pins == nil
}

// removed replaces a text that a person deleted from an entry which has to stay.
const removed = "(removed by a person)"
