package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"lethe/blobs"
)

// What a passage may show.
const (
	PassageRunes = 300
	PassageLines = 3
	ExcerptBytes = 220 // of a long line: there is room left for the tag of who said it
)

// indentation begins a line that continues what stands before it, here as in what
// an identity hears. Only a message of a room begins with its tag.
const indentation = "    "

// Passage renders lines of one original that follow each other, raw and short. A
// message begins with the tag of who said it, also when its beginning is not
// shown; any other line that looks like a message is indented, so nobody can forge
// one.
func Passage(lines []Line) string {
	var out strings.Builder
	size := 0
	for i, l := range lines[:min(len(lines), PassageLines)] {
		line := blobs.Unescape(l.shown(i > 0 && l.Message != nil && l.Message == lines[i-1].Message))
		size += utf8.RuneCountInString(line) + 1
		switch {
		case size <= PassageRunes+1 && i > 0:
			out.WriteString("\n" + line)
		case i == 0 && size > PassageRunes+1:
			return string([]rune(line)[:PassageRunes-1]) + "…"
		case i == 0:
			out.WriteString(line)
		}
	}
	return out.String()
}

// shown renders a line, which continues the one before it or stands by itself.
func (l Line) shown(continues bool) string {
	switch {
	case l.Kind == "inbound" && (l.Message == nil || continues):
		return indentation + l.Text
	case l.Message != nil && l.First:
		return l.tag() + " " + l.Text
	case l.Message != nil:
		return l.tag() + " … " + l.Text
	case tagged(l.Text):
		return indentation + l.Text
	}
	return l.Text
}

// Fits reports whether a passage of some lines shows all of them.
func Fits(lines []Line) bool {
	n := 0
	for _, l := range lines {
		n += utf8.RuneCountInString(l.Text) + len(indentation) + 1
		if l.Message != nil {
			n += len(l.tag()) + 3
		}
	}
	return len(lines) <= PassageLines && n <= PassageRunes
}

// Excerpt is the part of a line around one byte of its text that a passage has room
// for.
func (l Line) Excerpt(at int) Line {
	from := max(0, min(at-ExcerptBytes/4, len(l.Text)-ExcerptBytes))
	for from > 0 && from < at && (l.Text[from-1] != ' ' || !utf8.RuneStart(l.Text[from])) {
		from++
	}
	if from > 0 {
		if l.From += from; l.First {
			l.From += len(l.tag()) + 1
		}
		l.First = false
	}
	l.Text = strings.TrimSpace(Cut(l.Text[from:], ExcerptBytes))
	return l
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
