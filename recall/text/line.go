package text

import (
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Message is who said something in a room, and when.
type Message struct {
	Speaker string // escaped
	Agent   bool
	At      time.Time // zero without a time in the tag
}

// Line is a line of an original, or a piece of a long one: what ranking compares
// with a query, and what a passage is made of.
type Line struct {
	*Section
	*Message        // nil for a line that is not part of a message
	First    bool   // the message begins with it
	From     int    // byte of the body at which it begins, with its tag
	Text     string // what it says, composed, on one line; the arguments of a call without their escapes
}

// longLine is the length from which a line is cut: a reply is often one line.
const longLine = 400

// Lines yields what a section says, in order, without marks of cuts. A section that
// only repeats other originals says nothing.
func (s *Section) Lines(body string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		if s.silent(body) {
			return
		}
		var said *Message
		for at := s.from; at < s.to; {
			raw, next := s.line(body, at)
			line, tag := Line{Section: s, Message: said}, 0
			if s.Kind == "inbound" {
				if m, n := readTag(raw); n > 0 {
					said, tag = &m, n
					line.Message, line.First = said, true
				} else if !strings.HasPrefix(raw, "    ") {
					said, line.Message = nil, nil // a line that nobody has said
				}
			}
			if !strings.HasPrefix(raw, "◳ ") && !line.pieces(raw[tag:], at+tag, tag, yield) {
				return
			}
			at = next
		}
	}
}

// line returns the line of a section that begins at one byte of the body, and
// where the next one begins. In the arguments of a call, which are JSON, a line
// ends in an escape.
func (s *Section) line(body string, at int) (raw string, next int) {
	raw, _, _ = strings.Cut(body[at:s.to], "\n")
	if s.Kind == "call" {
		for i := 0; i+1 < len(raw); i++ {
			if raw[i] != '\\' {
				continue
			}
			if raw[i+1] == 'n' {
				return raw[:i], at + i + 2
			}
			i++
		}
	}
	return raw, at + len(raw) + 1
}

// pieces yields a line, or a long one in pieces. from is where it begins in the
// body, behind a tag of some bytes.
func (l Line) pieces(raw string, from, tag int, yield func(Line) bool) bool {
	for raw != "" {
		n := len(raw)
		if n > longLine {
			n = sentenceEnd(raw[:longLine])
		}
		piece := strings.TrimLeft(raw[:n], " \t\r")
		l.From = from + n - len(piece)
		if l.First {
			l.From = from - tag
		}
		if l.Text = l.read(piece); l.Text != "" {
			if !yield(l) {
				return false
			}
			l.First = false
		}
		raw, from = raw[n:], from+n
	}
	return true
}

// read returns what a piece of the body says.
func (l Line) read(raw string) string {
	if l.Kind == "call" {
		raw = unquote(raw)
	}
	if strings.ContainsFunc(raw, endsLine) {
		raw = strings.Map(func(r rune) rune {
			if endsLine(r) {
				return ' '
			}
			return r
		}, raw)
	}
	return strings.TrimSpace(norm.NFC.String(strings.ToValidUTF8(raw, "\uFFFD")))
}

// endsLine reports whether a reader might take a character for the end of a line.
func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// sentenceEnd returns where the last sentence of a text's second half ends, or a
// word, or a character.
func sentenceEnd(s string) int {
	half := len(s) / 2
	if i := strings.LastIndexAny(s[half:], ".!?;"); i >= 0 {
		return half + i + 1
	}
	if i := strings.LastIndexByte(s[half:], ' '); i >= 0 {
		return half + i + 1
	}
	return max(1, len(Cut(s, len(s)-1)))
}

// readTag reads [USER:name time] at the beginning of a line and returns its
// length with the space after it, 0 where there is none.
func readTag(line string) (m Message, n int) {
	rest, ok := strings.CutPrefix(line, "[USER:")
	if !ok {
		if rest, ok = strings.CutPrefix(line, "[AGENT:"); !ok {
			return m, 0
		}
		m.Agent = true
	}
	tag, said, ok := strings.Cut(rest, "]")
	if !ok {
		return m, 0
	}
	name, stamp, timed := strings.Cut(tag, " ")
	if timed {
		at, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			return m, 0
		}
		m.At = at.UTC()
	}
	m.Speaker = name
	return m, len(line) - len(strings.TrimPrefix(said, " "))
}

// tag renders the tag of a message.
func (m *Message) tag() string {
	out := "[USER:"
	if m.Agent {
		out = "[AGENT:"
	}
	if out += m.Speaker; !m.At.IsZero() {
		out += " " + m.At.Format(time.RFC3339Nano)
	}
	return out + "]"
}

// unquote reads a part of a JSON text with what its strings say in place of their
// escapes. What is no escape stays.
func unquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		said, n := escape(s[i:])
		b.WriteString(said)
		s = s[i+n:]
	}
	return b.String() + s
}

// escape returns what the escape at the beginning of a text says, and its length.
func escape(s string) (string, int) {
	if len(s) < 2 {
		return s, len(s)
	}
	switch s[1] {
	case '"', '\\', '/':
		return s[1:2], 2
	case 'n', 'r', 't', 'b', 'f':
		return " ", 2
	case 'u':
		r, ok := escapedUnit(s)
		if !ok {
			break
		}
		if low, ok := escapedUnit(s[6:]); ok && utf16.IsSurrogate(r) {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return string(both), 12
			}
		}
		return string(r), 6
	}
	return s[:1], 1
}

// escapedUnit reads \u and four digits.
func escapedUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
