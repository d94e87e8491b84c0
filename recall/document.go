package recall

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
)

// The index holds three sorts of terms, told apart by a character that no token
// has: words and identifiers with how much they weigh in their segment
// ("backoff~3"), trigrams of identifiers ("^sha"), and what filters go by
// ("=room:dev"). Tokens are made here and not by FTS5, so that what is ranked
// is what was found.
const (
	classMark  = "~"
	gramMark   = "^"
	filterMark = "="
	// tokenChars are all characters that a term has beside letters and digits.
	tokenChars = `~^=_-./\@:`
)

// term is how a token stands in the index, without its class.
func (t token) term() string {
	if t.literal() {
		return t.text
	}
	return stem(t.text)
}

// counts reports whether a token adds to the length of a text. Parts of what has
// been counted, and dates, do not.
func (t token) counts() bool { return t.kind != partToken && t.kind != dateToken }

// literal reports whether a token stands in the index as it is.
func (t token) literal() bool {
	return t.kind == runToken || t.kind == dateToken || t.kind == identToken && !letters(t.text)
}

// letters reports whether an identifier is a word all the same: YouTube is
// found by youtube.
func letters(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x80 && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// The weight of a term in a segment is the part of BM25 that depends on the
// segment alone, in three classes. Stage one then reads the posting lists that
// weigh most first, and needs nothing of a document but its number.
const (
	bm25k1    = 1.2
	bm25b     = 0.75
	usualSize = 300 // tokens; what "average length" is, fixed so that weights never change
)

// classes are the lower bounds of the classes and what they count for.
var classes = [...]struct{ least, weight float64 }{1: {0, 0.7}, 2: {0.95, 1.15}, 3: {1.45, 1.7}}

func classOf(count, size int) int {
	tf := float64(count)
	w := tf * (bm25k1 + 1) / (tf + bm25k1*(1-bm25b+bm25b*float64(size)/usualSize))
	c := len(classes) - 1
	for w < classes[c].least {
		c--
	}
	return c
}

// document is an original as the index takes it.
type document struct {
	hash        blobs.Hash
	from, to    int // entries
	first, last time.Time
	gist        string
	size        int // bytes of the body, as far as it is indexed
	facts       facts
	tells       []string // ids of sections that show what stands nowhere else
	rows        []string // the terms of each segment, with spaces between
}

// reader makes documents of blobs. It belongs to one goroutine.
type reader struct {
	stems  map[string]string // what term made of tokens, since most words come again
	counts map[string]int
	grams  map[string]struct{}
	out    strings.Builder
}

func newReader() *reader {
	return &reader{stems: map[string]string{}, counts: map[string]int{}, grams: map[string]struct{}{}}
}

// maxStems bounds the memory of a reader: about 1 MB.
const maxStems = 8000

func (r *reader) term(t token) string {
	if t.literal() {
		return t.text
	}
	s, ok := r.stems[t.text]
	if !ok {
		if len(r.stems) >= maxStems {
			clear(r.stems)
		}
		s = strings.Clone(stem(t.text))
		r.stems[strings.Clone(t.text)] = s
	}
	return s
}

// read makes a document of an original. first and last are when its entries
// were written, zero where that is not known; times in its lines come before.
// tells are the ids of its sections that only look like copies.
func (r *reader) read(b blobs.Blob, from, to int, first, last time.Time, tells ...string) document {
	body := string(b.Body[:min(len(b.Body), maxSegments*segmentBytes)])
	d := document{hash: b.Hash, from: from, to: to, gist: b.Gist, size: len(body), facts: factsOf(body), tells: tells}
	d.first, d.last = d.facts.first, d.facts.last
	if d.last.IsZero() {
		d.first, d.last = first, last
	}
	if d.last.IsZero() {
		d.first, d.last = b.At, b.At
	}
	filters := d.filters()
	texts := said(body, tells...)
	pieces := segments(b.Body)
	i := 0
	r.begin(b.Gist)
	size := 0
	for s := range texts {
		for i < len(pieces) && s.from < s.to {
			part := span{max(s.from, pieces[i].from), min(s.to, pieces[i].to)}
			if part.from < part.to {
				size += r.count(piece{part, s.quoted}.tokens(body))
			}
			if s.to <= pieces[i].to {
				break
			}
			d.rows = append(d.rows, r.row(size, filters))
			i, size = i+1, 0
		}
	}
	for len(d.rows) < len(pieces) { // the last one, and those that say nothing
		d.rows = append(d.rows, r.row(size, filters))
		size = 0
	}
	return d
}

// begin starts the first segment of a document, which has the gist's words too.
func (r *reader) begin(gist string) {
	clear(r.counts)
	clear(r.grams)
	r.count(scan(gist))
}

// count counts the terms of a text and returns how long it is.
func (r *reader) count(text iter.Seq[token]) int {
	n := 0
	for t := range text {
		if t.counts() {
			n++
		}
		r.counts[r.term(t)]++
		if t.kind == identToken && findable(t.text) {
			for gram := range gramsIn(t.text) {
				r.grams[gram] = struct{}{}
			}
		}
	}
	return n
}

// findable reports whether an identifier is worth being found by a part of it:
// it has letters, is no digest, and is longer than what it would be found by.
func findable(s string) bool {
	if len(s) < 6 {
		return false
	}
	alpha, hex := false, len(s) >= 12
	for i := range len(s) {
		c := s[i]
		alpha = alpha || c >= 'a'
		hex = hex && ('0' <= c && c <= '9' || 'a' <= c && c <= 'f')
	}
	return alpha && !hex
}

// gramsIn yields the trigrams of an identifier, as far as it is ASCII.
func gramsIn(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(text) - 2 {
			if text[i]|text[i+1]|text[i+2] < 0x80 && !yield(text[i:i+3]) {
				return
			}
		}
	}
}

