package text

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	mostNear    = 3
	nearRange   = 0.85 // of the likeness of the best one: the least beside it
	leastShared = 0.55 // of the letters of two words that are not almost equal
	leastStart  = 4    // bytes at the beginning of two words that share nothing else
	manyLetters = 8    // of a word in which two may be wrong
	digits      = "0123456789"
)

// Near returns at most three of the words in lines, which look most like one that is asked for; a compound of it and of
// other words of the query before all.
func Near(asked, lines string, others ...string) (near []string) {
	likeness := map[string]float64{}
	lost := 2 * len(asked) / utf8.RuneCountInString(asked) // bytes that two wrong letters take away
	if strings.ContainsAny(asked, digits) {
		lost = 0
	}
	bytes, begins := spread(asked), asked[:min(len(asked), leastStart)]
	for word := range strings.SplitSeq(lines, "\n") { // most are ruled out by their bytes
		has := spread(word)
		mayBeAlike := bits.OnesCount64(bytes&^has) <= lost || has&^bytes == 0
		if !mayBeAlike && !strings.HasPrefix(word, begins) {
			continue
		}
		if like := alike(asked, word, others); like > 0 {
			likeness[word] = like
			near = append(near, word)
		}
	}
	sort.SliceStable(near, func(i, j int) bool {
		a, b := near[i], near[j]
		return cmp.Or(cmp.Compare(likeness[b], likeness[a]), len(a)-len(b), strings.Compare(a, b)) < 0
	})
	near = near[:min(len(near), mostNear)]
	return slices.DeleteFunc(near, func(word string) bool { return likeness[word] < nearRange*likeness[near[0]] })
}

// spread returns a set that has the bytes of a word, and others.
func spread(word string) (set uint64) {
	for i := range len(word) {
		set |= 1 << (word[i] & 63)
	}
	return set
}

// alike returns the likeness of a word to one that is asked for, 0 to 1: it begins with that; one edit makes one of the
// other, or two from eight letters on; or it shares a part or the beginning. A word with a digit can only be a part. It is
// more for a compound with some of the others.
func alike(asked, word string, others []string) float64 {
	letters, shared := float64(utf8.RuneCountInString(asked)), 0
	isPart := strings.Contains(word, asked) || strings.Contains(asked, word)
	for _, other := range others {
		if isPart && Joins(word, asked, other) {
			shared += len(other)
		}
	}
	switch {
	case !isPart && strings.ContainsAny(asked, digits):
		return 0
	case shared > 0:
		shared += len(asked)
	case strings.HasPrefix(word, asked):
		return 1
	case within(1, asked, word):
		return 1 - 1/letters
	case letters >= manyLetters && within(2, asked, word):
		return 1 - 2/letters
	case isPart:
		shared = min(len(asked), len(word))
	default:
		for asked[shared] == word[shared] { // neither is a part
			shared++
		}
		if shared < leastStart {
			return 0
		}
	}
	likeness := float64(2*shared) / float64(len(asked)+len(word))
	if likeness < leastShared {
		return 0
	}
	return likeness
}

// Joins reports whether a word is a compound of one and of another one.
func Joins(word, one, other string) bool {
	isOne := len(other) < leastStart || strings.Contains(one, other) || strings.Contains(other, one)
	return !isOne && strings.Contains(word, one) && strings.Contains(word, other)
}

// within reports whether so many edits make one word of the other, or fewer. An edit adds, drops or changes a letter, or
// swaps two.
func within(edits int, a, b string) bool {
	if a == b || edits == 0 {
		return a == b
	}
	if longer := len(a) - len(b); max(longer, -longer) > edits*utf8.UTFMax { // as most words are
		return false
	}
	x, n := utf8.DecodeRuneInString(a)
	y, m := utf8.DecodeRuneInString(b)
	if x == y {
		return within(edits, a[n:], b[n:])
	}
	edits--
	if within(edits, a[n:], b[m:]) || within(edits, a[n:], b) || within(edits, a, b[m:]) {
		return true
	}
	afterX, isPair := strings.CutPrefix(a[n:], string(y))
	afterY, isSwapped := strings.CutPrefix(b[m:], string(x))
	return isPair && isSwapped && within(edits, afterX, afterY)
}
