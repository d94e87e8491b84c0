package recall

import "lethe/compactor/recall/text"

// page holds a candidate's lines with their matches.
type page struct {
	lines []line
	size  float64 // tokens of the lines, by their shares, and of the summary
	about []int   // terms of the query in the summary
	names []int   // terms of the query in the names of speakers
	found int     // matches in the lines and the summary
}

type line struct {
	*text.Line
	size    int     // tokens
	matches []int   // terms of the query, in order of appearance: who says a message, then what it says
	share   float64 // what they count for
}

// Words of people count more than words of agents, and a short message counts more than a
// long one: answers mostly have few words, and many words hold much of any query.
const (
	leastShare = 0.3 // of an agent's words, and those of a very long message
	longTokens = 100 // of a message whose words count less, the longer the less
)

// read finds the terms of a query in what a candidate says.
func (c *candidate) read(terms *text.Matcher) page {
	p := page{lines: make([]line, len(c.lines))}
	for i := range c.lines {
		l := &p.lines[i]
		l.Line = &c.lines[i]
		_, name := find(terms, l.Name(), nil)
		p.names = append(p.names, name...)
		l.size, l.matches = find(terms, l.Text, name)
		p.found += len(l.matches)
	}
	size, about := find(terms, c.about, nil)
	p.size, p.about, p.found = float64(size), about, p.found+len(about)
	for from := 0; from < len(p.lines); {
		from = p.share(from)
	}
	return p
}

// find counts the tokens of a text, and appends the terms that it has.
func find(terms *text.Matcher, said string, matches []int) (size int, all []int) {
	for t := range text.Tokens(said) {
		if t.Counts() {
			size++
		}
		if term, ok := terms.Find(t); ok {
			matches = append(matches, term)
		}
	}
	return size, matches
}

// share sets the share of the message or the section that begins with a line, and returns the
// line behind it.
func (p *page) share(from int) (to int) {
	first, size := p.lines[from], 0
	for to = from; to < len(p.lines); to++ {
		l := p.lines[to]
		if l.Section != first.Section || l.Message != first.Message {
			break
		}
		size += l.size
	}
	share := 1.0
	isReply := first.Kind == "reply"
	byAgent := first.Message != nil && first.Agent
	switch {
	case isReply, byAgent:
		share = leastShare
	case first.Message != nil:
		share = max(leastShare, min(1, longTokens/float64(max(1, size))))
	}
	for i := from; i < to; i++ {
		p.lines[i].share = share
	}
	p.size += share * float64(size)
	return to
}

// tally counts each term of a query in some lines.
type tally []float64

func (t tally) add(matches []int, share float64) {
	for _, term := range matches {
		t[term] += share
	}
}
