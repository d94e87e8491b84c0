package recall

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lethe/blobs"
)

// A search reads posting lists first, which is cheap, and then the bodies of the
// documents that look best, which is not. These bounds are its price; see
// docs/recall.md for what they were measured against.
const (
	probeRows    = 128    // of each list, to estimate how long it is
	mostPostings = 12_000 // of all lists together
	mostBodies   = 64
	mostWords    = 96   // of a query
	mostOfTime   = 1000 // postings of one list for a time that the query names,
	mostInTime   = 32   // of so many lists
	mostUnknown  = 4    // words that are looked for inside identifiers,
	leastPart    = 4    // of at least so many bytes,
	mostGrams    = 8    // by so many of their trigrams;
	mostRare     = 2    // so many of them are words of the index too,
	rareWord     = 16   // of at most so many segments,
	shortQuery   = 2    // in a query of at most so many terms
	neighboured  = 10   // candidates that bring their neighbours along
)

// candidate is a document that stage one has found, with its body.
type candidate struct {
	hash        blobs.Hash
	from, to    int       // entries
	first, last time.Time // when its content was said
	gist        string
	rooms       []string
	tools       []string
	kinds       []string
	opened      int      // how often the identity has opened it
	tells       []string // ids of sections that show what stands nowhere else

	// What its blob says, as far as it is ranked.
	body     string
	head     int // runes of the blob's body before it
	parts    []part
	narrowed bool // not all of it is what the query is limited to

	words    float64 // BM25 of the words that were looked up, in classes
	trigrams float64 // 1 when an identifier in the body holds a word that no segment has, less for others
	near     int     // rank by vectors, from 1; 0 for none
	added    bool    // only vectors have found it
}

// stats is what ranking may know of the whole collection.
type stats interface {
	docs() int          // segments in the index
	df(stem string) int // of those, how many have a word; estimated for frequent ones
}

// posting is a run of postings of one term in one class, newest first.
type posting struct {
	word    int // index into stage.words
	class   int
	rows    []int64
	whole   bool // rows are all there are
	df      float64
	worth   float64 // what one posting adds to a document's score
	clipped int64   // where to go on
}

// stage is stage one of a search: one pass over the posting lists.
type stage struct {
	tx     *sql.Tx
	list   *sql.Stmt
	state  state
	words  []weighted
	lists  []*posting
	filter string // of FTS5, what every row has to have; "" for none
	dfs    map[string]int
	scores map[int64]float64 // of the segments that have a word
	grams  map[int64]bool    // the segments that have an unknown word's trigrams
	// unknown are the words that are looked for inside identifiers.
	unknown []string
}

func newStage(ctx context.Context, db *database, tx *sql.Tx) *stage {
	return &stage{
		tx: tx, list: tx.StmtContext(ctx, db.postings),
		scores: make(map[int64]float64, mostPostings), grams: map[int64]bool{},
	}
}

func (s *stage) docs() int          { return int(s.state.Next - 1) }
func (s *stage) df(stem string) int { return s.dfs[stem] }

// quoted makes a term one token to FTS5, whatever it is: nothing in it is syntax,
// and what the tokenizer would cut at is replaced. Only names in filters have any.
func quoted(term string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && !asciiWord[r] && !strings.ContainsRune(tokenChars, r) {
			return '_'
		}
		return r
	}, term) + `"`
}

// either is a condition that one of some terms is there.
func either(terms []string) string {
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = quoted(t)
	}
	return "(" + strings.Join(out, " OR ") + ")"
}

// rows reads the newest segments that match before one, at most limit. FTS5
// brings them in one text: handing over each would take twice as long.
func (s *stage) rows(ctx context.Context, match string, before int64, limit int) ([]int64, error) {
	if s.filter != "" {
		match += " AND " + s.filter
	}
	var text sql.RawBytes
	rows, err := s.list.QueryContext(ctx, match, before, limit)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", match, err)
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("look up %s: %w", match, err)
		}
		if out, err = numbers(text, before); err != nil {
			return nil, fmt.Errorf("look up %s: %w", match, err)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look up %s: %w", match, err)
	}
	return out, nil
}

// numbers reads segments from a text with commas between them. Each is before a
// given one.
func numbers(text []byte, before int64) ([]int64, error) {
	if len(text) == 0 {
		return nil, nil
	}
	out := make([]int64, 0, bytes.Count(text, []byte(","))+1)
	id := int64(0)
	for i, c := range text {
		if c != ',' {
			id = id*10 + int64(c-'0')
			if i < len(text)-1 {
				continue
			}
		}
		if id < 1 || id >= before {
			return nil, fmt.Errorf("%w: segment %d", errDamaged, id)
		}
		out = append(out, id)
		id = 0
	}
	slices.SortFunc(out, func(a, b int64) int { return cmp.Compare(b, a) }) // as FTS5 has brought them, but nobody promises it
	return out, nil
}

