package text

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"
)

// stem reduces a folded word: an irregular form of English by a table, any other
// word by snowball.
func stem(word string) string {
	if base, ok := irregular()[word]; ok {
		return base
	}
	return snowball(word)
}

// snowball applies the Snowball project's stemmers: Porter's second one for English
// to Latin letters, the Russian one to Cyrillic. Other languages that use these
// letters cannot be told apart by a word, so these rules stem their words, too, in the
// index as in a query. Stems are stored: a release that makes other ones needs another
// version of the index.
func snowball(word string) string {
	if len(word) == 0 || len(word) > maxToken {
		return word
	}
	stemmer := english.Stem
	within := func(r rune) bool { return 'a' <= r && r <= 'z' }
	if word[0] >= utf8.RuneSelf {
		stemmer = russian.Stem
		within = func(r rune) bool { return 'а' <= r && r <= 'я' }
	}
	for _, r := range word {
		if !within(r) {
			return word
		}
	}
	env := snowballstem.NewEnv(word)
	stemmer(env)
	return env.Current()
}

// maxStems bounds the memory of a Stems: about 1 MB.
const maxStems = 8000

// Stems remembers the stems of words, since most words come again. It belongs to
// one goroutine.
type Stems map[string]string

// Term returns how a token stands in the index.
func (m Stems) Term(token Token) string {
	if token.literal() {
		return token.Text
	}
	s, ok := m[token.Text]
	if !ok {
		if len(m) >= maxStems {
			clear(m)
		}
		s = strings.Clone(stem(token.Text))
		m[strings.Clone(token.Text)] = s
	}
	return s
}

// stopWords are not looked up, unless a query has nothing else. The list is
// English; in other languages it does no harm.
var stopWords = strings.Fields(`
a an the and or but if of at by for with about to from in on into onto as is are was were be been being am do
does did doing done have has had having i me my mine we us our you your he him his she her hers it its they
them their this that these those there here what which who whom whose when where why how can could would
should will shall may might must not no nor so than then too very just also any some both each ft im youre
dont doesnt didnt isnt wasnt arent else myself yourself himself herself itself ourselves yourselves themselves
`)

// Stop reports whether a token is a word that says nothing by itself.
func (t Token) Stop() bool {
	isWord := t.Kind == Word || t.Kind == Part
	return isWord && slices.Contains(stopWords, t.Text)
}

// Matcher finds some terms among the tokens of a text. It belongs to one goroutine.
type Matcher struct {
	terms map[string]int
	stems Stems
	// starts has each beginning of a matching token. Most tokens begin otherwise, and need no stem.
	starts map[string]bool
}

// NewMatcher returns a matcher for terms as they stand in the index.
func NewMatcher(terms []string) *Matcher {
	matcher := &Matcher{terms: map[string]int{}, stems: Stems{}, starts: map[string]bool{}}
	for i, t := range terms {
		matcher.terms[t] = i
		matcher.starts[beginning(t)] = true
	}
	for form, base := range irregular() {
		if _, ok := matcher.terms[base]; ok {
			matcher.starts[beginning(form)] = true
		}
	}
	return matcher
}

// Find returns which of the terms a token is.
func (m *Matcher) Find(token Token) (term int, ok bool) {
	if !m.starts[beginning(token.Text)] {
		return 0, false
	}
	term, ok = m.terms[m.stems.Term(token)]
	return term, ok
}

// beginning returns the first two bytes of a token. Stemming keeps them, except in irregular forms.
func beginning(s string) string { return s[:min(2, len(s))] }

// irregular maps a form that no rule brings to its base to the stem of that.
var irregular = sync.OnceValue(func() map[string]string {
	forms := map[string]string{}
	for _, group := range strings.Split(irregularForms, ",") {
		words := strings.Fields(group)
		for _, form := range words[1:] {
			forms[form] = snowball(words[0])
		}
	}
	return forms
})

// irregularForms are the irregular verbs and nouns of English, each with its forms.
//
//go:embed irregular.txt
var irregularForms string
