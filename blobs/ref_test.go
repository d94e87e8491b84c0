package blobs

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hostile draws text that is rich in what escaping and gists are about.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"◰", "◱", "◲", "◳", "◆", "0", "1", "4", "hash=", "3f9c0ffee00ddead",
			" gist=", "\n", "\r", "\t", " ", "\x00", "\u202e", "\u2028", "\u200b", "\ufeff", "…", "◱hash=3f9c0ffee00ddead gist=x◲"}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
	})
}

func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(hostile().Draw(t, "s"), "\ufffd")
		e := Escape(s)
		if strings.ContainsAny(e, "◱◲◳◆") {
			t.Fatalf("%q holds structure", e)
		}
		if got := Unescape(e); got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
		if refs := ParseRefs("before " + e + " after"); len(refs) != 0 {
			t.Fatalf("%q forges %v", s, refs)
		}
	})
	for s, want := range map[string]string{
		"◰◱◲◳◆":      "◰0◰1◰2◰3◰4",
		"◰1":         "◰01",
		"a\xff\xfeb": "a\ufffdb",
		"plain":      "plain",
	} {
		if got := Escape(s); got != want {
			t.Errorf("escape %q: %q, want %q", s, got, want)
		}
	}
	if got := Unescape("◰ ◰9 ◰"); got != "◰ ◰9 ◰" {
		t.Errorf("unescape touched what is no escape: %q", got)
	}
}

func TestGist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hostile().Draw(t, "s")
		g := Gist(s)
		if Gist(g) != g {
			t.Fatalf("gist of %q: %q, again %q", s, g, Gist(g))
		}
		if n := utf8.RuneCountInString(g); n > MaxGist {
			t.Fatalf("%d runes", n)
		}
		if strings.TrimSpace(g) != g || strings.Contains(g, "  ") {
			t.Fatalf("%q has loose spaces", g)
		}
		for _, r := range g {
			if r != ' ' && (!unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp)) {
				t.Fatalf("%q holds %U", g, r)
			}
		}
	})
	long := strings.Repeat("a", MaxGist)
	for s, want := range map[string]string{
		"":                           "",
		" \n\t ":                     "",
		" two\nlines\r\n of\ttext ":  "two lines of text",
		"a\u202eb\u2066c\u200fd":     "abcd",
		"nul\x00 bell\a esc\x1b[31m": "nul bell esc[31m",
		"bad \xff utf8":              "bad utf8",
		long:                         long,
		long + " \n":                 long,
		long + "b":                   long[:MaxGist-1] + "…",
		long + " b":                  long[:MaxGist-1] + "…", // a cut at a space is marked, too
		strings.Repeat("é", 200):     strings.Repeat("é", MaxGist-1) + "…",
	} {
		if got := Gist(s); got != want {
			t.Errorf("gist of %q: %q, want %q", s, got, want)
		}
	}
}

func TestRefRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Ref
		var text strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "refs") {
			r := Ref{
				Hash: rapid.StringMatching(`[0-9a-f]{16,64}`).Draw(t, "hash"),
				Gist: Gist(hostile().Draw(t, "gist")),
			}
			want = append(want, r)
			text.WriteString(Escape(hostile().Draw(t, "outside")))
			text.WriteString(r.String())
			if strings.ContainsAny(r.String(), "\n\r") {
				t.Fatalf("%q is more than a line", r)
			}
		}
		if got := ParseRefs(text.String()); !slices.Equal(got, want) {
			t.Fatalf("%q\nhas %v, want %v", text.String(), got, want)
		}
	})
}

func TestMentions(t *testing.T) {
	a, b := digits[:16], digits[10:40]
	for text, want := range map[string][]string{
		"":          nil,
		"hash=" + a: {a},
		"see hash=" + a + ", and hash=" + b + ".": {a, b},
		"hash=" + a + " hash=" + a:                {a},
		Ref{a, "g"}.String():                      {a},
		Escape(Ref{a, "g"}.String()):              {a},
		"hash=" + digits:                          {digits},
		"hash=" + digits + "0":                    nil, // no address is longer
		"hash=" + a[:15]:                          nil, // too short to be meant
		"hash=" + strings.ToUpper(a):              nil,
		"rehash=" + a:                             nil,
		"hash= " + a:                              nil,
		"hash=" + a + "xyz":                       nil,
	} {
		if got := Mentions(text); !slices.Equal(got, want) {
			t.Errorf("%q mentions %q, want %q", text, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("---\n---\n"))
	f.Add([]byte("---\nat: 2026-11-20T12:57:16.123456Z\ngist: g\n---\nbody"))
	f.Add([]byte("---\nparent: \n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, body, err := Decode(data)
		if err != nil || m.check() != nil {
			return
		}
		m.Gist = Gist(m.Gist)
		again, body2, err := Decode(Encode(m, body))
		if err != nil || again != m || string(body2) != string(body) {
			t.Fatalf("%q: %+v, encoded and decoded %+v, %v", data, m, again, err)
		}
	})
}
