package index

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"lethe/blobs"
	"lethe/recall/text"
)

// The index holds two sorts of terms, told apart by a character that no token has:
// words and identifiers with how much they weigh in their segment ("backoff~3"),
// and what filters go by ("=room:dev").
const (
	classMark  = "~"
	filterMark = "="
	// tokenChars are all characters that a term has beside letters and digits.
	tokenChars = `~=_-./\@:`
)

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

// Classes is how many classes of terms there are, from 1. A term stands in the
// index with the class of its weight in the segment. So the posting lists that
// weigh most can be read first, and a list is enough to score with. The class About has the
// terms of what a model wrote about the original, apart: they do not make a word less rare.
const (
	Classes = 3
	About   = 0
)

var classes = [Classes + 1]struct{ least, weight float64 }{About: {0, 0.7}, 1: {0, 0.7}, 2: {0.95, 1.15}, 3: {1.45, 1.7}}

// Weight is what a term of a class counts for.
func Weight(class int) float64 { return classes[class].weight }

func classOf(count, size int) int {
	w := Saturate(float64(count), float64(size), usualSize)
	c := Classes
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
	size        int      // bytes of the body
	rows        []string // the terms of each segment, with spaces between
}

// reader makes documents of blobs. It belongs to one goroutine.
type reader struct {
	stems    text.Stems
	counts   map[string]int
	speakers map[string]bool
	size     int // tokens of the segment
}

func newReader() *reader {
	return &reader{stems: text.Stems{}, counts: map[string]int{}, speakers: map[string]bool{}}
}

// read makes a document of an original. at tells when an entry was written, by its
// ref; it is asked only where no line has a time.
func (r *reader) read(blob blobs.Blob, from, to int, at func(ref string) time.Time) document {
	body := string(blob.Body)
	facts := text.FactsOf(body)
	d := document{hash: blob.Hash, from: from, to: to, size: len(body), first: facts.First, last: facts.Last}
	if d.last.IsZero() {
		d.first, d.last = written(body, at, blob.At)
	}
	more := r.about(text.About(blob.Meta)) + filters(facts, d.first, d.last)
	segments := text.Segments(len(body))
	for s := range text.Sections(body) {
		for line := range s.Lines(body) {
			segment := text.SegmentOf(line.From, len(body))
			if segment >= segments {
				break
			}
			for len(d.rows) < segment {
				d.rows = append(d.rows, r.row(more))
			}
			r.add(line)
		}
	}
	for len(d.rows) < segments {
		d.rows = append(d.rows, r.row(more))
	}
	return d
}

// written returns when the entries of an original were written, as far as their
// blobs are there; else when it faded.
func written(body string, at func(ref string) time.Time, faded time.Time) (first, last time.Time) {
	var from, to string
	for s := range text.Sections(body) {
		from, to = cmp.Or(from, s.Ref), cmp.Or(s.Ref, to)
	}
	first, last = at(from), at(to)
	if first.IsZero() || last.Before(first) || last.After(faded) {
		return faded, faded
	}
	return first, last
}

// add counts the terms of a line. The name of a speaker counts once in a segment.
func (r *reader) add(line text.Line) {
	if line.First && line.Speaker != "unknown" && !r.speakers[line.Speaker] {
		r.speakers[line.Speaker] = true
		r.count(line.Speaker)
	}
	r.count(line.Text)
}

func (r *reader) count(said string) {
	for t := range text.Tokens(said) {
		if t.Counts() {
			r.size++
		}
		r.counts[r.stems.Term(t)]++
	}
}

// about renders the terms of what is written about an original.
func (r *reader) about(said string) string {
	var out strings.Builder
	for t := range text.Tokens(said) {
		out.WriteString(r.stems.Term(t))
		out.WriteString(classMark)
		out.WriteByte('0' + About)
		out.WriteByte(' ')
	}
	return out.String()
}

// row renders the terms of a segment, and forgets them. more are those of the whole
// original.
func (r *reader) row(more string) string {
	var out strings.Builder
	for term, n := range r.counts {
		out.WriteString(term)
		out.WriteString(classMark)
		out.WriteByte('0' + byte(classOf(n, r.size)))
		out.WriteByte(' ')
	}
	clear(r.counts)
	clear(r.speakers)
	r.size = 0
	out.WriteString(more)
	return out.String()
}

// filters renders what a document can be filtered by.
func filters(f text.Facts, first, last time.Time) string {
	var out strings.Builder
	add := func(key string, values []string) {
		for _, v := range values {
			out.WriteString(filterTerm(key, v))
			out.WriteByte(' ')
		}
	}
	add("room", f.Rooms)
	add("tool", f.Tools)
	add("kind", f.Kinds)
	days := f.Days
	if len(days) == 0 {
		days = daysBetween(first, last)
	}
	var months, years []string
	for _, day := range days {
		months = text.With(months, day[:len("2006-01")])
		years = text.With(years, day[:len("2006")])
	}
	add("day", days)
	add("day", months)
	add("day", years)
	return out.String()
}

func filterTerm(key, value string) string { return filterMark + key + ":" + strings.ToLower(value) }

// daysBetween lists the days from first to last, at most MaxFacts of them.
func daysBetween(first, last time.Time) []string {
	var out []string
	day := last.UTC()
	for ; len(out) < text.MaxFacts && !day.Before(first.UTC().Truncate(24*time.Hour)); day = day.AddDate(0, 0, -1) {
		out = append(out, day.Format(time.DateOnly))
	}
	return out
}

// Days that are looked for: no computer has heard anything before them or after.
var (
	firstDay = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC)
)

// dayTerms returns filter terms of which a document with content between since
// and until has at least one: whole years and months where they fit. Zero is no
// bound.
func dayTerms(since, until time.Time) []string {
	out := []string{filterTerm("day", "none")} // which none has
	if until.IsZero() || until.After(lastDay) {
		until = lastDay
	}
	if since.Before(firstDay) {
		since = firstDay
	}
	day := since.Truncate(24 * time.Hour)
	for !day.After(until) {
		switch year, month := day.AddDate(1, 0, 0), day.AddDate(0, 1, 0); {
		case day.YearDay() == 1 && !year.After(until):
			out = append(out, filterTerm("day", strconv.Itoa(day.Year())))
			day = year
		case day.Day() == 1 && !month.After(until):
			out = append(out, filterTerm("day", day.Format("2006-01")))
			day = month
		default:
			out = append(out, filterTerm("day", day.Format(time.DateOnly)))
			day = day.AddDate(0, 0, 1)
		}
	}
	return out
}
