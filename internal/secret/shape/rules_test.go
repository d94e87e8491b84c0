package shape

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

var update = flag.Bool("update", false, "make rules.txt anew")

// off are rules that strike what is no secret: any value behind a word like key.
const off = "generic-api-key"

// edges changes gitleaks' edges of a secret. The text before a key word only costs time. Gitleaks looks into files, where
// a quote or a space ends a secret; in talk a comma or a full stop does, too.
var edges = strings.NewReplacer(
	`[\w.-]{0,50}?`, "",
	`(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[^\w+/=-]|$)`,
)

// source is a ruleset as TOML has it.
type source struct {
	Rules []struct {
		ID          string
		Regex       string
		Path        string // of files to which the rule is bound; no text of ours has one
		Entropy     float64
		SecretGroup int
		Keywords    []string
		Allowlists  []sourceList
	}
	Allowlist sourceList
}

// sourceList is an allowlist as TOML has it. Lists that ask for a path never let anything stand.
type sourceList struct {
	Paths     []string
	Regexes   []string
	Stopwords []string
}

// makeRules returns rules.txt. A rule of ours takes the place of gitleaks' rule with its id.
func makeRules(t *testing.T, gitleaks []byte) []byte {
	own, err := os.ReadFile("testdata/rules.toml")
	if err != nil {
		t.Fatal(err)
	}
	var theirs, ours source
	for into, text := range map[*source][]byte{&theirs: gitleaks, &ours: own} {
		if err := toml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	known := map[string]bool{off: true}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	lists := func(all []sourceList) (kept []allowlist) {
		for _, l := range all {
			if len(l.Paths) == 0 {
				kept = append(kept, allowlist{Regexes: l.Regexes, Stopwords: l.Stopwords})
			}
		}
		return kept
	}
	if err := enc.Encode(lists([]sourceList{theirs.Allowlist, ours.Allowlist})[0]); err != nil {
		t.Fatal(err)
	}
	for _, r := range append(ours.Rules, theirs.Rules...) {
		if known[r.ID] || r.Path != "" {
			continue
		}
		known[r.ID] = true
		text.WriteString(strings.Join(r.Keywords, ",") + " ")
		err = enc.Encode(rule{ID: r.ID, Regex: edges.Replace(r.Regex), Entropy: r.Entropy, SecretGroup: r.SecretGroup,
			Allowlists: lists(r.Allowlists)})
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

// The rules are those of the bytes of gitleaks v8.30.1 and our own, and Go understands each expression of all rules in
// force.
func TestRules(t *testing.T) {
	packed, err := os.Open("testdata/gitleaks.toml.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
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
	want := makeRules(t, text)
	if *update {
		if err := os.WriteFile("rules.txt", want, 0o644); err != nil {
			t.Fatal(err)
		}
		made = string(want)
	}
	if made != string(want) {
		t.Error("rules.txt is not made of testdata: run go test with -update")
	}
	rules := load()
	if len(rules) < 230 {
		t.Errorf("%d rules", len(rules))
	}
	for _, r := range rules {
		r.read()
		if r.expression.NumSubexp() < r.SecretGroup {
			t.Errorf("%s: %v", r.ID, r.Keywords)
		}
		for _, word := range r.Keywords {
			if len(word) < 2 || strings.ContainsAny(word, " ,\n") {
				t.Errorf("%s: the key word %q is too short, or parts words", r.ID, word)
			}
		}
		for _, list := range r.Allowlists {
			list.expressions()
		}
	}
}

// What this program writes often is searched by no rule.
func TestOwnTextsHitNoRule(t *testing.T) {
	hash := strings.Repeat("740adaebd03a0927", 4)
	text := `{"name":"ada","self":"` + hash + `","since":"2026-11-29T03:12:31.33121288Z","context_tokens":19457,"cost_usd":0}`
	for _, part := range parts(text) {
		for rule := range hits(text, part) {
			t.Errorf("%s by %q", rule.ID, rule.Keywords)
		}
	}
	key := "ext_k3v9x2.a1b2.acc_" + "q8w7e6r5t4y3.u2i1o0p9a8s7d6f5g4h3j2k1l0z9x8c7"
	if text, found := Strike("the key is " + key + "."); len(found) != 1 || strings.Contains(text, key) {
		t.Errorf("%s, %v", text, found)
	}
}
