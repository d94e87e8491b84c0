package mind

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"lethe/blobs"
)

// section is one part of context.md: a line that begins with ◆, and the text
// until the next such line. Everything from outside is escaped, so no text can
// begin a section.
type section struct {
	head string
	body string
}

// parse cuts a text into sections. What stands before the first one becomes a
// section without a head.
func parse(text string) (out []section) {
	above, text, more := strings.Cut("\n"+text, "\n◆")
	if strings.TrimSpace(above) != "" {
		out = append(out, section{"", strings.Trim(above, "\n")})
	}
	for part := ""; more; {
		part, text, more = strings.Cut(text, "\n◆")
		head, body, _ := strings.Cut(part, "\n")
		out = append(out, section{"◆" + strings.TrimRight(head, " \t"), strings.TrimRight(body, "\n")})
	}
	return out
}

// render writes sections as they stand in context.md.
func render(sections []section) string {
	var b strings.Builder
	for _, sec := range sections {
		b.WriteString(sec.head + "\n")
		if sec.body != "" {
			b.WriteString(sec.body + "\n")
		}
	}
	return b.String()
}

// The reasoning of a reply stands before its text, between two lines.
const (
	reasonOpen  = "<reasoning>"
	reasonClose = "</reasoning>"
)

func joinReply(reasoning, text string) string {
	if reasoning == "" {
		return text
	}
	return strings.TrimRight(reasonOpen+"\n"+reasoning+"\n"+reasonClose+"\n"+text, "\n")
}

var closeLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^</reasoning>[ \t]*$\n?`) })

// splitReply reads what joinReply wrote. Where a person broke the tags, all of
// it is text.
func splitReply(body string) (reasoning, text string) {
	if rest, ok := strings.CutPrefix(body, reasonOpen+"\n"); ok {
		if at := closeLine().FindStringIndex(rest); at != nil {
			return strings.TrimSuffix(rest[:at[0]], "\n"), rest[at[1]:]
		}
	}
	return "", body
}

// sections renders an entry: what it says, then each call and its result, with
// refs to where all of it is if asked for.
func (e *Entry) sections(refs bool) []section {
	at := func(r Ref) string {
		if refs {
			return " " + r.String()
		}
		return ""
	}
	text := e.Text
	if e.Kind == Reply {
		text = joinReply(e.Reasoning, text)
	}
	out := []section{{e.Header() + at(e.Ref), text}}
	for k, c := range e.Calls {
		id := "◆ " + CallID(e.N, k+1)
		out = append(out, section{id + " call " + c.Tool, c.Args})
		if c.Status != "" {
			out = append(out, section{id + " result " + c.Status + at(c.Result), c.Text})
		}
	}
	return out
}

// Full renders an entry for the blob that keeps it when it leaves the context:
// its text, and a ref to each original. The texts stay escaped, so that nothing
// in them can pass for another entry.
func (e *Entry) Full() string {
	var b strings.Builder
	for _, sec := range e.sections(true) {
		b.WriteString(sec.head + "\n" + sec.body + "\n")
	}
	return b.String()
}

// Plain renders an entry as context.md shows it.
func (e *Entry) Plain() string { return strings.TrimSuffix(render(e.sections(false)), "\n") }

// Original renders an entry as Full does, with all of what was clipped. A text
// that cannot be read stays clipped: its own ref says where the rest would be.
func (e *Entry) Original(read func(blobs.Hash) ([]byte, error)) string {
	whole := *e
	whole.Show, whole.Calls = 0, nil
	if clipped(e.Text) && e.View == nil { // no reply is
		if body, err := read(e.Ref.Hash); err == nil {
			_ = whole.load(body) // fails for replies only
		}
	}
	for _, c := range e.Calls {
		call := *c
		if clipped(c.Text) && c.View == nil {
			if body, err := read(c.Result.Hash); err == nil {
				call.Text = blobs.Escape(string(body)) // with its NULs, which no request has
			}
		}
		whole.Calls = append(whole.Calls, &call)
	}
	return whole.Full()
}

// Kinds of sections, by what an edit of them does.
const (
	fixed    = iota // system, past, life, calls: cannot be changed
	memory          // MEMORY.md is changed
	pins            // a line taken away is unpinned
	faded           // a summary: the text changes, the ref stays
	writable        // an entry or a result
)

// subject is what the head of a section names.
type subject struct {
	key  string // the head without what may vary: a status, a gist
	kind int
	n, k int // the entry, or the first one of a range, and the call; 0 for none
}

var headPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^◆\s+(context|system|past|pins|memory|life|end` +
		`|e(\d+)(?:\.\.e\d+|\.(\d+)\s+(?:call|result))?)(?:[:\s]|$)`)
})

func (sec section) about() (sub subject) {
	m := headPattern().FindStringSubmatch(sec.head)
	if m == nil {
		return subject{key: sec.head}
	}
	sub.key = strings.Join(strings.Fields(m[1]), " ")
	sub.n, _ = strconv.Atoi(m[2]) // no digits: 0, which is nobody's number
	sub.k, _ = strconv.Atoi(m[3])
	switch {
	case sub.key == "memory":
		sub.kind = memory
	case sub.key == "pins":
		sub.kind = pins
	case strings.Contains(sub.key, ".."):
		sub.kind = faded
	case sub.n > 0 && !strings.HasSuffix(sub.key, " call"):
		sub.kind = writable
	}
	return sub
}

// title is a head without its mark.
func (sec section) title() string { return strings.TrimSpace(strings.TrimPrefix(sec.head, "◆")) }

// endHeader is the last line of context.md, which no other section of it has: what lacks it is not all there.
const endHeader = "◆ end"

// Section is a section of context.md as a person reads and changes it.
type Section struct {
	ID    string // system, pins, e1..e4, e5, e5.1-call, e5.1-result, …
	Title string // its head, without the mark
	Text  string
}

// Rewrite returns a context.md with its sections as change leaves them, and without those for which it
// returns false. change may only change texts.
func Rewrite(file string, change func(*Section) (stays bool)) string {
	var left []section
	for _, sec := range parse(strings.TrimPrefix(file, "\uFEFF")) {
		seen := Section{ID: strings.ReplaceAll(sec.about().key, " ", "-"), Title: sec.title(), Text: sec.body}
		if change(&seen) {
			left = append(left, section{sec.head, seen.Text})
		}
	}
	return render(left)
}

// Sections lists the sections of a context.md.
func Sections(file string) (list []Section) {
	Rewrite(file, func(sec *Section) bool {
		list = append(list, *sec)
		return true
	})
	return list
}