// row renders the terms of a segment of so many tokens, and forgets them.
func (r *reader) row(size int, filters string) string {
	r.out.Reset()
	for term, n := range r.counts {
		r.out.WriteString(term)
		r.out.WriteString(classMark)
		r.out.WriteByte('0' + byte(classOf(n, size)))
		r.out.WriteByte(' ')
	}
	for gram := range r.grams {
		r.out.WriteString(gramMark)
		r.out.WriteString(gram)
		r.out.WriteByte(' ')
	}
	clear(r.counts)
	clear(r.grams)
	r.out.WriteString(filters)
	return r.out.String()
}

// filters renders what a document can be filtered by.
func (d *document) filters() string {
	var b strings.Builder
	add := func(key string, values []string) {
		for _, v := range values {
			b.WriteString(filterTerm(key, v))
			b.WriteByte(' ')
		}
	}
	add("room", d.facts.rooms)
	add("tool", d.facts.tools)
	add("kind", d.facts.kinds)
	days := d.facts.days
	if len(days) == 0 {
		days = daysBetween(d.first, d.last)
	}
	if len(days) >= maxFacts { // too many to name
		days = nil
		add("day", []string{anyDay})
	}
	var months, years []string
	for _, day := range days {
		months = with(months, day[:len("2006-01")])
		years = with(years, day[:len("2006")])
	}
	add("day", days)
	add("day", months)
	add("day", years)
	return b.String()
}

func filterTerm(key, value string) string { return filterMark + key + ":" + strings.ToLower(value) }

// anyDay stands for the days of a document that has too many of them.
const anyDay = "any"

// daysBetween lists the days from first to last, at most maxFacts of them.
func daysBetween(first, last time.Time) []string {
	var out []string
	day := last.UTC()
	for ; len(out) < maxFacts && !day.Before(first.UTC().Truncate(24*time.Hour)); day = day.AddDate(0, 0, -1) {
		out = append(out, day.Format(time.DateOnly))
	}
	return out
}

// dayTerms returns filter terms of which a document with content between since
// and until has at least one: whole years and months where they fit.
func dayTerms(since, until time.Time) []string {
	out := []string{filterTerm("day", anyDay)}
	day := since.UTC().Truncate(24 * time.Hour)
	for !day.After(until.UTC()) && len(out) < maxDayTerms {
		switch year, month := day.AddDate(1, 0, 0), day.AddDate(0, 1, 0); {
		case day.YearDay() == 1 && !year.After(until.UTC()):
			out = append(out, filterTerm("day", strconv.Itoa(day.Year())))
			day = year
		case day.Day() == 1 && !month.After(until.UTC()):
			out = append(out, filterTerm("day", day.Format("2006-01")))
			day = month
		default:
			out = append(out, filterTerm("day", day.Format(time.DateOnly)))
			day = day.AddDate(0, 0, 1)
		}
	}
	return out
}

// maxDayTerms is enough for a century.
const maxDayTerms = 256

// idf is the part of BM25 that depends on how many of n segments have a term.
func idf(df, n float64) float64 {
	return math.Log(1 + (max(n-df, 0)+0.5)/(df+0.5))
}
