package mind

import (
	"slices"
	"strings"
)

// Merge joins two changes of one text: a person changed base to mine, and somebody else
// changed it to theirs. Both are kept where one of them has only added lines at the end;
// otherwise theirs stays, and refused is true. White space at the ends of lines does not
// count.
func Merge(base, mine, theirs string) (merged string, refused bool) {
	b, m, t := textLines(base), textLines(mine), textLines(theirs)
	out := t
	switch {
	case begins(m, b) && (begins(t, m) || ends(t, m[len(b):])): // nothing to add
	case begins(t, b):
		out = slices.Concat(m, t[len(b):])
	case begins(m, b):
		out = slices.Concat(t, m[len(b):])
	case begins(t, m) && len(m) > 0, len(m)+len(t) == 0: // merged already, as after a crash
	default:
		refused = true
	}
	if len(out) == 0 {
		return "", refused
	}
	return strings.Join(out, "\n") + "\n", refused
}

func begins(lines, with []string) bool {
	return len(lines) >= len(with) && slices.EqualFunc(lines[:len(with)], with, sameLine)
}

func ends(lines, with []string) bool {
	return len(lines) >= len(with) && slices.EqualFunc(lines[len(lines)-len(with):], with, sameLine)
}

// textLines are the lines of a text, without what ends them.
func textLines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// bare is a line without the white space at its end.
func bare(line string) string { return strings.TrimRight(line, " \t\r") }

func sameLine(a, b string) bool { return bare(a) == bare(b) }

// lost returns the lines of old that are not in now any more.
func lost(old, now string) string {
	left := map[string]bool{"": true}
	for _, line := range textLines(now) {
		left[bare(line)] = true
	}
	return strings.Join(slices.DeleteFunc(textLines(old), func(line string) bool { return left[bare(line)] }), "\n")
}
