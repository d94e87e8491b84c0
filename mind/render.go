package mind

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/chat"
	"lethe/mind/message"
)

// Message is one message of a request.
type Message = message.Message

// NoAnswer stands for the text of a reply that has none, since providers refuse
// an empty assistant message.
const NoAnswer = "(no answer)"

// Nothing is a final text that says that nothing needs to be said. It is recorded and
// not posted.
const Nothing = "(nothing)"

// Messages renders the next request. Tail, which is empty in the default order,
// goes last. A unit that still lacks a result is left out: what it will say is
// not known yet, and a request never takes back what an earlier one said.
func (s *State) Messages(tail string) []Message {
	out := []Message{{Role: "system", Content: message.Text(s.Stable.System)}}
	if s.Stable.Past != "" {
		out = append(out, Message{Role: "user", Content: message.Text(s.Stable.Past)})
	}
	for _, e := range s.Live {
		if e.Waits() {
			break // and nothing follows it
		}
		out = append(out, e.Messages(s.Stable)...)
	}
	if tail != "" {
		out = append(out, Message{Role: "user", Content: message.Text(tail), Aside: true})
	}
	return out
}

// Messages renders one entry, as the epoch has it: one message, or a whole unit.
func (e *Entry) Messages(epoch Stable) []Message {
	if e.Kind != Reply {
		text := e.Text
		if epoch.Indented && e.Kind == Note { // the daemon begins each line of a hint
			text = Indent(text)
		}
		said := epoch.shows(e.Header()+"\n"+text, e.View, e.Images)
		return []Message{{Role: "user", Content: said, Aside: e.Kind != Inbound}}
	}
	text := e.Text
	if strings.TrimSpace(text) == "" {
		text = ""
		if len(e.Calls) == 0 {
			text = NoAnswer
		}
	}
	back := func(opaque string) string {
		if e.N < epoch.Since || epoch.Params.Order == OrderTail { // what stood before it, MEMORY at the end, is gone
			return ""
		}
		return opaque
	}
	out := []Message{{Role: "assistant", Content: message.Text(text), Reasoning: e.Reasoning, Opaque: back(e.Opaque)}}
	var seen message.Content // not every provider takes pictures in a result
	for k, c := range e.Calls {
		id := fmt.Sprintf("e%d_%d", e.N, k+1)
		call := message.Call{ID: id, Name: c.Tool, Arguments: c.Args, Opaque: back(c.Opaque)}
		out[0].Calls = append(out[0].Calls, call)
		text := c.Text
		if strings.TrimSpace(text) == "" {
			text = "(no output)"
		}
		said := epoch.shows(text, c.View, c.Images)
		if epoch.Params.Sees {
			seen, said = append(seen, said[1:]...), said[:1]
		}
		out = append(out, Message{Role: "tool", Content: said, CallID: id, Aside: c.asks()})
	}
	if len(seen) > 0 {
		out = append(out, Message{Role: "user", Content: seen, Aside: true})
	}
	return out
}

// shows is a text with its pictures behind it. One that a person has edited shows none.
func (s Stable) shows(text string, view *Ref, images []string) message.Content {
	content := message.Text(text)
	if view != nil {
		return content
	}
	for _, i := range images {
		hash, size, _ := strings.Cut(i, ":")
		part := message.Part{Text: fmt.Sprintf("\n[image hash=%.16s %s]", hash, size)}
		if s.Params.Sees {
			part.Ref = hash
		}
		content = append(content, part)
	}
	return content
}

// Header is the line that opens an entry in a prompt and in context.md. Nobody
// can forge one: ◆ is escaped in everything from outside.
func (e *Entry) Header() string {
	h := fmt.Sprintf("◆ e%d %s", e.N, e.Kind)
	if e.Kind == Inbound {
		h += " room=" + e.Room
	}
	return h
}

// load sets the texts of an entry from the bodies of its blobs.
func (e *Entry) load(body []byte) error {
	switch e.Kind {
	case Reply:
		a, err := DecodeAnswer(body)
		if err != nil {
			return err
		}
		if len(e.Calls) == 0 {
			for _, c := range a.Calls {
				e.Calls = append(e.Calls, &Call{Tool: c.Tool})
			}
		}
		if len(e.Calls) != len(a.Calls) {
			return errReply
		}
		e.Text, e.Reasoning, e.Opaque = model(a.Text), model(a.Reasoning), a.Opaque
		for i, c := range a.Calls {
			call := e.Calls[i]
			call.Tool, call.Args, call.Original, call.Opaque = c.Tool, model(c.Args), c.Original, c.Opaque
		}
	case Inbound:
		e.Text = cite("answer to", e.About, e.Said) + clip(Heard(body, e.Own), e.Show, e.Places, e.Ref)
	default:
		e.Text = cite("outcome of", e.About, e.Said) + clip(Result(body), e.Show, e.Places, e.Ref)
	}
	return nil
}

// shown renders the body of a call's result.
func (c *Call) shown(body []byte) string {
	label := "asked"
	if c.Status != OK {
		label = "not run, asked"
	}
	return cite(label, c.About, "") + clip(Result(body), c.Show, c.Places, c.Result)
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

// outside makes text that comes from outside fit to stand in a prompt: it can
// forge no structure, and NUL, which several providers refuse, is U+FFFD.
func outside(s string) string {
	return blobs.Escape(strings.ReplaceAll(s, "\x00", "\uFFFD"))
}

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
