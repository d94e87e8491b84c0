package text_test

import (
	textpkg "lethe/compactor/recall/text"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Whatever is said: its tokens stand in its bytes, in order, each is one term to FTS5,
// there are not many more of them than it has bytes, and a time that it names is a time.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"", "what did we decide on 9 March 2024?", "31 February", "2026-99-99", "0000-00-00", "999 years ago", "in 1900",
		"May 99 20000", "last monday the day before yesterday",
		"a/b-c_d.e@f camelCaseHTTPServer sha256", "12:57:16.999", "漢字かな交じり文", "◱hash=3f9 gist=a",
		"◱◲◰9◰", "\xff\x00\u2028\u202e",
		"e\u0301\u0301\u0301 \u1100\u1161\u11a8 ﬁ İ ẞ",
		"B'a’b東 서ไก\n\x00 17 May 2026-11-20T1: \u1107\u116e\u11ab и\u0306 ﷺ ｶﾞ ß th\"", "⑴ ½ ² ㎏ a⁄b ´x ＿－． ⅷ",
		strings.Repeat("-", 5000), strings.Repeat("a-", 5000), strings.Repeat("\u0301", 3000), strings.Repeat("漢", 3000),
		strings.Repeat("1 may ", 1000),
	} {
		f.Add(s, int64(1795179436))
	}
	f.Fuzz(func(t *testing.T, text string, sec int64) {
		text = norm.NFC.String(text) // as Tokens reads it
		now := time.Unix(sec%(1<<36), 0).UTC()
		tokens, last := 0, 0
		for tok := range textpkg.Tokens(text) {
			tokens++
			if tok.From < 0 || tok.To > len(text) || tok.From > tok.To || tok.Text == "" || len(tok.Text) > textpkg.MaxToken ||
				!utf8.ValidString(tok.Text) && utf8.ValidString(text) {
				t.Fatalf("%q: token %+v", text, tok)
			}
			for _, r := range tok.Text {
				if r < utf8.RuneSelf && !textpkg.WordRune(r) && !strings.ContainsRune(`_-./\@`, r) || r >= 'A' && r <= 'Z' {
					t.Fatalf("%q: token %q is cut by FTS5", text, tok.Text)
				}
			}
			if tok.Kind == textpkg.Word && tok.From < last {
				t.Fatalf("%q: token %+v comes after byte %d", text, tok, last)
			} else if tok.Kind == textpkg.Word {
				last = tok.From
			}
		}
		if tokens > 3*len(text)+2 {
			t.Fatalf("%d tokens in %d bytes", tokens, len(text))
		}
		for _, p := range textpkg.Periods(textpkg.Cut(text, 4000), now) {
			if !p.Until.After(p.Since) || p.Words.From < 0 || p.Words.From >= p.Words.To && p.Words != (textpkg.Span{}) || p.Words.To > len(text) {
				t.Fatalf("%q names %v to %v in %+v", text, p.Since, p.Until, p.Words)
			}
			if fit := p.Fit(now); fit < 0 || fit > 1 {
				t.Fatalf("%q fits %v", text, fit)
			}
		}
	})
}
