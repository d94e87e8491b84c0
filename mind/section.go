package mind

import (
	"strconv"
	"strings"

	"lethe/blobs"
	"lethe/internal/pattern"
)

// section is one part of context.md: a line that begins with ◆, and the text
// until the next such line. Everything from outside is escaped, so no text can
// begin a section.
type section struct {
	head string
	body string
}

// parse cuts a text into sections. Text before the first head becomes a section
// without a head.
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
	var text strings.Builder
	for _, sec := range sections {
		text.WriteString(sec.head + "\n")
		if sec.body != "" {
			text.WriteString(sec.body + "\n")
		}
	}
	return text.String()
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

var closeLine = pattern.Lazy(`(?m)^</reasoning>[ \t]*$\n?`)

// splitReply undoes joinReply. If a person broke the tags, it returns all of body
// as text.
func splitReply(body string) (reasoning, text string) {
	if rest, ok := strings.CutPrefix(body, reasonOpen+"\n"); ok {
		if at := closeLine().FindStringIndex(rest); at != nil {
			return strings.TrimSuffix(rest[:at[0]], "\n"), rest[at[1]:]
		}
	}
	return "", body
}

// sections renders an entry: its text, then each call and its result. With refs,
// the heads have refs to the whole texts.
func (e *Entry) sections(refs bool) []section {
	suffix := func(ref Ref) string {
		if refs {
			return " " + ref.String()
		}
		return ""
	}
	text := e.Text
	if e.Kind == Reply {
		text = joinReply(e.Reasoning, text)
	}
	out := []section{{e.Header() + suffix(e.Ref), text}}
	for i, call := range e.Calls {
		id := "◆ " + CallID(e.N, i+1)
		out = append(out, section{id + " call " + call.Tool, call.Args})
		if call.Status != "" {
			out = append(out, section{id + " result " + call.Status + suffix(call.Result), call.Text})
		}
	}
	return out
}

// Full renders an entry for the blob that keeps it when it leaves the context:
// its text, and a ref to each original. The texts stay escaped, so that no text
// in them looks like another entry.
func (e *Entry) Full() string {
	var text strings.Builder
	for _, sec := range e.sections(true) {
		text.WriteString(sec.head + "\n" + sec.body + "\n")
	}
	return text.String()
}

// Plain renders an entry as context.md shows it.
func (e *Entry) Plain() string { return strings.TrimSuffix(render(e.sections(false)), "\n") }

// Original renders an entry like Full, with its texts whole. A text that read
// cannot return stays clipped, with the ref of the whole.
func (e *Entry) Original(read func(blobs.Hash) ([]byte, error)) string {
	whole := *e
	whole.Show, whole.Calls = 0, nil
	if clipped(e.Text) && e.View == nil { // not a reply, whose text is never clipped
		if body, err := read(e.Ref.Hash); err == nil {
			_ = whole.load(body) // fails only for replies
		}
	}
	for _, called := range e.Calls {
		call := *called
		if clipped(called.Text) && called.View == nil {
			if body, err := read(called.Result.Hash); err == nil {
				call.Text = blobs.Escape(string(body)) // with its NULs, unlike a request
			}
		}
		whole.Calls = append(whole.Calls, &call)
	}
	return whole.Full()
}

// Kinds of sections. A person may edit all but fixed ones.
const (
	fixed    = iota // system, past, life, calls
	memory          // an edit changes MEMORY.md
	pins            // an edit adds and removes pins
	faded           // an edit of a summary changes the text and keeps the ref
	writable        // an entry or a result
)

// subject is the thing that the head of a section names.
type subject struct {
	key  string // the head without its variable parts: a status, a gist
	kind int
	n, k int // the number of the entry, or the first of a range, and of the call; or 0
}

var headPattern = pattern.Lazy(`^◆\s+(context|system|past|adopted|pins|memory|life|end` +
	`|e(\d+)(?:\.\.e\d+|\.(\d+)\s+(?:call|result))?)(?:[:\s]|$)`)

func (sec section) about() (sub subject) {
	match := headPattern().FindStringSubmatch(sec.head)
	if match == nil {
		return subject{key: sec.head}
	}
	sub.key = strings.Join(strings.Fields(match[1]), " ")
	sub.n, _ = strconv.Atoi(match[2]) // 0 without digits
	sub.k, _ = strconv.Atoi(match[3])
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

// title returns a head without its mark.
func (sec section) title() string { return strings.TrimSpace(strings.TrimPrefix(sec.head, "◆")) }

// endHeader is the last line of context.md. A file without it was cut off.
const endHeader = "◆ end"

// Section is a section of context.md as a person reads and changes it.
type Section struct {
	ID    string // system, pins, e1..e4, e5, e5.1-call, e5.1-result, …
	Title string // the head without its mark
	Text  string
}

// Rewrite calls change for each section of a context.md, and returns the file with the changed texts. It drops a
// section if change returns false. change may only change Text.
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
