package recall

import (
	"strings"
	"time"
)

// page is a candidate's body as it is ranked: its lines, and what of the query is
// in them.
type page struct {
	units []unit
	size  int     // tokens
	gist  []match // in the candidate's gist, which is no part of the body
}

// matched reports whether anything of the query is in it.
func (p *page) matched() bool {
	if len(p.gist) > 0 {
		return true
	}
	for _, u := range p.units {
		if len(u.matches) > 0 {
			return true
		}
	}
	return false
}

// unit is a message of a room, or a line of anything else.
type unit struct {
	span        // of its text
	line    int // where it begins with its tag
	speaker string
	at      time.Time // zero for a line without a tag
	quoted  bool      // a line inside JSON
	size    int       // tokens
	matches []match
}

// match is an occurrence of a term of the query.
type match struct {
	term  int32
	at    int32   // byte of the body
	share float64 // 1, or less for a variant
}

// pageReader finds the terms of a query in bodies. Most tokens begin like none of
// them and are passed over; the others are stemmed once.
type pageReader struct {
	terms  map[string][]match // by stem
	starts [1 << 16 / 64]uint64
	stems  map[string]string
	found  []match
}

func newPageReader(q query) *pageReader {
	r := &pageReader{terms: map[string][]match{}, stems: map[string]string{}}
	for i, t := range q.terms {
		r.look(t.stem, match{term: int32(i), share: 1})
	}
	for i, t := range q.terms {
		for _, v := range t.variants {
			r.look(v, match{term: int32(i), share: variantWeight})
		}
	}
	for form, base := range irregular() {
		if len(r.terms[base]) > 0 {
			r.mark(form)
		}
	}
	return r
}

func (r *pageReader) look(stem string, m match) {
	for _, have := range r.terms[stem] {
		if have.term == m.term {
			return
		}
	}
	r.terms[stem] = append(r.terms[stem], m)
	r.mark(stem)
}

// beginning is the first two bytes of a token. Stemming leaves them as they are,
// but for the forms of irregular words.
func beginning(s string) int {
	if len(s) == 1 {
		return int(s[0]) << 8
	}
	return int(s[0])<<8 | int(s[1])
}

func (r *pageReader) mark(s string) {
	b := beginning(s)
	r.starts[b/64] |= 1 << (b % 64)
}

func (r *pageReader) marked(s string) bool {
	b := beginning(s)
	return r.starts[b/64]&(1<<(b%64)) != 0
}

// of returns the terms that a token matches.
func (r *pageReader) of(t token) []match {
	if !r.marked(t.text) {
		return nil
	}
	s, ok := r.stems[t.text]
	if !ok {
		if len(r.stems) >= maxStems {
			clear(r.stems)
		}
		s = t.term()
		r.stems[t.text] = s
	}
	return r.terms[s]
}

// read takes what a candidate says line by line.
func (r *pageReader) read(c candidate) page {
	var p page
	for _, s := range c.parts {
		if s.kind != "inbound" {
			r.lines(&p, c.body, s.section)
			continue
		}
		for _, m := range s.messages {
			r.unit(&p, c.body, unit{span: span{m.from, m.to}, line: lineStart(c.body, m.from), speaker: m.speaker, at: m.at})
		}
	}
	n := len(r.found)
	if !c.narrowed { // a gist tells of all of it
		for t := range scan(c.gist) {
			r.found = append(r.found, r.of(t)...)
		}
	}
	p.gist = r.found[n:len(r.found):len(r.found)]
	return p
}

func lineStart(body string, at int) int { return strings.LastIndexByte(body[:at], '\n') + 1 }

// longLine is where a line is cut into sentences, or wherever it can be: a reply
// is often one line. Of a body with more than mostLines, the others are put
// together until they are as long as that.
const (
	longLine  = 400
	mostLines = 1000
)

func (r *pageReader) lines(p *page, body string, s section) {
	for at := s.from; at < s.to; {
		line, next := s.line(body, at)
		for len(p.units) >= mostLines && next < s.to {
			more, after := s.line(body, next)
			if next+len(more)-at > longLine {
				break
			}
			line, next = body[at:next+len(more)], after
		}
		if strings.HasPrefix(line, "◳ ") { // the mark of a cut
			line = ""
		}
		for len(line) > longLine {
			n := sentenceEnd(line[:longLine])
			r.unit(p, body, unit{span: span{at, at + n}, line: at, quoted: s.kind == "call"})
			line, at = line[n:], at+n
		}
		if strings.TrimSpace(line) != "" {
			r.unit(p, body, unit{span: span{at, at + len(line)}, line: at, quoted: s.kind == "call"})
		}
		at = next
	}
}

// sentenceEnd returns where the last sentence of a text's second half ends, or a
// word, or a character.
func sentenceEnd(s string) int {
	half := len(s) / 2
	if i := strings.LastIndexAny(s[half:], ".!?;"); i >= 0 {
		return half + i + 1
	}
	if i := strings.LastIndexByte(s[half:], ' '); i >= 0 {
		return half + i + 1
	}
	return len(cutBytes(s, len(s)-1))
}

func (r *pageReader) unit(p *page, body string, u unit) {
	n := len(r.found)
	for t := range (piece{u.span, u.quoted}).tokens(body) {
		if t.counts() {
			u.size++
		}
		for _, m := range r.of(t) {
			m.at = int32(t.from)
			r.found = append(r.found, m)
		}
	}
	u.matches = r.found[n:len(r.found):len(r.found)]
	p.size += u.size
	p.units = append(p.units, u)
}
