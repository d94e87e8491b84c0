package recall

import (
	"strings"
	"unicode/utf8"
)

// passage finds what to show of a body: the line of a window that matches most,
// with its tag, and lines beside it that match too, as long as all of it is short
// enough. Of a long line it is the part with the most matches.
func (r *ranker) passage(p *page, w window, body string) span {
	if len(p.units) == 0 {
		return span{0, 0}
	}
	if w.from == w.to { // nothing matches: it is here for its time
		w = window{from: 0, to: 1}
	}
	main, most := w.from, 0.0
	for i := w.from; i < w.to; i++ {
		if v := r.value(p.units[i].matches); v > most {
			main, most = i, v
		}
	}
	out := p.units[main].shown(body)
	if !short(body[out.from:out.to]) {
		return r.excerpt(p.units[main], body)
	}
	from, to := main, main+1
	for grown := true; grown; {
		grown = false
		for _, next := range []int{to, from - 1} {
			if next < w.from || next >= w.to || len(p.units[next].matches) == 0 {
				continue
			}
			more := p.units[next].shown(body)
			wider := span{min(out.from, more.from), max(out.to, more.to)}
			if short(body[wider.from:wider.to]) {
				out, from, to, grown = wider, min(from, next), max(to, next+1), true
			}
		}
	}
	return out
}

// short reports whether a text can be shown as a passage.
func short(s string) bool {
	return utf8.RuneCountInString(s) <= passageRunes && strings.Count(s, "\n") < passageLines &&
		!strings.Contains(s, "\n"+header)
}

// shown is the range of a unit with its tag.
func (u unit) shown(body string) span {
	s := span{u.line, u.to}
	for s.from < s.to && strings.IndexByte(" \t\r\n", body[s.from]) >= 0 {
		s.from++
	}
	return s
}

// value is the weight of the different terms among some matches.
func (r *ranker) value(matches []match) float64 {
	r.tally.reset()
	r.tally.most(matches)
	sum := 0.0
	for t, share := range r.tally.each {
		sum += r.weight[t] * share
	}
	return sum
}

// excerpt cuts the part of a long line that has the most matches, where words
// begin and end. There is room left for the tag that it is shown with.
func (r *ranker) excerpt(u unit, body string) span {
	reach := max(passageRunes/3, passageRunes*2/3-(u.from-u.line)) // bytes: with what is added at the ends, never more runes than may be shown
	best, most := u.from, -1.0
	j := 0
	for i, m := range u.matches {
		if r.spent() {
			break
		}
		for j < len(u.matches) && int(u.matches[j].at) < int(m.at)+reach {
			j++
		}
		if v := r.value(u.matches[i:j]); v > most {
			best, most = int(m.at), v
		}
	}
	s := span{max(u.from, best-passageRunes/8), min(u.to, best+reach)}
	s.from += strings.LastIndexByte(body[s.from:best], '\n') + 1
	s = span{wordStart(body, s.from, u.from), wordEnd(body, s.to, u.to)}
	at := s.from
	for range passageLines {
		line, _, more := strings.Cut(body[at:s.to], "\n")
		if at += len(line); !more {
			return s
		}
		at++
	}
	return span{s.from, at - 1}
}

// slack is how far an end of an excerpt moves to where a word ends.
const slack = 30

func wordStart(body string, at, least int) int {
	for i := at; i > max(least, at-slack); i-- {
		if body[i-1] == ' ' || body[i-1] == '\n' {
			return i
		}
	}
	for at > least && !utf8.RuneStart(body[at]) {
		at--
	}
	return at
}

func wordEnd(body string, at, most int) int {
	for i := at; i < min(most, at+slack); i++ {
		if body[i] == ' ' || body[i] == '\n' {
			return i
		}
	}
	for at < most && !utf8.RuneStart(body[at]) {
		at++
	}
	return at
}
