package telegram

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"lethe/internal/markdown"
)

// look is the style of a piece of text.
type look struct {
	quote, pre bool
	lang       string // of pre; a name
	markdown.Style
}

// tags are the tags of a look, outermost first. Telegram's rules are kept here: in pre and code
// stands nothing else, and they stand in nothing but a quotation.
func (l look) tags() (tags []string) {
	add := func(is bool, tag string) {
		if is {
			tags = append(tags, tag)
		}
	}
	add(l.quote, "<blockquote>")
	switch {
	case l.pre && l.lang != "":
		add(true, `<pre><code class="language-`+l.lang+`">`)
	case l.pre:
		add(true, "<pre>")
	case l.Code && l.Link == "":
		add(true, "<code>")
	default:
		add(l.Link != "", `<a href="`+escape(l.Link)+`">`)
		add(l.Bold, "<b>")
		add(l.Italic, "<i>")
		add(l.Struck, "<s>")
	}
	return tags
}

func closing(tag string) string {
	switch {
	case strings.HasPrefix(tag, "<pre><code"):
		return "</code></pre>"
	case strings.HasPrefix(tag, "<a "):
		return "</a>"
	}
	return "</" + tag[1:]
}

// escape writes text for HTML, also inside an attribute.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace

// doc is a text and how it is shown.
type doc struct {
	text   strings.Builder
	runs   []styled
	breaks []int // ends of blocks that are no headings
}

// styled is text of one look, from the end of the run before it.
type styled struct {
	end int
	look
}

func (d *doc) put(s string, style look) {
	if s == "" {
		return
	}
	d.text.WriteString(strings.ReplaceAll(s, "\t", indent)) // Telegram shows a tab as one space
	if n := len(d.runs); n > 0 && d.runs[n-1].look == style {
		d.runs[n-1].end = d.text.Len()
		return
	}
	d.runs = append(d.runs, styled{d.text.Len(), style})
}

// splitter cuts a doc into messages, from front to back.
type splitter struct {
	text   string
	runs   []styled // the next message begins in the first
	breaks []int
	limit  int // units of a message
}

const blanks = " \n"

func (d *doc) split(limit int) (out []Message) {
	s := &splitter{strings.TrimRight(d.text.String(), blanks), d.runs, d.breaks, limit}
	for pos := s.skip(0); pos < len(s.text); {
		cut := s.cut(pos, s.reach(pos))
		if m := s.message(pos, cut); !blank(m.Text) {
			out = append(out, m)
		}
		pos = s.skip(cut)
	}
	return out
}

// skip returns the place at or behind pos at which a message can begin: not at white space, which Telegram would
// remove, unless it is the indentation of code.
func (s *splitter) skip(pos int) int {
	start := len(s.text) - len(strings.TrimLeft(s.text[pos:], blanks))
	from := pos // of the run
	for len(s.runs) > 0 && s.runs[0].end <= start {
		from = max(from, s.runs[0].end)
		s.runs = s.runs[1:]
	}
	if len(s.runs) > 0 && s.runs[0].pre {
		return max(from, pos+strings.LastIndexByte(s.text[pos:start], '\n')+1)
	}
	return start
}

// reach returns the furthest end of a message that begins at pos: it bounds the units and entities, with the targets of
// links written out. Telegram cuts a message behind 35,000 bytes, tags included; these bounds keep it shorter.
func (s *splitter) reach(pos int) int {
	units, plain, entities, at := 0, 0, 0, pos
	for i, run := range s.runs {
		entities += len(run.tags()) // more than Telegram's own count, which cuts a style where another begins
		quoteGoesOn := i > 0 && s.runs[i-1].quote
		if run.quote && quoteGoesOn {
			entities--
		}
		if run.Link != "" {
			plain += Units(run.Link) + 3
		}
		full := entities > MaxEntities || plain > MaxUnits
		if full && at > pos {
			return at
		}
		for _, r := range s.text[at:min(run.end, len(s.text))] {
			n := utf16.RuneLen(r)
			units, plain = units+n, plain+n
			if units > s.limit || plain > MaxUnits {
				return at
			}
			at += utf8.RuneLen(r)
		}
	}
	return len(s.text)
}

// cut returns the end of a message that begins at pos and can go to stop.
func (s *splitter) cut(pos, stop int) int {
	if stop == len(s.text) {
		return stop
	}
	if i, _ := slices.BinarySearch(s.breaks, stop+1); i > 0 && s.breaks[i-1] > pos {
		return s.breaks[i-1]
	}
	for _, end := range []string{"\n", " "} {
		if i := strings.LastIndex(s.text[pos:stop+1], end); i > (stop-pos)/2 {
			return pos + i
		}
	}
	return stop
}

// message makes text[pos:cut] a message.
func (s *splitter) message(pos, cut int) Message {
	stop := pos + len(strings.TrimRight(s.text[pos:cut], blanks))
	var text, marked strings.Builder
	var open []string
	var last look
	turn := func(style look) { // closes and opens the tags that differ
		if last.Link != style.Link && last.Link != "" {
			text.WriteString(" (" + last.Link + ")")
		}
		tags, same := style.tags(), 0
		for same < min(len(tags), len(open)) && tags[same] == open[same] {
			same++
		}
		for _, tag := range slices.Backward(open[same:]) {
			marked.WriteString(closing(tag))
		}
		marked.WriteString(strings.Join(tags[same:], ""))
		open, last = tags, style
	}
	for _, run := range s.runs {
		if pos >= stop {
			break
		}
		piece := s.text[pos:min(run.end, stop)]
		pos += len(piece)
		if run.pre && !last.pre {
			// Telegram would move the beginning of the block behind its indentation.
			code := strings.TrimLeft(piece, " ")
			piece = strings.Repeat("\u00A0", len(piece)-len(code)) + code
		}
		turn(run.look)
		text.WriteString(piece)
		marked.WriteString(escape(piece))
	}
	turn(look{})
	if !strings.Contains(marked.String(), "<") { // text has it escaped
		return Message{Text: text.String()}
	}
	return Message{Text: text.String(), HTML: marked.String()}
}
