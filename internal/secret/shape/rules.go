package shape

import (
	_ "embed"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// made has the allowlist of all rules in its first line, and then a line for each rule in force: its key words and the
// rest as JSON. TestRules makes it of those in testdata: config/gitleaks.toml of github.com/zricethezav/gitleaks/v8
// v8.30.1, to the byte, of which NOTICE has the licence, and our own, rules.toml.
//
//go:embed rules.txt
var made string

// rule is complete behind read. Most rules are never read.
type rule struct {
	read func()

	ID          string
	Regex       string
	Entropy     float64     `json:",omitzero"`
	SecretGroup int         `json:",omitzero"`
	Keywords    []string    `json:"-"`
	Allowlists  []allowlist `json:",omitempty"`

	expression *regexp.Regexp
}

// allowlist is what a rule lets stand.
type allowlist struct {
	Regexes   []string `json:",omitempty"`
	Stopwords []string `json:",omitempty"`

	expressions func() []*regexp.Regexp
}

// load returns the rules in force, which are to be read.
var load = sync.OnceValue(func() (all []*rule) {
	first, rest, _ := strings.Cut(made, "\n")
	everywhere := sync.OnceValue(func() (l allowlist) { parse(first, &l); l.prepare(); return l })
	for line := range strings.Lines(rest) {
		words, text, _ := strings.Cut(line, " ")
		r := &rule{Keywords: strings.Split(words, ",")}
		r.read = sync.OnceFunc(func() {
			parse(text, r)
			r.expression = regexp.MustCompile(r.Regex)
			for i := range r.Allowlists {
				r.Allowlists[i].prepare()
			}
			r.Allowlists = append(r.Allowlists, everywhere())
		})
		all = append(all, r)
	}
	return all
})

// parse reads JSON of the embedded file.
func parse(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		panic(err)
	}
}

func (l *allowlist) prepare() {
	l.expressions = sync.OnceValue(func() (all []*regexp.Regexp) {
		for _, text := range l.Regexes {
			all = append(all, regexp.MustCompile(text))
		}
		return all
	})
}

func (l *allowlist) has(secret string) bool {
	folded := strings.ToLower(secret)
	stop := func(word string) bool { return strings.Contains(folded, strings.ToLower(word)) }
	match := func(re *regexp.Regexp) bool { return re.MatchString(secret) }
	return slices.ContainsFunc(l.Stopwords, stop) || slices.ContainsFunc(l.expressions(), match)
}

// shortest is the least length of a secret in bytes.
const shortest = 8

// find returns the secrets that a rule finds in a window of a text.
func (r *rule) find(text string, window span) (all []place) {
	r.read()
	kind := strings.ReplaceAll(r.ID, "-", " ")
	for _, match := range r.expression.FindAllStringSubmatchIndex(text[window.from:window.to], -1) {
		from, to := r.group(match)
		from, to = window.from+from, window.from+to
		if r.secret(text[from:to]) {
			all = append(all, place{from, to, kind})
		}
	}
	return all
}

// group returns the bounds of the secret in a match: of the rule's group, of the first group that is not empty, or of
// the whole.
func (r *rule) group(match []int) (from, to int) {
	for n := max(1, r.SecretGroup); 2*n < len(match); n++ {
		if from, to := match[2*n], match[2*n+1]; to > from {
			return from, to
		}
	}
	return match[0], match[1]
}

// secret reports whether a text of the rule's shape is a secret.
func (r *rule) secret(text string) bool {
	if len(text) < shortest {
		return false
	}
	if r.Entropy > 0 && entropy(text) <= r.Entropy {
		return false
	}
	return !slices.ContainsFunc(r.Allowlists, func(l allowlist) bool { return l.has(text) })
}

// entropy returns the bits of information of a text in a byte.
func entropy(text string) (bits float64) {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	for _, count := range counts {
		if count > 0 {
			part := float64(count) / float64(len(text))
			bits -= part * math.Log2(part)
		}
	}
	return bits
}
