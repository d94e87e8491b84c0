package recall

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"lethe/blobs"
	"lethe/compactor/recall/text"
)

// query is a text as something to look for.
type query struct {
	terms   []term
	periods []text.Period
	near    []string // "saxophone for saxaphone"
}

// term is one word or identifier of a query, each once.
type term struct {
	text  string // folded
	stem  string // as the index has it
	parts bool   // an identifier whose parts are terms too
	part  bool   // such a part
	dated bool   // looked up as a time too: a word for a month or a year, or a day
	spelt bool   // others may stand for it, if the life does not know it
	stood bool   // others do
	near  bool   // it stands for another one
}

// What is read of a query.
const (
	mostQuery   = 4000 // bytes
	mostWords   = 96
	mostSpelt   = 8 // words that others may stand for
	mostPeriods = 16
)

// analyse reads a text as a query; "yesterday" counts from now. It is pure, and cheap enough for each message that
// comes in.
func analyse(said string, now time.Time) query {
	// What is structure in stored text is not in a text from outside.
	said = norm.NFC.String(blobs.Escape(strings.ToValidUTF8(text.Cut(said, mostQuery), " ")))
	query := query{periods: text.Periods(said, now)}
	query.periods = query.periods[:min(len(query.periods), mostPeriods)]
	query.collect(said)
	return query
}

// matcher finds the terms in a text.
func (q query) matcher() *text.Matcher {
	stems := make([]string, len(q.terms))
	for i, t := range q.terms {
		stems[i] = t.stem
	}
	return text.NewMatcher(stems)
}

// collect adds the terms of a text.
func (q *query) collect(said string) {
	at := map[string]int{}
	stems := text.Stems{}
	ident := 0
	for token := range text.Tokens(said) {
		day, dated := q.dated(token)
		isOfDay := day && token.Kind != text.Day // the token of the day stands for it
		if isOfDay || token.Stop() {
			continue
		}
		if token.Kind == text.Part {
			q.terms[ident].parts = true
		}
		add := term{
			text:  token.Text,
			stem:  stems.Term(token),
			part:  token.Kind == text.Part,
			dated: dated,
			spelt: token.Spelt() && !dated && len(q.terms) < mostSpelt,
		}
		i, ok := at[add.stem]
		if !ok && len(q.terms) < mostWords {
			i, ok = len(q.terms), true
			at[add.stem] = i
			q.terms = append(q.terms, add)
		}
		if token.Kind == text.Ident && ok {
			ident = i
		}
	}
}

// approach adds words of the life that stand for a term, which it does not know.
func (q *query) approach(unknown int, words string) {
	asked, others := q.terms[unknown].text, []string(nil)
	for _, t := range q.terms {
		others = append(others, t.text)
	}
	for _, word := range text.Near(asked, words, others...) {
		stem := text.Stems{}.Term(text.Token{Text: word})
		joins := slices.ContainsFunc(others, func(other string) bool { return text.Joins(word, asked, other) })
		isThere := slices.ContainsFunc(q.terms, func(t term) bool { return t.stem == stem })
		if isThere && !joins {
			continue
		}
		q.terms[unknown].stood = true
		q.near = append(q.near, word+" for "+asked)
		if !isThere {
			q.terms = append(q.terms, term{text: word, stem: stem, part: true, near: !joins})
		}
	}
}

// dated reports whether a token is part of a date that is looked up as a time, and
// whether that is a day: then its day token stands for all of it.
func (q *query) dated(token text.Token) (day, dated bool) {
	for _, p := range q.periods {
		if p.Words.From <= token.From && token.To <= p.Words.To {
			return !p.Said && p.Until.Sub(p.Since) < 48*time.Hour, true
		}
	}
	return false, token.Kind == text.Day
}
