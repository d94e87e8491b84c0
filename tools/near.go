package tools

import (
	"slices"
	"strings"
)

// nearest is the index of the candidate that is most like name, whatever its case; the first of equals.
func nearest(name string, candidates []string) int {
	like := make([]int, len(candidates))
	for i, c := range candidates {
		like[i] = Alike(strings.ToLower(name), strings.ToLower(c))
	}
	return slices.Index(like, slices.Max(like))
}

// Alike counts the bytes at their beginnings and ends in which two words agree, less those that one has more: it is
// high for a word and itself with a slip in it.
func Alike(a, b string) (n int) {
	if len(a) > len(b) {
		a, b = b, a
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	for a, b = a[n:], b[n:]; a != "" && a[len(a)-1] == b[len(b)-1]; n++ {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return n - len(b)/2
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
