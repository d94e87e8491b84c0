// Package shape strikes secrets out of text by their shape: keys of well-known services, private keys, tokens in URLs
// and headers.
//
//	shape.Use(settings.Secrets, keyOfHome)
//	text, found := shape.Strike("AKIA…") // "[secret 3f9a: aws access token, 20 characters]"
//	shape.Marked(text)                   // true
//
// A mark names the secret by four digits of a hash under a key of the home, so that people can allow the secret and
// nobody can guess it. Text and Bytes also take out the keys that this process holds. The rules are gitleaks' and our
// own; they are read when a text first holds what may be a secret. Strike a text whole: of a secret that is cut in two
// it knows neither half.
package shape

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"lethe/internal/pattern"
	"lethe/internal/secret"
)

// Config says which secrets stay.
type Config struct {
	Keep  bool     `toml:"keep"`  // all of them
	Allow []string `toml:"allow"` // these, by the digits in their marks
}

// Begun returns the length of the beginning of a text that can be struck by itself, while more of the text may come:
// up to its last line, and to a private key without its end.
func Begun(text string) int {
	if inUse.Load().config.Keep {
		return len(text)
	}
	end := strings.LastIndexAny(text, "\r\n") + 1
	key := strings.LastIndex(text[:end], "-----BEGIN ")
	if key >= 0 && !strings.Contains(text[key:end], "-----END ") {
		end = key
	}
	if len(text)-end <= privateKey {
		return end
	}
	for end = len(text); end > 0 && inKey[text[end-1]]; {
		end--
	}
	return cmp.Or(end, len(text))
}

// Striker strikes secrets. It is safe for concurrent use.
type Striker struct {
	config Config
	key    func() []byte
}

// New returns a Striker whose marks are made with key, which it calls once, when it has found a secret.
func New(config Config, key func() []byte) *Striker { return &Striker{config, sync.OnceValue(key)} }

var inUse atomic.Pointer[Striker]

func init() {
	Use(Config{}, func() []byte { return []byte(rand.Text()) }) // its marks last as long as the process
}

// Use has this process strike by the settings and the key of its home.
func Use(config Config, key func() []byte) { inUse.Store(New(config, key)) }

// Strike is Striker.Strike by the settings in use.
func Strike(text string) (string, []Found) { return inUse.Load().Strike(text) }

// Text returns text without secrets, and without the keys that this process holds.
func Text(text string) string {
	text, _ = Strike(secret.Text(text))
	return text
}

// Bytes is Text for bytes. It returns b itself if b holds no secret, or is no text.
func Bytes(b []byte) []byte {
	known := secret.Bytes(b)
	isBinary := bytes.IndexByte(known, 0) >= 0 && !utf8.Valid(known) // an environment has zeros, too
	if isBinary {
		return known
	}
	struck, found := Strike(string(known))
	if len(found) == 0 {
		return known
	}
	return []byte(struck)
}

// Found is a secret that was struck.
type Found struct {
	ID    string // the digits that allow it
	Kind  string // "aws access token"
	At    int    // of its first place in the text, in bytes
	Runes int    // its length
}

// String names the secret for people.
func (f Found) String() string { return fmt.Sprintf("%s: %s, %d characters", f.ID, f.Kind, f.Runes) }

// Mark returns the text that stands in the secret's place.
func (f Found) Mark() string { return "[secret " + f.String() + "]" }

var mark = pattern.Lazy(`\[secret [0-9a-f]{4}: [0-9a-z ]{1,60}, \d{1,6} characters\]`)

// Marked reports whether a text holds a mark.
func Marked(text string) bool { return strings.Contains(text, "[secret ") && mark().MatchString(text) }

// Strike returns text with a mark in the place of each secret, and the secrets in the order of their first places. No
// secret that it found stands anywhere in the result; a result that is struck again stays as it is.
func (s *Striker) Strike(text string) (string, []Found) {
	if s.config.Keep {
		return text, nil
	}
	places := places(text)
	if len(places) == 0 {
		return text, nil
	}
	var found []Found
	var pairs []string // for a Replacer, which takes the first of those that fit
	known := map[string]bool{}
	for _, place := range places {
		secret := text[place.from:place.to]
		if known[secret] {
			continue
		}
		known[secret] = true
		f := Found{ID: s.id(secret), Kind: place.kind, At: place.from, Runes: utf8.RuneCountInString(secret)}
		if !slices.Contains(s.config.Allow, f.ID) {
			found = append(found, f)
			pairs = append(pairs, secret, f.Mark())
		}
	}
	return strings.NewReplacer(pairs...).Replace(text), found
}

func (s *Striker) id(secret string) string {
	mac := hmac.New(sha256.New, s.key())
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil)[:2])
}

// place is a secret in a text.
type place struct {
	from, to int
	kind     string
}

// places returns the secrets of a text, in order. Those that overlap are one.
func places(text string) []place {
	var all []place
	for _, part := range parts(text) {
		for rule, windows := range hits(text, part) {
			for _, window := range windows {
				all = append(all, rule.find(text, window)...)
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.kind, b.kind)) < 0
	})
	apart := all[:0]
	for _, next := range all {
		last := len(apart) - 1
		if last >= 0 && next.from < apart[last].to {
			apart[last].to = max(apart[last].to, next.to)
		} else {
			apart = append(apart, next)
		}
	}
	return apart
}

// A secret has a run of at least mixed bytes of keys with a digit, or of letters without one.
const (
	mixed   = 14
	letters = 20
)

// A key word stands at most before bytes before the run, or within after bytes behind it.
const (
	before = 256
	after  = 64
)

// span is a part of a text.
type span struct{ from, to int }

// inKey has the bytes that keys consist of.
var inKey = func() (in [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/=.~:%|@!$?&") {
		in[c] = true
	}
	return in
}()

// parts returns the parts of a text, apart, in which a secret may stand.
func parts(text string) (all []span) {
	for from := 0; from < len(text); {
		if !inKey[text[from]] {
			from++
			continue
		}
		to, digit := from, false
		for to < len(text) && inKey[text[to]] {
			digit = digit || text[to]-'0' < 10
			to++
		}
		least := letters
		if digit {
			least = mixed
		}
		if to-from >= least {
			all = join(all, span{max(0, from-before), min(len(text), to+after)})
		}
		from = to
	}
	return all
}

// join appends a span to spans in order, to the last one if they touch.
func join(all []span, next span) []span {
	if last := len(all) - 1; last >= 0 && next.from <= all[last].to {
		all[last].to = max(all[last].to, next.to)
		return all
	}
	return append(all, next)
}
