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
	telling    = 8  // an equal line with a tag, hence a time, or of tellingLen bytes or more
	common     = 2  // an equal line without a tag and shorter
	edited     = -1 // a line heard has another text there
	inserted   = -3 // a run of lines there was not heard
	tellingLen = 24
	impossible = -1 << 30
)

// place is the place in a changed file at which a reader goes on.
type place struct {
	found  bool
	offset int64
	last   []string // hashes of the lines before offset
}

// align finds the end of the lines that cursor remembers in the changed file.
//
// It is a local alignment (Smith and Waterman) of cursor.Last with all lines of the
// file: heard lines may have been edited, removed or moved apart by insertions,
// and lines may repeat. Of equally good places it takes the nearest to the old
// offset. It takes time in proportion to the lines of the file, times at most 20.
func (r reader) align(file io.ReaderAt, cursor Cursor) (best place, err error) {
	memory := newMatcher(cursor.Last)
	var recent []string // hashes of the last lines passed
	score := 0
	lines := newScanner(file, 0, r.maxLine)
	for len(cursor.Last) > 0 && lines.next() {
		line := Parse(lines.raw)
		if line.Blank() {
			continue
		}
		recent = append(recent[max(0, len(recent)-remembered+1):], line.Hash)
		points := common
		if line.Tagged || len(lines.raw) >= tellingLen {
			points = telling
		}
		got := memory.step(line.Hash, points)
		if got == 0 || got < score {
			continue
		}
		nearer := !best.found || distance(lines.to, cursor.Offset) < distance(best.offset, cursor.Offset)
		if got > score || nearer {
			score = got
			best = place{found: true, offset: lines.to, last: slices.Clone(recent)}
		}
	}
	return best, lines.err
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// matcher aligns the lines remembered with a file, line by line.
type matcher struct {
	want []string
	rows []row // rows[i] is for alignments that account for the first i lines of want
}

type row struct {
	here int // best score of an alignment that ends at the current line of the file
	gap  int // best score of an alignment inside a run of inserted lines
}

func newMatcher(want []string) *matcher {
	m := &matcher{want: want, rows: make([]row, len(want)+1)}
	for i := range m.rows {
		m.rows[i].gap = impossible
	}
	return m
}

// step takes the next line of the file. It returns the best score of an
// alignment whose last pair is this line and a remembered line, or 0 if no
// remembered line equals it.
func (m *matcher) step(hash string, points int) (score int) {
	for at := len(m.want); at > 0; at-- { // downwards: a row follows from the old value of the row before
		row, before := &m.rows[at], m.rows[at-1]
		row.gap = max(row.gap, row.here+inserted)
		row.here = max(before.here, before.gap)
		if m.want[at-1] == hash {
			row.here += points
			score = max(score, row.here)
		} else {
			row.here = max(0, row.here+edited)
		}
	}
	for at, before := range m.rows[:len(m.want)] { // a removed line costs nothing
		m.rows[at+1].here = max(m.rows[at+1].here, before.here)
	}
	return score
}
