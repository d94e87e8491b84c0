package mind

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// section is one part of context.md: a line that begins with ◆, and the text
// until the next such line. Everything from outside is escaped, so no text can
// begin a section.
type section struct {
	head string
	body string
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

// View renders the live context as text, for people and editors. Its first line
// says through which entry it goes and holds the hash of the rest. A unit that
// still lacks a result, and what follows it, is not in it. docs/context.md
// specifies the format.
func (s *State) View() []byte {
	through := s.settled()
	rest := render(s.sections(through)) + endHeader + "\n"
	return fmt.Appendf(nil, "◆ context of %s %s epoch=%d through=e%d hash=%s\n%s",
		s.Name, s.shortSelf(), s.Epoch, through, Digest([]byte(rest)), rest)
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

// settled is the last entry before the first unit that still lacks a result.
func (s *State) settled() int {
	for _, e := range s.Live {
		if e.Waits() {
			return e.N - 1
		}
	}
	return s.Next - 1
}

func (s *State) shortSelf() string { return s.Self[:min(16, len(s.Self))] }

// sections renders the stable parts and the entries up to number through.
func (s *State) sections(through int) []section {
	out := []section{{"◆ system", s.Stable.System}}
	for _, sec := range parse(s.Stable.Past) {
		if sec.about().kind == faded && s.Stable.Indented { // a person edits the summary as it was written
			sec.body = strings.ReplaceAll("\n"+sec.body, "\n    ", "\n")[1:]
		}
		out = append(out, sec)
	}
	for _, e := range s.Live {
		if e.N > through {
			break
		}
		out = append(out, e.sections(false)...)
	}
	return out
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

// Seen is a context.md as it was found.
type Seen struct {
	Through int  // the newest entry in it
	Intact  bool // nobody has edited it
	Epoch   int  // that it was written in; in a later one not all of it can be compared

	self  string // first digits of whose context it is
	above string // what a person wrote over the first line
	text  string // what follows it
}

var viewPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?ms)\A(.*?)^◆ context of \S+ ([0-9a-f]+) epoch=(\d+) through=e(\d+) hash=([0-9a-f]{16})[ \t\r]*$\n?`)
})

// ReadView reads a context.md. It is false when the file lacks our first or last line, or has a zero byte:
// then it is what a power loss left of a view, or an editor that died of an edit, and nobody is to obey it.
func ReadView(file []byte) (Seen, bool) {
	whole := strings.TrimPrefix(string(file), "\uFEFF") // some editors put that there
	m := viewPattern().FindStringSubmatch(whole)
	if m == nil || strings.Contains(whole, "\x00") {
		return Seen{}, false
	}
	above, text := strings.TrimSpace(m[1]), whole[len(m[0]):]
	epoch, _ := strconv.Atoi(m[3]) // digits, by the pattern
	through, _ := strconv.Atoi(m[4])
	intact := above == "" && Digest([]byte(strings.TrimRight(text, "\n")+"\n")) == m[5]
	return Seen{through, intact, epoch, m[2], above, text}, endLine().MatchString(text)
}

var endLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^` + endHeader + `[ \t\r]*$`) })
