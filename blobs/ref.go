package blobs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"lethe/internal/pattern"
)

// Ref is the form of an address in a prompt or a log.
type Ref struct {
	Hash string `json:"hash"` // 16 hex digits, or more if 16 are ambiguous; see Store.Short
	Gist string `json:"gist"` // one line of at most MaxGist runes
}

// MaxGist is the longest gist, in runes.
const MaxGist = 100

// String renders ◱hash=… gist=…◲. The gist is escaped, so that a ref cannot be
// forged inside one.
func (r Ref) String() string {
	return "◱hash=" + r.Hash + " gist=" + Escape(Gist(r.Gist)) + "◲"
}

var refPattern = pattern.Lazy(`◱hash=([0-9a-f]{3,64}) gist=([^◱◲\n]*)◲`)

// ParseRefs finds the refs in rendered text, in order.
func ParseRefs(text string) []Ref {
	var refs []Ref
	for _, m := range refPattern().FindAllStringSubmatch(text, -1) {
		refs = append(refs, Ref{Hash: m[1], Gist: Unescape(m[2])})
	}
	return refs
}

// grantPattern takes "hash=" at the beginning of a word. In escaped text the digit of an escape may stand right
// before the word, where \b does not match.
var grantPattern = pattern.Lazy(`(?:\b|◰[0-4])hash=([0-9a-f]{16,64})\b`)

// Mentions returns the hashes of 16 digits or more that a text from outside, raw or escaped, names as
// hash=<hex>: each once, in order. It does not check that such blobs exist.
func Mentions(text string) []string {
	var out []string
	if !strings.Contains(text, "hash=") { // the common case, without the slow pattern
		return nil
	}
	seen := map[string]bool{}
	for _, match := range grantPattern().FindAllStringSubmatch(text, -1) {
		if !seen[match[1]] {
			seen[match[1]] = true
			out = append(out, match[1])
		}
	}
	return out
}

// Gist makes one line of at most MaxGist runes of s. It folds white space, drops unprintable runes (controls, and
// the marks that turn the direction of writing), and ends a line that it cuts with "…".
func Gist(text string) string {
	text = oneLine(strings.Map(dropUnprintable, text))
	if runes := []rune(text); len(runes) > MaxGist {
		return string(runes[:MaxGist-1]) + "…"
	}
	return text
}

func dropUnprintable(char rune) rune {
	const drop = -1 // for strings.Map
	if char == utf8.RuneError {
		return drop
	}
	if unicode.IsPrint(char) || unicode.IsSpace(char) {
		return char
	}
	return drop
}

// The five characters that are structure in a prompt, and the escapes that replace them in text from outside.
// ◰ is the escape character itself.
var (
	escaper   = strings.NewReplacer("◰", "◰0", "◱", "◰1", "◲", "◰2", "◳", "◰3", "◆", "◰4")
	unescaper = strings.NewReplacer("◰0", "◰", "◰1", "◱", "◰2", "◲", "◰3", "◳", "◰4", "◆")
)

// Escape makes text from outside (rooms, tools, the model, files, gists) safe to
// stand in a prompt: it can forge no ref and no entry header. Invalid UTF-8
// becomes U+FFFD.
func Escape(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.Contains(s, "\xe2\x97") { // as all of them begin: the common case, without the slow replacer
		return s
	}
	return escaper.Replace(s)
}

// Unescape undoes Escape, for tool arguments and for display:
// Unescape(Escape(s)) == s for every valid s.
func Unescape(s string) string {
	if !strings.Contains(s, "◰") { // the common case, without the slow replacer
		return s
	}
	return unescaper.Replace(s)
}
