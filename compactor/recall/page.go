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
	matches []int   // terms of the query, in order of appearance: the speaker's name first
	share   float64 // what they count for
}

// Words of people count more than words of agents, and a short message counts more than a
// long one: answers mostly have few words, and many words hold much of any query.
const (
	leastShare = 0.3 // of the words of an agent, or of a very long message
	longTokens = 100 // of a message whose words count less, the longer the less
)

// read finds the terms of a query in a candidate.
func (c *candidate) read(terms *text.Matcher) page {
	page := page{lines: make([]line, len(c.lines))}
	for at := range c.lines {
		line := &page.lines[at]
		line.Line = &c.lines[at]
		_, name := find(terms, line.Name(), nil)
		page.names = append(page.names, name...)
		line.size, line.matches = find(terms, line.Text, name)
		page.found += len(line.matches)
	}
	size, about := find(terms, c.about, nil)
	page.size, page.about, page.found = float64(size), about, page.found+len(about)
	for from := 0; from < len(page.lines); {
		from = page.share(from)
	}
	return page
}

// find counts the tokens of a text, and appends the terms that it has.
func find(terms *text.Matcher, said string, matches []int) (size int, all []int) {
	for token := range text.Tokens(said) {
		if token.Counts() {
			size++
		}
		if term, ok := terms.Find(token); ok {
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
		next := p.lines[to]
		if next.Section != first.Section || next.Message != first.Message {
			break
		}
		size += next.size
	}
	share := 1.0
	isReply := first.Kind == "reply" || first.Thought
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
