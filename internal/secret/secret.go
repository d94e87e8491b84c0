// Package secret knows the keys that this process holds, and takes them out of
// what is written down or shown.
//
//	secret.Add(os.Getenv("DEEPSEEK_API_KEY"))
//	secret.Text("my key is sk-…") // "my key is [secret**…]"
//	secret.Keep("OPENAI_API_KEY", key) // that stands in a file
//	secret.Value("OPENAI_API_KEY")     // that of the environment, or else the one from the file
//
// In the place of a key stands a text of as many bytes, so that offsets into what
// it stood in remain true. The package is safe for concurrent use.
package secret

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A secret has at least least bytes, and a digit unless it has wordy bytes: what is
// shorter may be a word, such as the lm-studio or not-needed that stands for a key
// where a server asks for none.
const (
	least = 8
	wordy = 20
)

// known is replaced, never changed; the longest come first, since one may be a part
// of another.
var known atomic.Pointer[[]string]

var adding sync.Mutex

// Add makes keys known, also as URLs and JSON write them. Space around a key is no
// part of it. What may be a word is no key: less than 8 bytes, or less than 20 without
// a digit.
func Add(keys ...string) {
	adding.Lock()
	defer adding.Unlock()
	all := slices.Clone(list())
	for _, key := range keys {
		key = strings.TrimSpace(key)
		if len(key) < least || len(key) < wordy && !strings.ContainsAny(key, "0123456789") {
			continue
		}
		quoted, _ := json.Marshal(key) // of a string: cannot fail
		for _, form := range []string{key, url.QueryEscape(key), string(quoted[1 : len(quoted)-1])} {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	known.Store(&all)
}

// kept are keys by the names of variables.
var kept sync.Map

// Keep makes a key known, and the value of a variable that the environment does not have; "" forgets that value.
func Keep(variable, key string) {
	Add(key)
	kept.Store(variable, strings.TrimSpace(key))
}

// Value is that of a variable of the environment, without the space around it, or else what was kept for it.
func Value(variable string) string {
	value := strings.TrimSpace(os.Getenv(variable))
	if held, ok := kept.Load(variable); ok && value == "" {
		value = held.(string)
	}
	return value
}

func list() []string {
	if all := known.Load(); all != nil {
		return *all
	}
	return nil
}

// Text returns s without secrets.
func Text(s string) string {
	for _, key := range list() {
		if strings.Contains(s, key) {
			s = strings.ReplaceAll(s, key, "[secret"+strings.Repeat("*", len(key)-least)+"]")
		}
	}
	return s
}

// Bytes returns b without secrets: b itself when there is none in it.
func Bytes(b []byte) []byte {
	s := string(b)
	if t := Text(s); t != s {
		return []byte(t)
	}
	return b
}

// Begun is Text for a text of which more may come: an end that may be the beginning
// of a secret is left out.
func Begun(s string) string {
	s = Text(s)
	cut := len(s)
	for _, key := range list() {
		for n := min(len(key)-1, len(s)); n > len(s)-cut; n-- {
			if strings.HasSuffix(s, key[:n]) {
				cut = len(s) - n
			}
		}
	}
	return s[:cut]
}
