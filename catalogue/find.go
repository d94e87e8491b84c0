package catalogue

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"lethe/recall/text"
)

// Parameters of BM25, as Robertson and Zaragoza recommend them (The Probabilistic Relevance Framework, 2009).
const (
	saturation = 1.2
	shortening = 0.75
	nameWeight = 3 // what a word in a name counts, in words of a description

	alikeWeight = 0.5 // what a word counts that is like one of the query
)

// alike are words that people and descriptions use for the same.
var alike = strings.Split(`folder directory
make create add new open start write
show list get view read display
look search find query
remember store save add
forget delete remove erase
tell send post message say
answer reply
picture screenshot image photo
watch monitor
bug issue report ticket
rename move
change edit update modify patch
run execute exec command
website page site url web
address location place
way route direction
size big info
undo rollback rollout`, "\n")

// wanted returns the words of a query, and those that are like them, with what each counts.
func wanted(query string, stems text.Stems) (words []string, weights map[string]float64) {
	weights = map[string]float64{}
	want := func(word string, weight float64) {
		if weights[word] == 0 {
			words = append(words, word)
		}
		weights[word] = max(weights[word], weight)
	}
	for t := range text.Tokens(query) {
		if t.Stop() {
			continue
		}
		word := stems.Term(t)
		want(word, 1)
		for _, group := range alike {
			var others []string
			for t := range text.Tokens(group) {
				others = append(others, stems.Term(t))
			}
			for _, other := range others {
				if slices.Contains(others, word) {
					want(other, alikeWeight)
				}
			}
		}
	}
	return words, weights
}

// Find returns up to limit items, those first that fit a query best by BM25 over their names and descriptions.
func Find(items []Item, query string, limit int) []Item {
	stems := text.Stems{}
	type document struct {
		words  map[string]float64
		length float64
	}
	documents, have, average := make([]document, len(items)), map[string]float64{}, 0.0
	for n, i := range items {
		d := document{words: map[string]float64{}}
		count := func(s string, weight float64) {
			for t := range text.Tokens(s) {
				d.words[stems.Term(t)] += weight
				d.length += weight
			}
		}
		count(strings.NewReplacer("/", " ", "_", " ", "-", " ").Replace(i.Name), nameWeight)
		count(i.About, 1)
		for w := range d.words {
			have[w]++
		}
		documents[n], average = d, average+d.length/float64(len(items))
	}
	scores := map[string]float64{}
	words, weights := wanted(query, stems)
	for _, w := range words {
		rarity := weights[w] * math.Log(1+(float64(len(items))-have[w]+0.5)/(have[w]+0.5))
		for n, d := range documents {
			if f := d.words[w]; f > 0 {
				scores[items[n].Name] += rarity * f * (saturation + 1) / (f + saturation*(1-shortening+shortening*d.length/average))
			}
		}
	}
	found := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return scores[i.Name] == 0 })
	slices.SortStableFunc(found, func(a, b Item) int { return cmp.Compare(scores[b.Name], scores[a.Name]) })
	return found[:min(limit, len(found))]
}
