package blobs

import (
	"slices"
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
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
