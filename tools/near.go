package tools

import "strings"

// nearest is the candidate with the smallest edit distance to name, whatever
// its case; the first of equals. One that name is a part of counts as close:
// WRITE means WRITE_FILE, although SAY is fewer edits away.
func nearest(name string, candidates []string) string {
	best, least := "", -1
	name = strings.ToUpper(clip(name, 64))
	for _, c := range candidates {
		d := distance(name, strings.ToUpper(c))
		if len(name) >= 3 && strings.Contains(strings.ToUpper(c), name) {
			d = min(d, 1)
		}
		if least < 0 || d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance of a and b, in runes.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}

// clip cuts s to n bytes at the border of a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
