package shape

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"
)

// The embedded rules are the bytes of gitleaks v8.30.1, and Go understands each expression of all rules in force.
func TestRules(t *testing.T) {
	unpacked, err := gzip.NewReader(bytes.NewReader(gitleaks))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != "e163e53b9e7e8a8511e77271e2b323ed057759542a6d988258afe3a1fa329caf" {
		t.Errorf("the SHA-256 of gitleaks.toml is %s", got)
	}
	rules := load()
	if len(rules) < 230 {
		t.Errorf("%d rules", len(rules))
	}
	for _, r := range rules {
		if r.expression().NumSubexp() < r.SecretGroup || len(r.Keywords) == 0 {
			t.Errorf("%s: %v", r.ID, r.Keywords)
		}
		for _, word := range r.Keywords {
			if len(word) < 2 {
				t.Errorf("%s: the key word %q is too short", r.ID, word)
			}
		}
		for _, list := range r.lists {
			list.expressions()
		}
	}
}
