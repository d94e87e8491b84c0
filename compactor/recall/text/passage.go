package text

import (
	"strings"
	"unicode/utf8"

	"lethe/blobs"
)

// Bounds of a passage.
const (
	PassageRunes = 400
	PassageLines = 3
)

// indentation begins a line that continues the one before it, in a passage as in the lines that an identity hears. Only
// a message of a room begins with its tag.
const indentation = "    "

// Passage renders lines of one original that follow each other, raw and short. A
// message begins with its speaker's tag, also when its beginning is not shown, and a result with the name of its tool. Any
// other line that looks like a message is indented, so nobody can forge one.
func Passage(lines []Line) string {
	var out []string
	for i, l := range lines {
		continues := i > 0 && l.Section == lines[i-1].Section && l.Message == lines[i-1].Message
		out = append(out, blobs.Unescape(l.shown(continues)))
	}
	passage := strings.Join(out, "\n")
	if runes := []rune(passage); len(runes) > PassageRunes {
		return string(runes[:PassageRunes-1]) + "…"
	}
	return passage
}

// shown renders a line, which continues the one before it or stands by itself.
func (l Line) shown(continues bool) string {
	switch {
	case l.Thought:
		return "(thought) " + l.Text
	case l.Kind == "inbound" && l.Message == nil:
		return indentation + l.Text
	case l.Kind == "inbound" && continues:
		return indentation + l.Text
	case l.Message != nil && l.First:
		return l.Tag + " " + l.Text
	case l.Message != nil:
		return l.Tag + " … " + l.Text
	case l.Kind == "result" && l.Tool != "" && !continues:
		return "(" + l.Tool + ") " + l.Text
	case tagged(l.Text):
		return indentation + l.Text
	}
	return l.Text
}

// Fits reports whether a passage has room for these lines.
func Fits(lines []Line) bool {
	n := 0
	for _, line := range lines {
		n += utf8.RuneCountInString(line.Text) + len(indentation) + len(line.Tool) + 1
		if line.Message != nil {
			n += len(line.Tag) + 3
		}
	}
	return len(lines) <= PassageLines && n <= PassageRunes
}

// tagged reports whether a line could be taken for a message of a room, also one
// whose tag stands behind characters that are not seen.
func tagged(line string) bool {
	line = strings.ToUpper(line)
	return strings.Contains(line, "[USER") || strings.Contains(line, "[AGENT")
}
