package mind

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
)

// Ref is a blob as an entry knows it: the whole address, and how it is shown.
type Ref struct {
	Hash  blobs.Hash `json:"hash"`
	Short string     `json:"short"`
	Gist  string     `json:"gist"`
}

// String renders the ref as it stands in a prompt.
func (r Ref) String() string { return blobs.Ref{Hash: r.Short, Gist: r.Gist}.String() }

// outside makes text that comes from outside fit to stand in a prompt: it can
// forge no structure, and NUL, which several providers refuse, is U+FFFD.
func outside(s string) string {
	return blobs.Escape(strings.ReplaceAll(s, "\x00", "\uFFFD"))
}

// Outside makes text that comes from outside fit to stand in a prompt: it can forge no structure.
func Outside(text string) string { return outside(text) }

// model renders what a model wrote. A model copies the escapes it sees, so they
// are undone first: ◰4 stays ◰4, and a bare ◆ becomes one.
func model(s string) string { return outside(blobs.Unescape(s)) }

// indented makes each newline inside a message an indented continuation,
// whichever of its spellings a reader might take for one.
var indented = strings.NewReplacer("\r\n", "\n    ", "\n", "\n    ", "\r", "\n    ",
	"\v", "\n    ", "\f", "\n    ", "\u0085", "\n    ", "\u2029", "\n    ")

// Indent renders a text that quotes others: each line continues the first, but for the mark of a cut. So nobody else
// begins a line.
func Indent(text string) string {
	text = indented.Replace(strings.ReplaceAll(text, "\u2028", "\n"))
	return strings.ReplaceAll(text, "\n    ◳ ", "\n◳ ")
}

// cite is the line over a text that names the question which it has to do with.
func cite(label string, about *Ref, said string) string {
	if about == nil {
		return ""
	}
	if said != "" {
		said = ": " + indented.Replace(outside(said))
	}
	return label + " " + about.String() + said + "\n"
}

// CutRunes returns the first n runes of s, never ending in half an escape.
func CutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return strings.TrimSuffix(s[:i], "◰")
		}
		n--
	}
	return s
}

// clip cuts a rendered text to about show runes, two thirds of them from its
// head, and says in the gap what is missing and where all of it is: with places, so that
// one call opens it there. A cut inside a line is marked, so that the rest of it does not
// look like a line. The result shares no memory with the text unless it is all of it.
func clip(text string, show int, places bool, ref Ref) string {
	n := utf8.RuneCountInString(text)
	if show <= 0 || n <= show {
		return text
	}
	head := CutRunes(text, show*2/3)
	if i := strings.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i]
	}
	tail := text[len(CutRunes(text, n-(show-show*2/3))):]
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	missing := n - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	if missing <= 0 { // an escape is never cut
		return text
	}
	before, after := "", ""
	if text[len(head)] != '\n' {
		before = "…"
	}
	if text[len(text)-len(tail)-1] != '\n' {
		after = "…"
	}
	mark := fmt.Sprintf("%d of %d characters are not shown here; all of them: %s", missing, n, ref)
	if places {
		mark = place(text, len(head), len(text)-len(tail)) + ref.String()
	}
	return fmt.Sprintf("%s%s\n◳ %s\n%s%s", head, before, mark, after, tail)
}

// asWritten undoes what Heard adds to the lines of a room.
var asWritten = strings.NewReplacer("\n    ", "\n", "\n[USER:unknown] ", "\n")

// place names the bytes from..to of a rendered text as UNCOMPACT counts the original. It may
// name what is shown too, as where Heard left lines out, but leaves nothing out between them.
func place(text string, from, to int) string {
	count := func(s string) int {
		if strings.HasPrefix(text, "[USER:") || strings.HasPrefix(text, "[AGENT:") {
			s = asWritten.Replace("\n" + strings.TrimRight(s, " "))[1:]
		}
		return utf8.RuneCountInString(blobs.Unescape(s))
	}
	first := count(text[:from])
	gap := text[from:to]
	line := 1 + strings.Count(text[:to], "\n") - strings.Count(strings.TrimLeft(gap, "\n"), "\n")
	last := line + strings.Count(strings.Trim(gap, "\n"), "\n")
	return fmt.Sprintf("characters %d to %d of %d (lines %d to %d) are left out; UNCOMPACT with offset=%d shows them: ",
		first, count(text[:to]), count(text), line, last, first)
}

// leastCut is how many weighted characters a cut has to save: a reader who needs what is missing pays more for it.
const leastCut = 1500

// Fit returns how much of a rendered text may be shown, as Entry.Show and Call.Show take
// it beside Places: so many runes that the clipped text, with the mark that names what is missing by its
// gist, weighs no more than most, and at most runes of them. It is 0 when all of the text
// may be shown, when a cut would save less than leastCut, or when the mark would weigh as much as what it stands
// for. So a small most cannot always be met.
func Fit(text, gist string, runes, most int, weigh func(string) int) int {
	ref := Ref{Short: "0123456789abcdef", Gist: blobs.Gist(gist)}
	n, whole := utf8.RuneCountInString(text), weigh(text)
	if n <= runes+leastCut && whole <= most+leastCut || whole <= weigh(clip(text, 1, true, ref)) {
		return 0
	}
	for show := min(n-1, runes, max(1, most)); ; {
		has := weigh(clip(text, show, true, ref))
		if has <= most || show <= 1 {
			return max(1, show)
		}
		show = min(show-1, int(int64(show)*int64(max(0, most))/int64(has)))
	}
}

// Digest is the part of a hash that tells texts of one kind apart.
func Digest(text []byte) string { return blobs.Sum(text).String()[:16] }

// Heard renders the bytes of a room as an inbound entry shows them, whole, without the
// identity's own lines. A newline inside a message is shown as an indented continuation,
// so that no text can look like another line.
func Heard(body []byte, own []Span) string {
	var lines []string
	for line := range Others(body, own) {
		lines = append(lines, tag(line)+" "+indented.Replace(outside(line.Text)))
	}
	return strings.Join(lines, "\n")
}

// Others yields the lines of a room that say something and are not the identity's own.
func Others(body []byte, own []Span) iter.Seq[chat.Line] {
	return func(yield func(chat.Line) bool) {
		var at int64
		for raw := range bytes.Lines(body) {
			from := at
			at += int64(len(raw))
			if line := chat.Parse(raw); !line.Blank() && !Covered(own, from, at) && !yield(line) {
				return
			}
		}
	}
}

func tag(l chat.Line) string {
	kind := "USER"
	if l.Agent {
		kind = "AGENT"
	}
	if !l.Tagged {
		return "[USER:unknown]"
	}
	return fmt.Sprintf("[%s:%s %s]", kind, blobs.Escape(l.Name), l.At.UTC().Format("2006-01-02T15:04:05Z"))
}

// Result renders the body of a tool result, whole.
func Result(body []byte) string { return outside(string(body)) }

// clipped finds the mark of clip, which no text from outside can hold.
func clipped(text string) bool { return strings.Contains(text, "\n◳ ") }

// OpenedText is how a result of UNCOMPACT begins; the hash follows.
const OpenedText = "original of hash="
