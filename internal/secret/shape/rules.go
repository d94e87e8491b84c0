package shape

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// gitleaks is config/gitleaks.toml of github.com/zricethezav/gitleaks/v8 v8.30.1, to the byte. NOTICE has its licence.
//
//go:embed gitleaks.toml.gz
var gitleaks []byte

// own are rules in the same form. A rule takes the place of gitleaks' rule with its id.
//
//go:embed rules.toml
var own []byte

type ruleset struct {
	Rules     []*rule
	Allowlist allowlist
}

type rule struct {
	ID          string
	Regex       string
	Path        string // of files to which the rule is bound; no text of ours has one
	Entropy     float64
	SecretGroup int
	Keywords    []string
	Allowlists  []allowlist

	expression func() *regexp.Regexp
	lists      []allowlist // of all rules, and its own
}

// allowlist is what a rule lets stand. Lists that ask for a path never do.
type allowlist struct {
	Paths     []string
	Regexes   []string
	Stopwords []string

	expressions func() []*regexp.Regexp
}

// off are rules that strike what is no secret: any value behind a word like key.
const off = "generic-api-key"

// load returns the rules in force.
var load = sync.OnceValue(func() (rules []*rule) {
	unpacked, err := gzip.NewReader(bytes.NewReader(gitleaks))
	if err != nil {
		panic(err) // of an embedded file
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		panic(err)
	}
	var theirs, ours ruleset
	for into, text := range map[*ruleset][]byte{&theirs: text, &ours: own} {
		if err := toml.Unmarshal(text, into); err != nil {
			panic(err)
		}
	}
	known := map[string]bool{off: true}
	for _, r := range append(ours.Rules, theirs.Rules...) {
		if known[r.ID] || r.Path != "" {
			continue
		}
		known[r.ID] = true
		r.expression = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(edges.Replace(r.Regex)) })
		r.lists = append(r.Allowlists, theirs.Allowlist, ours.Allowlist)
		for i := range r.lists {
			r.lists[i].prepare()
		}
		rules = append(rules, r)
	}
	return rules
})

// edges changes gitleaks' edges of a secret. The text before a key word only costs time. Gitleaks looks into files, where
// a quote or a space ends a secret; in talk a comma or a full stop does, too.
var edges = strings.NewReplacer(
	`[\w.-]{0,50}?`, "",
	`(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[^\w+/=-]|$)`,
)

func (l *allowlist) prepare() {
	l.expressions = sync.OnceValue(func() (all []*regexp.Regexp) {
		for _, text := range l.Regexes {
			all = append(all, regexp.MustCompile(text))
		}
		return all
	})
}

func (l *allowlist) has(secret string) bool {
	if len(l.Paths) > 0 {
		return false
	}
	folded := strings.ToLower(secret)
	stop := func(word string) bool { return strings.Contains(folded, strings.ToLower(word)) }
	match := func(re *regexp.Regexp) bool { return re.MatchString(secret) }
	return slices.ContainsFunc(l.Stopwords, stop) || slices.ContainsFunc(l.expressions(), match)
}

// shortest is the least length of a secret in bytes.
const shortest = 8

// find returns the secrets that a rule finds in a window of a text.
func (r *rule) find(text string, window span) (all []place) {
	kind := strings.ReplaceAll(r.ID, "-", " ")
	for _, match := range r.expression().FindAllStringSubmatchIndex(text[window.from:window.to], -1) {
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
	return !slices.ContainsFunc(r.lists, func(l allowlist) bool { return l.has(text) })
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
