package recall

import (
	"slices"
	"strings"
	"time"
)

// query is a text as something to look for.
type query struct {
	terms   []term
	clauses int      // parts of the text; see term.clauses
	periods []period // times that the text names
}

// term is one word or identifier of a query, each once.
type term struct {
	text   string  // folded
	stem   string  // as the index has it
	weight float64 // what its rarity counts for: 1, or less for a word that says little
	light  bool    // it says little
	// telling words can be evidence: a match of others alone is small talk.
	telling  bool
	variants []string // stems of other words for the same
	clauses  uint64   // a bit for each part of the text that has it
	// dated terms are looked up as a time too: words for a month or a year, and day
	// terms, which are days as the index has them.
	dated, day bool
	// of is one more than the term of the identifier that this is a part of, 0 for
	// one that stands by itself.
	of int
}

// What words count for, beside their rarity.
const (
	lightWeight   = 0.5 // "recently", "kind of", "mention": how a question is put
	variantWeight = 0.3 // another word for the same
	pieceWeight   = 0.4 // a part of an identifier, a single Chinese character
)

const (
	maxQuery   = 4000 // bytes of a text that are looked up
	maxClauses = 64
	clauseSize = 4 // words that are not light, which a part of a text has at least, when the text has them
)

// analyse reads a text as a query. now is what "yesterday" is relative to. It is
// pure, and cheap enough for each message that comes in.
func analyse(text string, now time.Time) query {
	text = cutBytes(text, maxQuery)
	q := query{periods: periods(text, now)}
	q.collect(text, false)
	if len(q.terms) == 0 {
		q.collect(text, true) // nothing but "what is it": then that is what is asked for
	}
	return q
}

// tells reports whether there is a word that could be evidence. What has none is
// small talk, and reminds nobody of anything.
func (q query) tells() bool {
	return slices.ContainsFunc(q.terms, func(t term) bool { return t.telling })
}

// collect adds the terms of a text; stop words only when they are wanted. A long
// text is cut into clauses, where sentences end: each may be about something
// else.
func (q *query) collect(text string, stops bool) {
	lists := wordLists()
	at := map[string]int{}
	q.clauses = 0
	last, heavy, ident, year := 0, 0, 0, -1
	for t := range scan(text) {
		if last < t.from && heavy >= clauseSize && q.clauses < maxClauses-1 && strings.ContainsAny(text[last:t.from], ".!?。！？\n") {
			q.clauses++
			heavy = 0
		}
		last = max(last, t.to) // the parts of an identifier lie inside it
		word := t.kind == wordToken || t.kind == partToken
		day, dated := q.dated(t)
		if day && t.kind != dateToken || word && lists.stop[t.text] && !stops {
			continue
		}
		add := newTerm(t, lists)
		add.clauses, add.dated, add.day, add.telling = 1<<q.clauses, dated, t.kind == dateToken, add.telling && !stops
		if t.kind == dateToken && year == t.from {
			add.weight = pieceWeight // the day of any year, beside that of one
		} else if t.kind == dateToken {
			year = t.from
		}
		if !add.light {
			heavy++
		}
		if i, ok := at[add.stem]; ok {
			q.terms[i].weight = max(q.terms[i].weight, add.weight)
			q.terms[i].clauses |= add.clauses
			continue
		}
		if t.kind == partToken {
			add.of = ident
		}
		at[add.stem] = len(q.terms)
		q.terms = append(q.terms, add)
		if t.kind == identToken {
			ident = len(q.terms)
		}
	}
	if q.clauses > 0 && heavy < clauseSize { // too little to stand alone
		q.clauses--
		for i, t := range q.terms {
			if last := uint64(1) << (q.clauses + 1); t.clauses&last > 0 {
				q.terms[i].clauses = t.clauses&^last | last>>1
			}
		}
	}
	q.clauses++
}

// newTerm says how much a token counts.
func newTerm(t token, lists wordlists) term {
	out := term{text: t.text, stem: t.term(), weight: 1, telling: true}
	switch {
	case t.kind == partToken, t.kind == runToken && len(t.text) <= len("中"):
		out.weight = pieceWeight
	case lists.light[out.stem]:
		out.weight, out.light, out.telling = lightWeight, true, !lists.phatic[out.stem]
	}
	if t.slight() {
		out.weight, out.light, out.telling = min(out.weight, lightWeight), true, false
	}
	if t.kind == wordToken {
		out.variants = lists.same[out.stem]
	}
	return out
}

// slight reports whether a token is one letter, or a number of one or two digits.
func (t token) slight() bool {
	return (t.kind == wordToken || t.kind == partToken) && (len(t.text) == 1 || len(t.text) == 2 && digits(t.text) >= 0)
}

// dated reports whether a token is part of a date that is looked up as a time, and
// whether that is a day: then its date token stands for all of it.
func (q *query) dated(t token) (day, dated bool) {
	for _, p := range q.periods {
		if p.absolute && p.words.from <= t.from && t.to <= p.words.to {
			return p.until.Sub(p.since) < 48*time.Hour, true
		}
	}
	return false, t.kind == dateToken
}

// weighted is a term as stage one looks it up: weight multiplies its idf.
type weighted struct {
	stem   string
	weight float64
}

// words lists what to look up, the query's own words before variants of them.
func (q query) words() []weighted {
	var out []weighted
	have := map[string]bool{}
	add := func(stem string, weight float64) {
		if !have[stem] {
			have[stem] = true
			out = append(out, weighted{stem, weight})
		}
	}
	for _, t := range q.terms {
		add(t.stem, t.weight)
	}
	for _, t := range q.terms {
		for _, v := range t.variants {
			add(v, t.weight*variantWeight)
		}
	}
	return out
}

// empty reports whether there is nothing to look for.
func (q query) empty() bool { return len(q.terms) == 0 && len(q.periods) == 0 }
