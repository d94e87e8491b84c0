package recall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"lethe/blobs"
)

func TestUnquoted(t *testing.T) {
	for text, want := range map[string]string{
		`{"path":"x.go"}`:                "{\"path\":\"x.go\"}",
		`"a\nzebra()\tb \"q\" c:\\n \/"`: "\"a\nzebra() b \"q\" c:\\n /\"",
		`\u00fcber \u4e2d\ud83d\ude00`:   "über 中😀",
		`\ud83d x \u12 \q \`:             "\uFFFD x \\u12 \\q \\",
	} {
		if got := unquoted(text); got.text != want {
			t.Errorf("%s is read as %q, not %q", text, got.text, want)
		}
	}
}

// escaped writes JSON in ASCII.
func escaped(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, "\\u%04x", unit)
		}
	}
	return out
}

// Whatever JSON says is read, and each byte of that stands where it says.
func TestSpellingsStandWhereTheySay(t *testing.T) {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"word", "\n", "\"", "\\", "\\n", "é", "e\u0301", "\u1107\u116e\u1109\u1161\u11ab", "и\u0306", "😀", "\u2028", "<", " "}))
	rapid.Check(t, func(t *rapid.T) {
		said := strings.ToValidUTF8(strings.Join(rapid.SliceOf(piece).Draw(t, "said"), ""), "")
		said = strings.NewReplacer("\r", "", "\t", "", "\b", "", "\f", "").Replace(said)
		quoted, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "ascii") {
			quoted = escaped(quoted)
		}
		if got := unquoted(string(quoted)); got.text != `"`+said+`"` {
			t.Fatalf("%s is read as %q", quoted, got.text)
		}
		for _, s := range []struct {
			spelling
			of string
		}{{unquoted(string(quoted)), string(quoted)}, {composed(said), said}} {
			last := 0
			for at := range s.text {
				from := s.from(at)
				if from < last || from > len(s.of) || s.of != said && from < len(s.of) && utf8.RuneStart(s.text[at]) && !utf8.RuneStart(s.of[from]) {
					t.Fatalf("byte %d of %q stands at %d of %q, after %d", at, s.text, from, s.of, last)
				}
				if c := s.text[at]; c < utf8.RuneSelf && c > ' ' && !strings.ContainsRune(`"\/<>&`, rune(c)) && s.of[from] < utf8.RuneSelf && s.of[from] != c { // some signs are composed to ASCII
					t.Fatalf("byte %d of %q stands at %d of %q", at, s.text, from, s.of)
				}
				last = from
			}
			if s.from(len(s.text)) != len(s.of) {
				t.Fatalf("%q ends at %d of %q", s.text, s.from(len(s.text)), s.of)
			}
		}
		if got := composed(said).text; got != norm.NFC.String(said) {
			t.Fatalf("%q is composed to %q", said, got)
		}
	})
}

// What a tool was called with is JSON in the original, and is found by what it
// says.
func TestFindsWhatCallsSay(t *testing.T) {
	w := newWorld(t)
	zoo := w.fades(w.worked("I write.", "WRITE_FILE", `{"content":"package main\nzebra()\n\tgiraffe := 1\nimport tapir","path":"x.go"}`, "wrote"))[0]
	over := w.fades(w.worked("I write.", "WRITE_FILE", `{"content":"\u00fcbersee \u4e2d\u6587 caf\u00e9","path":"y.txt"}`, "wrote"))[0]
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf("line %d has nothing to tell", i))
	}
	lines[2000] = "the okapi sleeps in house forty"
	content, err := json.Marshal(map[string]string{"content": strings.Join(lines, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	long := w.fades(w.worked("I write.", "WRITE_FILE", string(content), "wrote"))[0]
	w.says("zebra giraffe tapir okapi übersee 中文 café: all of them for lunch")
	x := w.synced()
	for text, want := range map[string]blobs.Hash{"zebra": zoo, "giraffe": zoo, "tapir": zoo, "übersee": over, "中文": over, "café": over, "where does the okapi sleep?": long} {
		var hit *Hit
		for _, h := range w.search(x, Query{Text: text}) {
			if h.Hash == want {
				hit = &h
			}
		}
		if hit == nil {
			t.Errorf("%q does not find what a tool was called with", text)
			continue
		}
		b, err := w.store.Get(want)
		if err != nil {
			t.Fatal(err)
		}
		at := string([]rune(string(b.Body))[hit.Offset:])
		if first, _, _ := strings.Cut(hit.Passage, "\n"); !strings.HasPrefix(strings.TrimSpace(at), first) {
			t.Errorf("%q: at %d stands %.60q, the passage is %q", text, hit.Offset, at, hit.Passage)
		}
		if text == "where does the okapi sleep?" && !strings.Contains(hit.Passage, "okapi sleeps in house forty") {
			t.Errorf("the passage is %q", hit.Passage)
		}
	}
}
