package blobs_test

import (
	"lethe/blobs"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Escaped text holds no structure, says the same and grants the same.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{
		"", "◰◱◲◳◆", "◰0◰1◰", "◰", "◱hash=3f9c0d2e1b4a5f67 gist=g◲", "◰1hash=3f9c0d2e1b4a5f67 gist=g◰2",
		"◆ e1 inbound room=dev\n",
		"hash=3f9c0d2e1b4a5f67", "◆hash=3f9c0d2e1b4a5f67", "◰5hash=3f9c0d2e1b4a5f67", "rehash=3f9c0d2e1b4a5f67◰",
		"\xff\x00\u2028\u202e", "\xe2\x97", strings.Repeat("漢", 200),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		escaped := blobs.Escape(s)
		if strings.ContainsAny(escaped, "◱◲◳◆") || !utf8.ValidString(escaped) || len(blobs.ParseRefs(escaped)) > 0 {
			t.Fatalf("%q is escaped as %q", s, escaped)
		}
		valid := strings.ToValidUTF8(s, "\ufffd")
		if blobs.Unescape(escaped) != valid {
			t.Fatalf("%q comes back as %q", s, blobs.Unescape(escaped))
		}
		for _, h := range blobs.Mentions(valid) {
			if !strings.Contains(s, "◰") && !slices.Contains(blobs.Mentions(escaped), h) {
				t.Fatalf("%q mentions %s, escaped %q does not", s, h, escaped)
			}
		}
		g := blobs.Gist(s)
		unprintable := func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }
		if blobs.Gist(g) != g || utf8.RuneCountInString(g) > blobs.MaxGist || strings.ContainsFunc(g, unprintable) ||
			strings.TrimSpace(g) != g || strings.Contains(g, "  ") {
			t.Fatalf("%q has the gist %q", s, g)
		}
		for _, r := range blobs.ParseRefs(s) {
			if again := blobs.ParseRefs(r.String()); len(again) != 1 || again[0].Hash != r.Hash || again[0].Gist != blobs.Gist(r.Gist) {
				t.Fatalf("%q holds %q, which reads as %q", s, r, again)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("---\n---\n"))
	f.Add([]byte("---\nat: 2026-11-20T12:57:16.123456Z\ngist: g\n---\nbody"))
	f.Add([]byte("---\nparent: \n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := blobs.Decode(data)
		if y := b.At.Year(); err != nil || y < 0 || y > 9999 {
			return
		}
		b.Gist = blobs.Gist(b.Gist)
		again, err := blobs.Decode(blobs.Encode(b.Meta, b.Body))
		if err != nil || again.Meta != b.Meta || string(again.Body) != string(b.Body) {
			t.Fatalf("%q: %+v, encoded and decoded %+v, %v", data, b, again, err)
		}
	})
}
