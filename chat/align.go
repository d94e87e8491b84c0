package chat

import "io"

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

// align finds where the lines that c remembers end in the changed file f. It
// is sure when all of them are there in a row, so that a rewrite under way
// cannot change the answer.
//
// It is a local alignment (Smith and Waterman) of c.Last with all lines of the
// file: heard lines may have been edited, removed or moved apart by insertions,
// and lines may repeat. Of equally good places the nearest to the old offset
// counts. Time grows with the lines of the file, times 20 at most.
func (r reader) align(f io.ReaderAt, c Cursor) (best place, sure bool, err error) {
	m := newMatcher(c.Last)
	var recent []string // hashes of the last lines passed
	score, full := 0, false
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
		got, run := m.step(l.Hash, points)
		if got < score || got <= 0 {
			continue
		}
		if got == score && distance(s.to, c.Offset) >= distance(best.offset, c.Offset) {
			continue
		}
		score, full = got, run == len(c.Last)
		best = place{found: true, offset: s.to, last: append([]string(nil), recent...)}
	}
	return best, full, s.err
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// matcher aligns the lines remembered with a file, line by line. Index i of
// its rows is "the first i of the lines remembered are accounted for".
type matcher struct {
	want []string
	// Best score of an alignment that ends at the current line of the file,
	// and of one that is inside a run of inserted lines.
	here, gap []int
	run       []int // how many equal lines in a row end here
	// The rows that the next step fills.
	here2, run2 []int
}

func newMatcher(want []string) *matcher {
	n := len(want) + 1
	m := &matcher{want: want, here: make([]int, n), gap: make([]int, n), run: make([]int, n),
		here2: make([]int, n), run2: make([]int, n)}
	for i := range m.gap {
		m.gap[i] = impossible
	}
	return m
}

// step takes the next line of the file. It returns the best score of an
// alignment whose last pair is this line and a line remembered, 0 if it equals
// none, and the longest run of equal lines that so ends.
func (m *matcher) step(hash string, points int) (score, run int) {
	for i := range m.here {
		m.here2[i], m.run2[i] = 0, 0
		if i == 0 {
			continue
		}
		before := max(m.here[i-1], m.gap[i-1])
		if m.want[i-1] == hash {
			m.here2[i] = before + points
			m.run2[i] = m.run[i-1] + 1
			score, run = max(score, m.here2[i]), max(run, m.run2[i])
		} else {
			m.here2[i] = max(0, before+edited)
		}
		// A line heard that was removed costs nothing.
		m.here2[i] = max(m.here2[i], m.here2[i-1])
	}
	for i := range m.gap {
		m.gap[i] = max(m.gap[i], m.here[i]+inserted)
	}
	m.here, m.here2 = m.here2, m.here
	m.run, m.run2 = m.run2, m.run
	return score, run
}
