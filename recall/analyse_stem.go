package recall

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stem reduces a folded word to what its forms have in common: went and goes to
// go, children to child, studies to studi. It is Porter's second stemmer for
// English (snowballstem.org/algorithms/english), with a table of irregular forms
// before it, and Snowball's for Russian. Words of other scripts stay as they are.
// It is pure and takes some hundred nanoseconds: whoever reads much remembers
// stems.
func stem(word string) string {
	if word != "" && word[0] >= utf8.RuneSelf {
		return cyrillic(word)
	}
	if base, ok := irregular()[word]; ok {
		return base
	}
	return porter(word)
}

// Stem returns how a word stands in the index: folded, and what its forms have in
// common.
func Stem(word string) string { return stem(foldWord(word)) }

// irregular maps a form to the stem of its base.
var irregular = sync.OnceValue(func() map[string]string {
	forms := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(irregularForms)) {
		words := strings.Fields(line)
		for _, w := range words[1:] {
			forms[w] = porter(words[0])
		}
	}
	return forms
})

// porter is the stemmer by itself. What it makes of words is in every index: a
// release of it that makes something else of them needs another schemaVersion.
func porter(word string) string {
	if len(word) > maxToken {
		return word
	}
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word
		}
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}
