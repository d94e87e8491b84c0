// Package secret knows the keys that this process holds, and takes them out of
// text that is written down or shown.
//
//	secret.Add(os.Getenv("DEEPSEEK_API_KEY"))
//	secret.Text("my key is sk-…") // "my key is [secret**…]"
//	secret.Keep("OPENAI_API_KEY", key) // a key from a file
//	secret.Value("OPENAI_API_KEY")     // the environment's key, else the one from the file
//
// A text of as many bytes replaces a key, so that offsets into the text around it
// stay true. The package is safe for concurrent use.
package secret

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// A secret has at least least bytes, and a digit unless it has wordy bytes. A shorter
// value may be a word, such as the lm-studio or not-needed that people set for a server
// that needs no key.
const (
	least = 8
	wordy = 20
)

// known is replaced, never changed. The longest keys come first, since one may be a part
// of another.
var known atomic.Pointer[[]string]

var adding sync.Mutex

// Add makes keys known, also in the forms that URLs and JSON give them. It trims space
// around a key. It skips a key that may be a word: one of less than 8 bytes, or of less
// than 20 without a digit.
func Add(keys ...string) {
	adding.Lock()
	defer adding.Unlock()
	all := slices.Clone(list())
	for _, key := range keys {
		key = strings.TrimSpace(key)
		if mayBeWord(key) {
			continue
		}
		quoted, _ := json.Marshal(key) // of a string: cannot fail
		for _, form := range []string{key, url.QueryEscape(key), string(quoted[1 : len(quoted)-1])} {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return len(all[i]) > len(all[j]) })
	known.Store(&all)
}

func mayBeWord(key string) bool {
	if len(key) < least {
		return true
	}
	return len(key) < wordy && !strings.ContainsAny(key, "0123456789")
}

// kept maps the names of variables to keys.
var kept sync.Map

// Keep makes key known, and the value of a variable that the environment does not set. With "" it forgets that value.
func Keep(variable, key string) {
	Add(key)
	kept.Store(variable, strings.TrimSpace(key))
}

// Value returns the value that the environment has for a variable, without space around it. If that is empty, it
// returns the key that Keep got for the variable, else "".
func Value(variable string) string {
	value := strings.TrimSpace(os.Getenv(variable))
	if held, ok := kept.Load(variable); ok && value == "" {
		value = held.(string)
	}
	return value
}

// source reads again what Keep got.
var source atomic.Pointer[func()]

// From has Fresh call read, which calls Keep.
func From(read func()) { source.Store(&read) }

// Fresh is Value of a key that may have been changed since it was kept.
func Fresh(variable string) string {
	if read := source.Load(); read != nil {
		(*read)()
	}
	return Value(variable)
}

func list() []string {
	if all := known.Load(); all != nil {
		return *all
	}
	return nil
}

// Text returns text with each secret replaced by "[secret***]" of the same length in bytes.
func Text(text string) string {
	for _, key := range list() {
		if strings.Contains(text, key) {
			text = strings.ReplaceAll(text, key, "[secret"+strings.Repeat("*", len(key)-least)+"]")
		}
	}
	return text
}

// Bytes is Text for bytes. It returns b itself if b holds no secret.
func Bytes(b []byte) []byte {
	s := string(b)
	if t := Text(s); t != s {
		return []byte(t)
	}
	return b
}

// Begun is Text for the beginning of a text. It leaves out an end that may be the beginning
// of a secret, since the rest of that secret may still come.
func Begun(text string) string {
	text = Text(text)
	cut := len(text)
	for _, key := range list() {
		for length := min(len(key)-1, len(text)); length > len(text)-cut; length-- {
			if strings.HasSuffix(text, key[:length]) {
				cut = len(text) - length
			}
		}
	}
	return text[:cut]
}
