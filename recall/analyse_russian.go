package recall

import (
	"cmp"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/russian"
)

// cyrillic stems a word of Cyrillic letters by Snowball's rules for Russian, the
// language that most of them are in. In another one it takes some endings off, from
// what is said and what is asked alike. Languages in Latin letters cannot be told
// from English by a word, so there are no such rules for them.
func cyrillic(word string) string {
	if len(word) > maxToken {
		return word
	}
	for _, r := range word {
		if r < 'а' || r > 'я' {
			return word
		}
	}
	env := snowballstem.NewEnv(word)
	russian.Stem(env)
	return cmp.Or(env.Current(), word)
}
