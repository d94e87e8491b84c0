package chat

import (
	"io"
	"slices"
)

// Evidence that a reader's memory of the last lines matches a place in a
// changed file, in points. Only their order matters: one line that is unlikely
// to be said twice outweighs any one difference; a short one ("ok") does not
// outweigh lines that would have to be skipped to reach it.
const (
	telling    = 8  // an equal line with a tag, hence a time, or of tellingLen bytes
	common     = 2  // an equal line without
	edited     = -1 // a line heard stands there with other text
	inserted   = -3 // a run of lines stands there that was not heard
	tellingLen = 24
	impossible = -1 << 30
)

// place is where a changed file goes on for a reader.
type place struct {
	found  bool
	offset int64
	last   []string // hashes of the lines up to there
}

// align finds where the lines that c remembers end in the changed file f.
//
// It is a local alignment (Smith and Waterman) of c.Last with all lines of the
// file: heard lines may have been edited, removed or moved apart by insertions,
// and lines may repeat. Of equally good places the nearest to the old offset
// counts. Time grows with the lines of the file, times 20 at most.
func (r reader) align(f io.ReaderAt, c Cursor) (best place, err error) {
	m := newMatcher(c.Last)
	var recent []string // hashes of the last lines passed
	score := 0
	s := newScanner(f, 0, r.maxLine)
	for len(c.Last) > 0 && s.next() {
		l := Parse(s.raw)
		if l.Blank() {
			continue
		}
		recent = append(recent[max(0, len(recent)-remembered+1):], l.Hash)
		points := common
		if l.Tagged || len(s.raw) >= tellingLen {
			points = telling
		}
		got := m.step(l.Hash, points)
		nearer := !best.found || distance(s.to, c.Offset) < distance(best.offset, c.Offset)
		if got > score || got == score && got > 0 && nearer {
			score = got
			best = place{found: true, offset: s.to, last: slices.Clone(recent)}
		}
	}
	return best, s.err
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// matcher aligns the lines remembered with a file, line by line.
type matcher struct {
	want []string
	rows []row // of index i: the first i of the lines remembered are accounted for
}

type row struct {
	here int // best score of an alignment that ends at the current line of the file
	gap  int // and of one that is inside a run of inserted lines
}

func newMatcher(want []string) *matcher {
	m := &matcher{want: want, rows: make([]row, len(want)+1)}
	for i := range m.rows {
		m.rows[i].gap = impossible
	}
	return m
}

// step takes the next line of the file. It returns the best score of an
// alignment whose last pair is this line and a line remembered, 0 if it equals
// none.
func (m *matcher) step(hash string, points int) (score int) {
	for i := len(m.want); i > 0; i-- { // downwards: a row follows from the one before as it was
		r, before := &m.rows[i], m.rows[i-1]
		r.gap = max(r.gap, r.here+inserted)
		r.here = max(before.here, before.gap)
		if m.want[i-1] == hash {
			r.here += points
			score = max(score, r.here)
		} else {
			r.here = max(0, r.here+edited)
		}
	}
	for i, before := range m.rows[:len(m.want)] { // a line heard that was removed costs nothing
		m.rows[i+1].here = max(m.rows[i+1].here, before.here)
	}
	return score
}
