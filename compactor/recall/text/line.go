package text

import (
	"encoding/json"
	"iter"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"lethe/chat"
	"lethe/internal/pattern"
	"lethe/internal/style"
)

// Message is a message that somebody posted in a room.
type Message struct {
	Tag     string // as it is rendered: [USER:ada 2026-11-20T12:57:16Z]
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
	Thought  bool   // the identity only thought it
	From     int    // byte of the body at which it begins, with its tag
	Text     string // what it says, composed, on one line; the arguments of a call without their escapes
}

// Name returns who says the message that begins with a line, "" where nobody is known to.
func (l Line) Name() string {
	if !l.First || l.Speaker == chat.Unknown {
		return ""
	}
	return l.Speaker
}

// longLine is the longest line that stays whole, in bytes: a reply is often one line. A passage has room for one and
// its tag.
const longLine = 350

// Lines yields what a section says, in order, without marks of cuts and of thoughts. A
// section that only repeats other originals says nothing.
func (s *Section) Lines(body string) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		if s.silent(body) {
			return
		}
		content := s.Text(body)
		if s.Kind == "result" {
			content = style.Mask(content)
		}
		if s.Tool == "READ_FILE" {
			content = style.MaskTold(content)
		}
		var said *Message
		thought := s.thought
		for at := 0; at < len(content); {
			raw, next := s.line(content, at)
			begins := raw == "<reasoning>" && at == 0
			ends := raw == "</reasoning>" && thought
			isMark := begins || ends
			if isMark && s.Kind == "reply" {
				thought, at = !thought, next
				continue
			}
			line, tag := Line{Section: s, Message: said, Thought: thought}, 0
			if s.Kind == "inbound" {
				if m, text, ok := readTag(raw); ok {
					said, tag = &m, len(raw)-len(text)
					line.Message, line.First = said, true
				} else if !strings.HasPrefix(raw, "    ") {
					said, line.Message = nil, nil // a line that nobody has said
				}
			}
			if !strings.HasPrefix(raw, "◳ ") && !line.pieces(raw[tag:], s.from+at+tag, tag, yield) {
				return
			}
			at = next
		}
	}
}

// line returns the line of a section that begins at one byte of its content, and
// where the next one begins. In the arguments of a call, which are JSON, a line
// ends in an escape.
func (s *Section) line(content string, at int) (raw string, next int) {
	raw, _, _ = strings.Cut(content[at:], "\n")
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

// pieces yields a line, or a long one in pieces. It begins at byte from of the body, behind a tag of some bytes.
func (l Line) pieces(raw string, from, tag int, yield func(Line) bool) bool {
	for raw != "" {
		n := len(raw)
		if n > longLine {
			n = sentenceEnd(raw[:longLine])
		}
		piece := strings.TrimLeft(raw[:n], " \t\r\x00\x01")
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

// read returns what a piece of the body says, on one line.
func (l Line) read(raw string) string {
	switch l.Kind {
	case "call":
		raw = unquote(raw)
	case "result":
		raw = strings.Join(strings.FieldsFunc(raw, func(letter rune) bool { return letter <= style.Unseen }), " ")
	}
	raw = strings.Map(func(letter rune) rune {
		if endsLine(letter) {
			return ' '
		}
		return letter
	}, raw)
	return strings.TrimSpace(norm.NFC.String(strings.ToValidUTF8(raw, "\uFFFD")))
}

// endsLine reports whether a reader might take a character for the end of a line.
func endsLine(r rune) bool {
	switch r {
	case '\t':
		return false
	case '\u2028', '\u2029': // the separators of lines and paragraphs
		return true
	}
	return unicode.IsControl(r)
}

// sentenceEnd returns where the last sentence of a text's second half ends, or a
// word, or a character.
func sentenceEnd(text string) int {
	half := len(text) / 2
	for _, ends := range []string{".!?;", " "} {
		if i := strings.LastIndexAny(text[half:], ends); i >= 0 {
			return half + i + 1
		}
	}
	return max(1, len(Cut(text, len(text)-1)))
}

// readTag splits a line of a room as package mind renders it: a line that had no
// tag is one of USER:unknown.
func readTag(line string) (message Message, said string, ok bool) {
	cut, said, ok := chat.CutTag(line)
	if !ok {
		cut.Name = chat.Unknown
		if said, ok = strings.CutPrefix(line, "[USER:"+chat.Unknown+"] "); !ok {
			return message, line, false
		}
	}
	tag, _, _ := strings.Cut(line, "]")
	return Message{tag + "]", cut.Name, cut.Agent, cut.At}, said, true
}

// escapes are the escapes of JSON that stand for a character, without the newline.
var escapes = pattern.Lazy(`(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfrt]`)

// unquote reads a part of a JSON text with what its strings say in place of their
// escapes. What is no escape stays.
func unquote(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return escapes().ReplaceAllStringFunc(text, func(escape string) (said string) {
		_ = json.Unmarshal([]byte(`"`+escape+`"`), &said) // the pattern lets nothing else through
		return said
	})
}
