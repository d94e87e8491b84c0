package blobs

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Ref is how an address stands in a prompt or a log.
type Ref struct {
	Hash string `json:"hash"` // 16 hex digits, more where those are ambiguous
	Gist string `json:"gist"` // one line of at most MaxGist runes
}

// MaxGist is the longest gist, in runes.
const MaxGist = 100

// String renders ◱hash=… gist=…◲. The gist is escaped, so that a ref cannot be
// forged inside one.
func (r Ref) String() string {
	return "◱hash=" + r.Hash + " gist=" + Escape(Gist(r.Gist)) + "◲"
}

var refPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`◱hash=([0-9a-f]{3,64}) gist=([^◱◲\n]*)◲`)
})

// ParseRefs finds the refs in rendered text, in order.
func ParseRefs(text string) []Ref {
	var refs []Ref
	for _, m := range refPattern().FindAllStringSubmatch(text, -1) {
		refs = append(refs, Ref{Hash: m[1], Gist: Unescape(m[2])})
	}
	return refs
}

// Escaped text can have the digit of an escape right before the word.
var grantPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\b|◰[0-4])hash=([0-9a-f]{16,64})\b`)
})

// Mentions returns the short hashes that a text from outside, raw or escaped,
// names as hash=<hex>, each once, in order, 16 digits or more. Only the reader
// can tell whether they mean anything.
func Mentions(text string) []string {
	var out []string
	if !strings.Contains(text, "hash=") { // mostly: the pattern reads more slowly
		return nil
	}
	seen := map[string]bool{}
	for _, m := range grantPattern().FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, m[1])
		}
	}
	return out
}

// Gist makes one line of at most MaxGist runes of s: white space is folded,
// what cannot be printed is dropped (controls, and the marks that turn the
// direction of writing), and a cut is marked.
func Gist(s string) string {
	s = oneLine(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s))
	if runes := []rune(s); len(runes) > MaxGist {
		return string(runes[:MaxGist-1]) + "…"
	}
	return s
}

// The five characters that are structure in a prompt, and what stands for them
// in text that comes from outside. ◰ is the escape character itself.
var (
	escaper   = strings.NewReplacer("◰", "◰0", "◱", "◰1", "◲", "◰2", "◳", "◰3", "◆", "◰4")
	unescaper = strings.NewReplacer("◰0", "◰", "◰1", "◱", "◰2", "◲", "◰3", "◳", "◰4", "◆")
)

// Escape makes text from outside (rooms, tools, the model, files, gists) safe to
// stand in a prompt: it can forge no ref and no entry header. Invalid UTF-8
// becomes U+FFFD.
func Escape(s string) string {
	return escaper.Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

// Unescape is the way back, for tool arguments and for display:
// Unescape(Escape(s)) == s for every valid s.
func Unescape(s string) string {
	if !strings.Contains(s, "◰") { // mostly: the replacer reads more slowly
		return s
	}
	return unescaper.Replace(s)
}
