package mind

import (
	"slices"
	"strings"
)

// Merge joins two changes of one text, by lines: a person changed base to mine,
// and somebody else changed it to theirs. Where both changed the same lines theirs
// stay, and refused is true. White space at the ends of lines does not count.
func Merge(base, mine, theirs string) (merged string, refused bool) {
	b, m, t := textLines(base), textLines(mine), textLines(theirs)
	inMine, inTheirs := match(b, m), match(b, t)
	var out []string
	var i, j, k int // how far b, m and t are merged
	for next := 0; next <= len(b); next++ {
		endMine, endTheirs := len(m), len(t)
		if next < len(b) {
			if endMine, endTheirs = inMine[next], inTheirs[next]; endMine < 0 || endTheirs < 0 {
				continue // no line that both left
			}
		}
		part, ok := mergeLines(b[i:next], m[j:endMine], t[k:endTheirs])
		out, refused = append(out, part...), refused || !ok
		if next < len(b) {
			out = append(out, t[endTheirs])
		}
		i, j, k = next+1, endMine+1, endTheirs+1
	}
	if len(out) == 0 {
		return "", refused
	}
	return strings.Join(out, "\n") + "\n", refused
}

// mergeLines joins two changes of the lines b, none of which is left in both.
func mergeLines(b, m, t []string) (merged []string, ok bool) {
	begins := func(t, with []string) bool {
		return len(t) >= len(with) && slices.EqualFunc(t[:len(with)], with, sameLine)
	}
	switch {
	case slices.EqualFunc(m, b, sameLine), len(m) > 0 && begins(t, m): // it is merged already, as after a crash
		return t, true
	case slices.EqualFunc(t, b, sameLine):
		return m, true
	case begins(t, b): // they have added to what was changed here
		return append(slices.Clone(m), t[len(b):]...), true
	}
	return t, false
}

// match pairs lines of b with lines of t, in order and as many as can be: for each
// line of b the place of its like in t, or -1. Texts too long to compare have no
// pairs.
func match(b, t []string) []int {
	longest := make([][]int, len(b)+1) // common lines of b[i:] and t[j:]
	pairs := slices.Repeat([]int{-1}, len(b))
	if (len(b)+1)*(len(t)+1) > 1<<20 {
		return pairs
	}
	for i := range longest {
		longest[i] = make([]int, len(t)+1)
	}
	for i := len(b) - 1; i >= 0; i-- {
		for j := len(t) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if sameLine(b[i], t[j]) {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(b) && j < len(t); {
		switch {
		case sameLine(b[i], t[j]):
			pairs[i] = j
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
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