// run finds the documents that a query may mean and that fit, if that is asked,
// best first.
func (s *stage) run(ctx context.Context, q query, fits func(candidate) bool) (*shelf, error) {
	want := mostBodies
	if fits == nil {
		fits = func(candidate) bool { return true }
	} else {
		want *= 2 // some will not do
	}
	s.words = q.words()
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	if err := s.gather(ctx); err != nil {
		return nil, err
	}
	if since, until := q.span(); !until.IsZero() {
		if err := s.during(ctx, since, until); err != nil {
			return nil, err
		}
	}
	if err := s.parts(ctx, q.terms); err != nil {
		return nil, err
	}
	h, err := s.documents(ctx, s.best(want))
	if err != nil {
		return nil, err
	}
	h = h.only(fits)
	h.cut(mostBodies)
	if err := s.neighbours(ctx, h); err != nil {
		return nil, err
	}
	return h.only(fits), nil
}

// probe reads the beginning of each word's lists and estimates their lengths: a
// list that goes on is as dense further back as where it was read.
func (s *stage) probe(ctx context.Context) error {
	s.dfs = map[string]int{}
	if len(s.words) > mostWords {
		for _, w := range s.words[mostWords:] { // not looked up: they are to count for nothing
			s.dfs[w.stem] = s.docs()
		}
		s.words = s.words[:mostWords]
	}
	for i, w := range s.words {
		total := 0.0
		for class := len(classes) - 1; class > 0; class-- {
			p := &posting{word: i, class: class}
			var err error
			p.rows, err = s.rows(ctx, s.match(p), s.state.Next, probeRows)
			if err != nil {
				return err
			}
			p.whole = len(p.rows) < probeRows
			p.df = float64(len(p.rows))
			if !p.whole {
				p.clipped = p.rows[len(p.rows)-1]
				p.df *= float64(s.state.Next) / float64(s.state.Next-p.clipped)
			}
			total += p.df
			if len(p.rows) > 0 {
				s.lists = append(s.lists, p)
			}
		}
		s.dfs[w.stem] = int(total)
	}
	for _, p := range s.lists {
		w := s.words[p.word]
		p.worth = w.weight * idf(float64(s.dfs[w.stem]), float64(s.docs())) * classes[p.class].weight
	}
	slices.SortStableFunc(s.lists, func(a, b *posting) int { return cmp.Compare(b.worth, a.worth) })
	return nil
}

func (s *stage) match(p *posting) string {
	return quoted(s.words[p.word].stem + classMark + string(rune('0'+p.class)))
}

// gather adds up what the lists say, those that weigh most first, until enough
// postings are read. Of a list too long for that, the newest part counts.
func (s *stage) gather(ctx context.Context) error {
	left := mostPostings
	for _, p := range s.lists {
		left -= len(p.rows)
	}
	for _, p := range s.lists {
		if !p.whole && left > 0 {
			more, err := s.rows(ctx, s.match(p), p.clipped, left)
			if err != nil {
				return err
			}
			p.whole = len(more) < left
			left -= len(more)
			p.rows = append(p.rows, more...)
		}
		for _, id := range p.rows {
			s.scores[id] += p.worth
		}
	}
	return nil
}

// during fetches what was said in a time that the query names, and the words of
// long lists as far as they are of that time.
func (s *stage) during(ctx context.Context, since, until time.Time) error {
	since, until = s.state.within(since, until)
	if until.Before(since) {
		return nil
	}
	days := either(dayTerms(since, until))
	rows, err := s.rows(ctx, days, s.state.Next, mostOfTime)
	if err != nil {
		return err
	}
	worth := idf(float64(s.docs())/10, float64(s.docs()))
	for _, id := range rows {
		s.scores[id] += worth
	}
	left := mostInTime
	for _, p := range s.lists {
		if p.whole || left == 0 {
			continue
		}
		left--
		rows, err := s.rows(ctx, s.match(p)+" AND "+days, p.rows[len(p.rows)-1], mostOfTime)
		if err != nil {
			return err
		}
		for _, id := range rows {
			s.scores[id] += p.worth
		}
	}
	return nil
}

// found is a segment with what stage one thinks of it.
type found struct {
	row   int64
	words float64
	grams bool
	worth float64 // of both: an identifier found by its parts is as good as the rarest word
}

// less orders what is found: worst first, and of equals the older.
func (f found) less(g found) bool {
	return f.worth < g.worth || f.worth == g.worth && f.row < g.row
}

// best returns the n segments that look best, best first.
func (s *stage) best(n int) []found {
	rarest := idf(1, float64(s.docs()))
	var heap []found // the root is the worst of the best
	add := func(f found) {
		if len(heap) < n {
			heap = append(heap, f)
			for i := len(heap) - 1; i > 0 && heap[i].less(heap[(i-1)/2]); i = (i - 1) / 2 {
				heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
			}
			return
		}
		if !heap[0].less(f) {
			return
		}
		heap[0] = f
		for i := 0; ; {
			child := 2*i + 1
			if child+1 < n && heap[child+1].less(heap[child]) {
				child++
			}
			if child >= n || !heap[child].less(heap[i]) {
				return
			}
			heap[i], heap[child] = heap[child], heap[i]
			i = child
		}
	}
	for row, words := range s.scores {
		if !s.grams[row] {
			add(found{row, words, false, words})
		}
	}
	for row := range s.grams {
		add(found{row, s.scores[row], true, s.scores[row] + rarest})
	}
	slices.SortFunc(heap, func(a, b found) int {
		if a.less(b) {
			return 1
		}
		return -1
	})
	return heap
}
