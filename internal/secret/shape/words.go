package shape

import (
	"strings"
	"sync"
)

// word is a key word, and the rules to which it leads.
type word struct {
	text  string
	rules []*rule
}

// words returns the key words in lists by pair.
var words = sync.OnceValue(func() *[1 << 12][]*word {
	var lists [1 << 12][]*word
	known := map[string]*word{}
	for _, rule := range load() {
		for _, text := range rule.Keywords {
			w := known[text]
			if w == nil {
				w = &word{text: text}
				known[text] = w
				n := pair(text[0], text[1])
				lists[n] = append(lists[n], w)
			}
			w.rules = append(w.rules, rule)
		}
	}
	return &lists
})

// pair returns the number of the list for words that begin with two bytes, whatever their case.
func pair(a, b byte) int { return int(a&0x1f|a&0x40>>1)<<6 | int(b&0x1f|b&0x40>>1) }

// hits returns the windows of each rule around its key words in a part of a text.
func hits(text string, part span) map[*rule][]span {
	lists, windows := words(), map[*rule][]span{}
	for at := part.from; at+1 < part.to; at++ {
		for _, word := range lists[pair(text[at], text[at+1])] {
			end := at + len(word.text)
			if end > len(text) || !strings.EqualFold(text[at:end], word.text) {
				continue
			}
			for _, rule := range word.rules {
				windows[rule] = rule.widen(windows[rule], text, at)
			}
		}
	}
	return windows
}

// A window has behind bytes before a key word and ahead bytes from there on; a private key is longer. It goes on to the
// end of a run that it would cut, for at most longest bytes.
const (
	behind     = 96
	ahead      = 1 << 10
	privateKey = 16 << 10
	longest    = 8 << 10
)

// widen appends to windows in order the one around a key word, which begins at a place behind those of the others.
func (r *rule) widen(windows []span, text string, at int) []span {
	length := ahead
	if strings.HasPrefix(r.Keywords[0], "-----") {
		length = privateKey
	}
	window, over := span{max(0, at-behind), min(len(text), at+length)}, 0 // over is the end of the last window
	if len(windows) > 0 {
		over = windows[len(windows)-1].to
	}
	if window.to <= over {
		return windows
	}
	first, last := max(over, window.from-longest), min(len(text), window.to+longest)
	for window.from > first && inKey[text[window.from-1]] {
		window.from--
	}
	for window.to < last && inKey[text[window.to]] {
		window.to++
	}
	return join(windows, window)
}
