package index

import (
	"cmp"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/compactor/recall/text"
)

// filterMark begins terms that filters go by ("=room:dev"): no token has it.
const filterMark = "="

// Parameters of BM25.
const (
	k1        = 1.2
	b         = 0.75
	usualSize = 300 // tokens; what "average length" is in the index, fixed so that classes never change
)

// Saturate is the part of BM25 that depends on how often a term occurs in a text
// of some size.
func Saturate(count, size, usual float64) float64 {
	return count * (k1 + 1) / (count + k1*(1-b+b*size/usual))
}

// Classes is the highest class of a term; the least is 1. A term stands in the index with the class of its weight in
// the segment. So a search reads the weightiest posting lists first, and a list is enough to score with. The class
// About has the terms of a model's summary, apart: they do not make a word less rare.
const (
	Classes = 3
	About   = 0
)

var classes = [Classes + 1]struct{ least, weight float64 }{
	About: {0, 0.7},
	1:     {0, 0.7},
	2:     {0.95, 1.15},
	3:     {1.45, 1.7},
}

// Weight returns the weight of a term of a class.
func Weight(class int) float64 { return classes[class].weight }

func classOf(count, size int) int {
	w := Saturate(float64(count), float64(size), usualSize)
	class := Classes
	for w < classes[class].least {
		class--
	}
	return class
}

// document is an original as the index takes it.
type document struct {
	Doc
	rows [][]uint64 // the keys of each segment, with the classes
}

// reader makes documents of blobs. It belongs to one goroutine.
type reader struct {
	stems  text.Stems
	counts map[uint64]int // of the segment, by key
	size   int            // tokens of the segment
	words  map[string]bool
}

// read makes a document of an original. at returns the time of an entry by its ref; read calls it only where no line
// has a time.
func (r *reader) read(blob blobs.Blob, at func(ref string) time.Time) document {
	body := string(blob.Body)
	facts := text.FactsOf(body)
	first, last := facts.First, facts.Last
	if last.IsZero() {
		first, last = written(body, at, blob.At)
	}
	made := document{Doc: Doc{
		Hash: blob.Hash, Size: int64(len(body)), First: first.UnixMicro(), Last: last.UnixMicro(),
	}}
	var more []uint64
	for t := range text.Tokens(text.About(blob.Meta)) {
		more = append(more, keyOf(r.stems.Term(t))|About)
	}
	for _, f := range append(filters(facts), originalTerm(blob.Hash)) {
		more = append(more, keyOf(f)|About)
	}
	segments := text.Segments(len(body))
	for s := range text.Sections(body) {
		for line := range s.Lines(body) {
			segment := text.SegmentOf(line.From, len(body))
			if segment >= segments {
				break
			}
			for len(made.rows) < segment {
				made.rows = append(made.rows, r.row(more))
			}
			r.count(line.Name()) // once a message
			r.count(line.Text)
		}
	}
	for len(made.rows) < segments {
		made.rows = append(made.rows, r.row(more))
	}
	return made
}

// written returns the times of the first and the last entry of an original; or the time at
// which it faded, if the entries' blobs are gone.
func written(body string, at func(ref string) time.Time, faded time.Time) (first, last time.Time) {
	var from, to string
	for s := range text.Sections(body) {
		from, to = cmp.Or(from, s.Ref), cmp.Or(s.Ref, to)
	}
	first, last = at(from), at(to)
	inOrder := !last.Before(first) && !last.After(faded)
	if first.IsZero() || !inOrder {
		return faded, faded
	}
	return first, last
}

// count counts the terms of a text.
func (r *reader) count(said string) {
	for token := range text.Tokens(said) {
		if token.Counts() {
			r.size++
		}
		r.counts[keyOf(r.stems.Term(token))]++
		if token.Spelt() && !r.words[token.Text] {
			r.words[strings.Clone(token.Text)] = true
		}
	}
}

// row returns the keys of a segment and of the whole original, more, and forgets the segment's.
func (r *reader) row(more []uint64) []uint64 {
	out := make([]uint64, 0, len(r.counts)+len(more))
	for key, n := range r.counts {
		out = append(out, key|uint64(classOf(n, r.size)))
	}
	clear(r.counts)
	r.size = 0
	return append(out, more...)
}

// filters are the terms that a document can be filtered by.
func filters(f text.Facts) (terms []string) {
	for key, values := range map[string][]string{"room": f.Rooms, "tool": f.Tools, "kind": f.Kinds} {
		for _, v := range values {
			terms = append(terms, Term(key, v))
		}
	}
	return terms
}

// originalTerm stands in all segments of one original.
func originalTerm(h blobs.Hash) string { return Term("original", h.String()[:16]) }

// Term returns the term of a Filter for a value of a key: room, tool or kind.
func Term(key, value string) string { return filterMark + key + ":" + strings.ToLower(value) }
