package mind

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
	"lethe/life/event"
)

// Ref is a blob that an entry refers to: its address, and the hash and gist that a prompt shows.
type Ref struct {
	Hash  blobs.Hash `json:"hash"`
	Short string     `json:"short"`
	Gist  string     `json:"gist"`
}

// String renders the ref for a prompt.
func (r Ref) String() string { return blobs.Ref{Hash: r.Short, Gist: r.Gist}.String() }

// outside makes text from outside safe to stand in a prompt: it can forge no
// structure, and NUL, which several providers refuse, becomes U+FFFD.
func outside(s string) string {
	return blobs.Escape(strings.ReplaceAll(s, "\x00", "\uFFFD"))
}

// Outside makes text from outside safe to stand in a prompt: it can forge no structure.
func Outside(text string) string { return outside(text) }

// model renders text of a model. A model copies the escapes that it sees, so model
// undoes them first: ◰4 stays ◰4, and a bare ◆ becomes ◰4.
func model(s string) string { return outside(blobs.Unescape(s)) }

// indented makes each newline inside a message an indented continuation,
// whichever of its spellings a reader might take for one.
var indented = strings.NewReplacer("\r\n", "\n    ", "\n", "\n    ", "\r", "\n    ",
	"\v", "\n    ", "\f", "\n    ", "\u0085", "\n    ", "\u2029", "\n    ")

// Indent renders a text that quotes others: it indents all lines except the first and the mark of a cut, so that a
// quoted text begins no line.
func Indent(text string) string {
	text = indented.Replace(strings.ReplaceAll(text, "\u2028", "\n"))
	return strings.ReplaceAll(text, "\n    ◳ ", "\n◳ ")
}

// cite returns the line above a text that names the question about, or "" without a question.
func cite(label string, about *Ref, said string) string {
	if about == nil {
		return ""
	}
	if said != "" {
		said = ": " + indented.Replace(outside(said))
	}
	return label + " " + about.String() + said + "\n"
}

// CutRunes returns the first runes of text, never ending in half an escape.
func CutRunes(text string, runes int) string {
	for at := range text {
		if runes == 0 {
			return strings.TrimSuffix(text[:at], "◰")
		}
		runes--
	}
	return text
}

// clip cuts a rendered text to about show runes, two thirds from its head. A mark
// in the gap tells the length of the missing part and the ref of the whole; with places,
// one call of UNCOMPACT opens the missing part. Clip also marks a cut inside a line, so
// that the rest does not look like a line. A result that is cut shares no memory with text.
func clip(text string, show int, places bool, ref Ref) string {
	length := utf8.RuneCountInString(text)
	if show <= 0 || length <= show {
		return text
	}
	head := CutRunes(text, show*2/3)
	if newline := strings.LastIndexByte(head, '\n'); newline > len(head)*3/4 {
		head = head[:newline]
	}
	tail := text[len(CutRunes(text, length-(show-show*2/3))):]
	if newline := strings.IndexByte(tail, '\n'); newline >= 0 && newline < len(tail)/4 {
		tail = tail[newline+1:]
	}
	missing := length - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
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
	mark := fmt.Sprintf("%d of %d characters are not shown here; all of them: %s", missing, length, ref)
	if places {
		mark = place(text, len(head), len(text)-len(tail)) + ref.String()
	}
	return fmt.Sprintf("%s%s\n◳ %s\n%s%s", head, before, mark, after, tail)
}

// asWritten removes the tags and indents that Heard adds to the lines of a room.
var asWritten = strings.NewReplacer("\n    ", "\n", "\n[USER:unknown] ", "\n")

// place describes the bytes from..to of a rendered text in characters and lines of the original, as
// UNCOMPACT counts them. The described part may be larger than the gap, if Heard left lines out.
func place(text string, from, to int) string {
	count := func(part string) int {
		if strings.HasPrefix(text, "[USER:") || strings.HasPrefix(text, "[AGENT:") {
			part = asWritten.Replace("\n" + strings.TrimRight(part, " "))[1:]
		}
		return utf8.RuneCountInString(blobs.Unescape(part))
	}
	first := count(text[:from])
	gap := text[from:to]
	line := 1 + strings.Count(text[:to], "\n") - strings.Count(strings.TrimLeft(gap, "\n"), "\n")
	last := line + strings.Count(strings.Trim(gap, "\n"), "\n")
	return fmt.Sprintf("characters %d to %d of %d (lines %d to %d) are left out; UNCOMPACT with offset=%d shows them: ",
		first, count(text[:to]), count(text), line, last, first)
}

// leastCut is the fewest weighted characters that a cut has to save: reading the missing part later costs more.
const leastCut = 1500

// Fit returns the value of Entry.Show or Call.Show, with Places, for a rendered text: the most runes, up to runes, for
// which the clipped text weighs at most most. The weight includes the mark of the cut, with gist. It returns 0, which
// shows all, if the text fits, if a cut would save less than leastCut, or if the mark would weigh as much as the
// missing part. So the text may weigh more than a small most.
func Fit(text, gist string, runes, most int, weigh func(string) int) int {
	ref := Ref{Short: "0123456789abcdef", Gist: blobs.Gist(gist)}
	length, whole := utf8.RuneCountInString(text), weigh(text)
	savesLittle := length <= runes+leastCut && whole <= most+leastCut
	if savesLittle || whole <= weigh(clip(text, 1, true, ref)) {
		return 0
	}
	for show := min(length-1, runes, max(1, most)); ; {
		has := weigh(clip(text, show, true, ref))
		if has <= most || show <= 1 {
			return max(1, show)
		}
		show = min(show-1, int(int64(show)*int64(max(0, most))/int64(has)))
	}
}

// Digest returns 16 hex digits of the BLAKE3 of a text.
func Digest(text []byte) string { return blobs.Sum(text).String()[:16] }

// Heard renders lines of a room for an inbound entry, without the identity's own. It
// indents the continuation of a message, so that no text looks like another line.
func Heard(body []byte, own []Span) string {
	var lines []string
	for line := range Others(body, own) {
		lines = append(lines, tag(line)+" "+indented.Replace(outside(line.Text)))
	}
	return strings.Join(lines, "\n")
}

// Others yields the lines of a room that are neither blank nor in own.
func Others(body []byte, own []Span) iter.Seq[chat.Line] {
	return func(yield func(chat.Line) bool) {
		var at int64
		for raw := range bytes.Lines(body) {
			from := at
			at += int64(len(raw))
			line := chat.Parse(raw)
			if line.Blank() || event.Covered(own, from, at) {
				continue
			}
			if !yield(line) {
				return
			}
		}
	}
}

func tag(line chat.Line) string {
	kind := "USER"
	if line.Agent {
		kind = "AGENT"
	}
	if !line.Tagged {
		return "[USER:unknown]"
	}
	return fmt.Sprintf("[%s:%s %s]", kind, blobs.Escape(line.Name), line.At.UTC().Format("2006-01-02T15:04:05Z"))
}

// Result renders the body of a tool result, whole.
func Result(body []byte) string { return outside(string(body)) }

// clipped finds the mark of clip, which no text from outside can hold.
func clipped(text string) bool { return strings.Contains(text, "\n◳ ") }

// OpenedText begins a result of UNCOMPACT; the hash follows.
const OpenedText = "original of hash="
