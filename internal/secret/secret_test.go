package secret

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "lethe/internal/test/lethetest" // fixes the seed
	_ "lethe/internal/test/seed"
)

func TestText(t *testing.T) {
	t.Cleanup(func() { known.Store(nil) })
	const key = "sk-0123456789"
	if got := Text(key); got != key || Begun(key) != key {
		t.Errorf("nothing is known yet: %q", got)
	}
	Add("", "  ", "short", "lm-studio", "sk-no-key-required", "a-key-of-letters-alone", "\tsk-0123456789\n", "12:quo\"te",
		"prefix-sk-0123456789")
	for in, want := range map[string]string{
		"":                                  "",
		"a short word":                      "a short word",
		"lm-studio, sk-no-key-required":     "lm-studio, sk-no-key-required",
		"a-key-of-letters-alone":            "[secret**************]",
		"key sk-0123456789, sk-0123456789.": "key [secret*****], [secret*****].",
		"SK-0123456789":                     "SK-0123456789",
		"prefix-sk-0123456789":              "[secret************]",
		"?t=12%3Aquo%22te":                  "?t=[secret*****]",
		`{"t":"12:quo\"te"}`:                `{"t":"[secret**]"}`,
	} {
		if got := Text(in); got != want || len(got) != len(in) {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if got := string(Bytes([]byte(in))); got != want {
			t.Errorf("bytes of %q became %q, want %q", in, got, want)
		}
	}
	plain := []byte("nothing in it")
	if got := Bytes(plain); &got[0] != &plain[0] {
		t.Error("a text without secrets was copied")
	}
}

// However a text is cut into pieces, no byte of a secret in it is ever shown, and
// in the end all the rest is.
func TestBegun(t *testing.T) {
	t.Cleanup(func() { known.Store(nil) })
	const key = "kk-kk-0123456789"
	Add(key)
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`[k\-ab 0]{0,20}`).Draw(t, "before")
		after := rapid.StringMatching(`[ab ]{0,20}\.`).Draw(t, "after")
		whole := before + key + after
		for n := range len(whole) + 1 {
			if shown := Begun(whole[:n]); !strings.HasPrefix(Text(whole), shown) {
				t.Fatalf("of %q is shown %q", whole[:n], shown)
			}
		}
		if Begun(whole) != Text(whole) {
			t.Fatalf("of %q is shown %q", whole, Begun(whole))
		}
	})
}
