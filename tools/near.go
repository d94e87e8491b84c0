package tools

import "strings"

// nearest is the index of the candidate with the smallest edit distance to name,
// whatever its case; the first of equals. One that name is a part of counts as close:
// WRITE means WRITE_FILE, although SAY is fewer edits away. Only the beginnings are
// compared.
func nearest(name string, candidates []string) int {
	const most = 64 // bytes
	best, least := 0, 2*most
	name = strings.ToUpper(clip(strings.TrimSpace(name), most))
	for i, c := range candidates {
		c = strings.ToUpper(clip(strings.TrimSpace(c), most))
		d := Distance(name, c)
		if len(name) >= 3 && strings.Contains(c, name) {
			d = min(d, 1)
		}
		if d < least {
			best, least = i, d
		}
	}
	return best
}

// Distance is the Levenshtein distance of two words: how many letters have to be
// inserted, deleted or replaced.
func Distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// clip cuts s to n bytes, at the border of a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for most := 3; most > 0 && n > 0 && s[n]&0xC0 == 0x80; most-- {
		n--
	}
	return s[:n]
}
