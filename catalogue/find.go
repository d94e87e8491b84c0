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
	shortening = 0.5
	nameWeight = 3   // what a word in a name counts, in words of the first sentence of a description
	restWeight = 0.2 // what one behind that sentence counts

	alikeWeight      = 0.5 // what a word counts that is like one of the query
	serverWeight     = 2   // what a word of the query counts that is the server's name
	deprecatedWeight = 0.5 // of an item that says that it is
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
people person user member
fact observation
approve review
link connect relation
undo rollback rollout`, "\n")

// wish is one thing that a query asks for: a word, and with less weight those that are used for the same.
type wish map[string]float64

// wishes returns what a query asks for. Words that are used for the same are one wish.
func wishes(query string, stems text.Stems) (all []wish) {
	of := map[string]wish{} // a word of a group of words that are alike
	for t := range text.Tokens(query) {
		if t.Stop() {
			continue
		}
		word := stems.Term(t)
		w := of[word]
		if w == nil {
			w = wish{}
			all = append(all, w)
		}
		for _, group := range alike {
			others := terms(group, stems)
			if !slices.Contains(others, word) {
				continue
			}
			for _, other := range others {
				w[other] = max(w[other], alikeWeight)
				of[other] = w
			}
		}
		w[word] = 1
	}
	return all
}

// terms are the words of a text as they are compared.
func terms(s string, stems text.Stems) (all []string) {
	for t := range text.Tokens(strings.NewReplacer("/", " ", "_", " ", "-", " ").Replace(s)) {
		all = append(all, stems.Term(t))
	}
	return all
}

// document is an item as it is searched.
type document struct {
	words  map[string]float64 // what each of its words counts
	length float64            // what all of them do
	server []string           // the words of its name before the slash
}

// add counts the words of a part.
func (d *document) add(part string, weight float64, stems text.Stems) {
	for _, w := range terms(part, stems) {
		d.words[w] += weight
		d.length += weight
	}
}

// Find returns up to limit items, those first that fit a query best by BM25 over their names and descriptions. An item
// gets for each wish what the best of its words is worth.
func Find(items []Item, query string, limit int) []Item {
	stems := text.Stems{}
	documents, have, average := make([]document, len(items)), map[string]float64{}, 0.0
	for n, i := range items {
		d := document{words: map[string]float64{}}
		first, rest, _ := strings.Cut(i.About, ". ")
		d.add(i.Name, nameWeight, stems)
		d.add(first, 1, stems)
		d.add(rest, restWeight, stems)
		server, _, _ := strings.Cut(i.Name, "/")
		d.server = terms(server, stems)
		for w := range d.words {
			have[w]++
		}
		documents[n], average = d, average+d.length/float64(len(items))
	}
	scores := map[string]float64{}
	for _, w := range wishes(query, stems) {
		for n, d := range documents {
			best := 0.0
			for word, weight := range w {
				f := d.words[word]
				rarity := weight * math.Log(1+(float64(len(items))-have[word]+0.5)/(have[word]+0.5))
				worth := rarity * f * (saturation + 1) / (f + saturation*(1-shortening+shortening*d.length/average))
				if slices.Contains(d.server, word) && weight == 1 {
					worth *= serverWeight
				}
				best = max(best, worth)
			}
			scores[items[n].Name] += best
		}
	}
	for _, i := range items {
		if strings.Contains(strings.ToLower(i.About), "deprecated") {
			scores[i.Name] *= deprecatedWeight
		}
	}
	found := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return scores[i.Name] == 0 })
	slices.SortStableFunc(found, func(a, b Item) int { return cmp.Compare(scores[b.Name], scores[a.Name]) })
	return found[:min(limit, len(found))]
}
