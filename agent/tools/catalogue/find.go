package catalogue

import (
	"math"
	"slices"
	"sort"
	"strings"

	"lethe/compactor/recall/text"
	"lethe/internal/pattern"
)

// Parameters of the ranking, which testdata/README.md measures. saturation is that of BM25 (Robertson and Zaragoza, The
// Probabilistic Relevance Framework, 2009).
const (
	saturation = 0.6
	restWeight = 0.2 // what a word behind the first sentence of a description counts, in words of the name

	shortWeight      = 0.5 // what a word counts that begins as one of the query does: repo, repository
	formBonus        = 0.1 // for a word in the very form of the query: issues, not issue
	serverBonus      = 2   // for a word that is the server's name
	nameBonus        = 0.3 // for a query that has all words of a name
	verbBonus        = 0.3 // for an item that does what the query wants done
	deprecatedWeight = 0.5 // of an item that says that it is
)

// verbs are those for one kind of deed each, as names of tools and wishes begin with.
var verbs = strings.Split(`create add new make open insert post write start register put submit save store remember
read get show view fetch retrieve see look display describe return inspect check
list
update edit change modify set patch replace rename alter adjust
delete remove drop erase destroy clear forget kill
search find query look locate lookup discover
run execute exec call invoke perform evaluate
send post say tell write notify message reply answer
close stop end cancel abort quit
upload push attach
download pull fetch`, "\n")

// word is a word of a text: as it stands there, and as it is compared.
type word struct{ form, stem string }

// document is an item as it is searched.
type document struct {
	words  map[string]float64 // by their stems: what each counts
	forms  map[string]bool    // words of its name and its first sentence
	server []string           // stems of its server's name
	name   []string           // of the rest of its name
	deeds  uint
	old    bool // it says that it is deprecated
}

// add counts the words of a part.
func (d *document) add(part []word, weight float64) {
	for _, w := range part {
		d.words[w.stem] += weight
		d.forms[w.form] = d.forms[w.form] || weight == 1
	}
}

// index holds the items that are searched.
type index struct {
	stems     text.Stems
	kinds     map[string]uint // of a verb: the deeds that it may stand for, a bit each
	documents []document
	have      map[string]float64 // how many documents have a word
}

func newIndex(items []Item) *index {
	x := &index{text.Stems{}, map[string]uint{}, make([]document, len(items)), map[string]float64{}}
	for n, kind := range verbs {
		for _, w := range x.words(kind) {
			x.kinds[w.stem] |= 1 << n
		}
	}
	for n, i := range items {
		x.documents[n] = x.read(i)
		for w := range x.documents[n].words {
			x.have[w]++
		}
	}
	return x
}

// words returns the words of a text without stop words. A name such as create_issue counts by its parts.
func (x *index) words(s string) (all []word) {
	whole := false
	for t := range text.Tokens(s) {
		if whole && t.Kind == text.Part {
			all = all[:len(all)-1]
		}
		if whole = t.Kind == text.Ident; !t.Stop() {
			all = append(all, word{t.Text, x.stems.Term(t)})
		}
	}
	return all
}

// deeds returns the deeds that the first verb of a text may stand for.
func (x *index) deeds(text []word) uint {
	for _, w := range text {
		if kinds := x.kinds[w.stem]; kinds != 0 {
			return kinds
		}
	}
	return 0
}

var sentenceEnd = pattern.Lazy(`\n|[.!?]\s`)

// read reads an item.
func (x *index) read(i Item) document {
	d := document{words: map[string]float64{}, forms: map[string]bool{}}
	about := append(sentenceEnd().Split(strings.TrimSpace(i.About), 2), "")
	first, name := x.words(about[0]), x.words(i.Name)
	d.add(name, 1)
	d.add(first, 1)
	d.add(x.words(about[1]), restWeight)
	if server, _, of := strings.Cut(i.Name, "/"); of {
		for _, w := range x.words(server) {
			d.server = append(d.server, w.stem)
		}
	}
	for _, w := range name {
		if !slices.Contains(d.server, w.stem) {
			d.name = append(d.name, w.stem)
		}
	}
	d.deeds = x.deeds(name) | x.deeds(first)
	d.old = strings.Contains(strings.ToLower(i.About), "deprecated")
	return d
}

// rarity returns the weight of a word: the rarer, the larger.
func (x *index) rarity(word string) float64 {
	have := x.have[word] + 0.5
	return math.Log(1 + (float64(len(x.documents))-x.have[word]+0.5)/have)
}

// score returns the fit of an item; 0 if it shares no word with the query.
func (x *index) score(d *document, query []word, deeds uint) (score float64) {
	met := map[string]bool{}
	worth := func(word string) float64 {
		f := d.words[word]
		if f == 0 {
			return 0
		}
		met[word] = true
		return x.rarity(word) * f / (f + saturation)
	}
	for n, w := range query {
		if slices.ContainsFunc(query[:n], func(before word) bool { return before.stem == w.stem }) {
			continue
		}
		best := worth(w.stem)
		if slices.Contains(d.server, w.stem) {
			best *= 1 + serverBonus
		}
		if d.forms[w.form] {
			best *= 1 + formBonus
		}
		if best == 0 {
			for other := range d.words {
				if begins(w.stem, other, 3) || begins(other, w.stem, 4) {
					best = max(best, shortWeight*worth(other))
				}
			}
		}
		score += best
	}
	if score == 0 {
		return 0
	}
	all, named := 0.0, 0.0
	for _, w := range d.name {
		rarity := x.rarity(w)
		all += rarity
		if met[w] {
			named += rarity
		}
	}
	score *= 1 + nameBonus*named/max(all, 1)
	if d.deeds&deeds != 0 {
		score *= 1 + verbBonus
	}
	if d.old {
		score *= deprecatedWeight
	}
	return score
}

// begins reports whether a word of at least so many bytes begins another one.
func begins(short, long string, least int) bool {
	return len(short) >= least && strings.HasPrefix(long, short)
}

// Find returns up to limit items, those first that fit a query best: by the words that they share, those that are rare
// among the items first; by how much of the item's name the query has; and by what both want done.
func Find(items []Item, query string, limit int) []Item {
	x := newIndex(items)
	asked := x.words(query)
	deeds := x.deeds(asked)
	scores := map[string]float64{}
	for n, i := range items {
		scores[i.Name] = x.score(&x.documents[n], asked, deeds)
	}
	found := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return scores[i.Name] == 0 })
	sort.SliceStable(found, func(i, j int) bool { return scores[found[i].Name] > scores[found[j].Name] })
	return found[:min(limit, len(found))]
}
