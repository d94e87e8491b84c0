package recall

import (
	"slices"
	"strings"
	"sync"
)

// wordlists are the words that are treated apart.
type wordlists struct {
	stop   map[string]bool     // folded words that are not looked for
	light  map[string]bool     // stems of words that say little
	phatic map[string]bool     // those of them that say nothing
	same   map[string][]string // stems of other words for the same
}

var wordLists = sync.OnceValue(func() wordlists {
	w := wordlists{stop: map[string]bool{}, light: map[string]bool{}, phatic: map[string]bool{}, same: map[string][]string{}}
	for word := range strings.FieldsSeq(stopWords) {
		w.stop[word] = true
	}
	for word := range strings.FieldsSeq(lightWords) {
		w.light[stem(word)] = true
	}
	for word := range strings.FieldsSeq(phaticWords) {
		w.light[stem(word)], w.phatic[stem(word)] = true, true
	}
	for line := range strings.Lines(strings.TrimSpace(sameWords)) {
		w.group(strings.Fields(line))
	}
	return w
})

// group makes words variants of each other.
func (w *wordlists) group(words []string) {
	for _, a := range words {
		for _, b := range words {
			if a, b := stem(a), stem(b); a != b && !slices.Contains(w.same[a], b) {
				w.same[a] = append(w.same[a], b)
			}
		}
	}
}
