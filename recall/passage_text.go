package recall

import (
	"strings"
	"time"
	"unicode"

	"lethe/blobs"
)

const (
	passageRunes = 300
	passageLines = 3
	// indentation is how a line begins that goes on what stands before it, here as
	// in what an identity hears. A message of a room begins with its tag, and
	// nothing else in a passage does.
	indentation = "    "
)

// text makes a range of a candidate's body fit to be shown: raw, a few lines, not
// too long, and of nothing but its parts.
func (c *candidate) text(from, to int) string {
	var lines []string
	for _, p := range c.parts {
		for _, m := range p.messages {
			if a, b := max(m.from, from), min(m.to, to); a < b {
				lines = append(lines, m.shown(c.body[a:b], a > m.from)...)
			}
		}
		if a, b := max(p.from, from), min(p.to, to); a < b && p.kind != "inbound" {
			for _, line := range visible(c.body[a:b]) {
				if tagged(line) {
					line = indentation + line
				}
				lines = append(lines, line)
			}
		}
	}
	return excerpt(lines)
}

// shown is what a message says, or a part of it, with its tag.
func (m message) shown(text string, begun bool) []string {
	lines := visible(text)
	for i, line := range lines {
		switch {
		case i > 0 || m.speaker == "":
			lines[i] = indentation + line
		case begun:
			lines[i] = m.tag() + " … " + line
		default:
			lines[i] = m.tag() + " " + line
		}
	}
	return lines
}

// tag renders the tag of a message that has one.
func (m message) tag() string {
	out := "[USER:"
	if m.agent {
		out = "[AGENT:"
	}
	if out += m.speaker; !m.at.IsZero() {
		out += " " + m.at.Format(time.RFC3339Nano)
	}
	return out + "]"
}

// visible are the lines of a text that are not blank, without what they are
// indented by: whatever a reader might take for the end of a line is one. Marks of
// cuts are none of them.
func visible(text string) []string {
	var out []string
	for _, line := range strings.FieldsFunc(text, lineEnd) {
		cut := strings.HasPrefix(line, "◳ ")
		if line = strings.TrimSpace(line); line != "" && !cut {
			out = append(out, line)
		}
	}
	return out
}

func lineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// tagged reports whether a line could be taken for a message of a room.
func tagged(line string) bool {
	line = strings.ToUpper(strings.TrimLeftFunc(line, showsNothing))
	return strings.HasPrefix(line, "[USER") || strings.HasPrefix(line, "[AGENT")
}

// showsNothing reports whether a character at the beginning of a line leaves no ink
// of its own there.
func showsNothing(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '\u2800' ||
		unicode.In(r, unicode.M, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// excerpt makes a passage of lines.
func excerpt(lines []string) string {
	text := strings.Join(lines[:min(len(lines), passageLines)], "\n")
	out := []rune(strings.ToValidUTF8(blobs.Unescape(text), "\uFFFD"))
	if len(out) > passageRunes {
		out = append(out[:passageRunes-1], '…')
	}
	return string(out)
}
