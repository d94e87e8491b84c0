package recall

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// What anybody says is a query: its tokens stand in its bytes, in order, there are not
// more of them than it has bytes for, and a time that it names is a time.
func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{
		"", "what did we decide on 9 March 2024?", "31 February", "2026-99-99", "0000-00-00", "999 years ago", "in 1900", "May 99 20000", "last monday the day before yesterday",
		"a/b-c_d.e@f camelCaseHTTPServer sha256", "12:57:16.999", "漢字かな交じり文", "◱hash=3f9 gist=a", "◱◲◰9◰", "\xff\x00\u2028\u202e", "e\u0301\u0301\u0301 \u1100\u1161\u11a8 ﬁ İ ẞ",
		strings.Repeat("-", 5000), strings.Repeat("a-", 5000), strings.Repeat("\u0301", 3000), strings.Repeat("漢", 3000), strings.Repeat("1 may ", 1000),
	} {
		f.Add(s, int64(1795179436))
	}
	f.Fuzz(func(t *testing.T, text string, sec int64) {
		now := time.Unix(sec%(1<<36), 0).UTC()
		tokens, last := 0, 0
		for tok := range scan(text) {
			tokens++
			if tok.from < 0 || tok.to > len(text) || tok.from > tok.to || tok.text == "" || len(tok.text) > maxToken || !utf8.ValidString(tok.text) && utf8.ValidString(text) {
				t.Fatalf("%q: token %+v", text, tok)
			}
			if tok.kind == wordToken && tok.from < last {
				t.Fatalf("%q: token %+v comes after byte %d", text, tok, last)
			} else if tok.kind == wordToken {
				last = tok.from
			}
		}
		if tokens > 3*len(text)+2 {
			t.Fatalf("%d tokens in %d bytes", tokens, len(text))
		}
		for _, p := range periods(text, now) {
			if !p.until.After(p.since) || p.words.from < 0 || p.words.from >= p.words.to || p.words.to > len(text) {
				t.Fatalf("%q names %v to %v in %+v", text, p.since, p.until, p.words)
			}
			if fit := p.fit(now); fit < 0 || fit > 1 {
				t.Fatalf("%q fits %v", text, fit)
			}
		}
		q := analyse(text, now)
		if q.clauses > maxClauses || len(q.terms) > maxQuery || len(q.words()) > 40*maxQuery {
			t.Fatalf("%q: %d clauses, %d terms", text, q.clauses, len(q.terms))
		}
	})
}
