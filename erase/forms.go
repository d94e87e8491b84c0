package erase

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"lethe/blobs"
	"lethe/life/event"
)

// pattern finds what is to be erased: all that re matches, or its group.
type pattern struct {
	re    *regexp.Regexp
	group int
}

// space matches white space of any kind, also as strings escape it, and what prompts put between lines without a tag:
// a room has U+2028 for the end of a line, rooms indent the lines of a message, and gists make one line of them.
const space = `(?:[\s\v\pZ\x{85}]|\\+[nrtvf]|\\+u(?i:000[9a-d]|0085|00a0|200[0-9a]|202[89f]|205f|3000))+(?:\[USER:unknown\] ?)?`

// spelling matches a character as it is, as prompts show it, and as JSON escapes it, however deep: a call is JSON in
// the JSON of a snapshot.
func spelling(r rune) string {
	switch {
	case r == '"' || r == '/':
		return `\\*` + string(r)
	case r == '\\':
		return `\\+`
	case ' ' < r && r < unicode.MaxASCII && !strings.ContainsRune("<>&'", r):
		return regexp.QuoteMeta(string(r)) // nobody escapes it, and to look for it is fast
	}
	forms := regexp.QuoteMeta(string(r)) + fmt.Sprintf(`|\\+(?i:u%04x)`, r)
	if shown := blobs.Escape(string(r)); shown != string(r) {
		forms = shown + "|" + forms
	}
	if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
		forms += fmt.Sprintf(`|\\+(?i:u%04x)\\+(?i:u%04x)`, a, b)
	}
	if !unicode.IsPrint(r) { // a gist leaves it out, and a room shows a picture of it
		return `(?:` + forms + `|[␀-␡])?`
	}
	return `(?:` + forms + `)`
}

// literal matches a text, plain and escaped for JSON; parts are the expressions of its characters. White space around it
// does not count.
func literal(text string) (expr string, parts []string) {
	for _, word := range strings.Fields(text) {
		if len(parts) > 0 {
			parts = append(parts, space)
		}
		for _, r := range word {
			parts = append(parts, spelling(r))
		}
	}
	return strings.Join(parts, ""), parts
}

// near finds what is not the text but gives it away, or some of it. People look at the place and erase it by name.
type near struct {
	form string
	re   *regexp.Regexp
}

const (
	anotherCase = "another case" // looked for in data that has been lowered
	aPart       = "a part of it"

	shortestPart = 6  // characters: fewer are in other words, too
	longestPart  = 32 // a gist or a quote may hold no more
)

// nearForms finds a text in another case, encoded, and its beginning or end, as a gist or a summary may have it. Each
// form has an expression that is found fast, which one of many alternatives is not.
func nearForms(text string) (out []near) {
	text = strings.TrimSpace(text)
	_, parts := literal(text)
	forms := map[string]string{}
	for _, code := range encoded(text) {
		forms[regexp.QuoteMeta(code)] = "encoded"
	}
	n := min(len(parts)/2, longestPart)
	if n >= shortestPart {
		end := strings.TrimPrefix(strings.Join(parts[len(parts)-n:], ""), space)
		forms[strings.Join(parts[:n], "")], forms[end] = aPart, aPart
	} else {
		n = len(parts)
	}
	cut := "…" // behind three characters or more
	for _, part := range slices.Backward(parts[3:max(3, n-1)]) {
		cut = "(?:" + part + cut + "|…)"
	}
	forms[strings.Join(parts[:3], "")+cut] = aPart
	lower, _ := literal(strings.ToLower(text))
	forms[lower] = anotherCase
	for expr, form := range forms {
		if re, err := regexp.Compile(expr); err == nil { // of a very long text, only itself is found
			out = append(out, near{form, re})
		}
	}
	return out
}

// encoded is a text in base64 wherever it begins in what was encoded, in hex, for HTML and for URLs.
func encoded(text string) []string {
	digits := hex.EncodeToString([]byte(text))
	forms := []string{digits, strings.ToUpper(digits)}
	for skip := range 3 { // bytes before it in the same group of three
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := e.EncodeToString(append(make([]byte, skip), text...))
			forms = append(forms, whole[(skip*8+5)/6:(skip+len(text))*8/6]) // what no other byte has a part in
		}
	}
	return append(forms, html.EscapeString(text), url.QueryEscape(text), url.PathEscape(text)) // or the text, which is found
}

// saidBy finds what a person said: lines of a room, in files and in the quotes of LIFE and JSON.
func saidBy(person string) []pattern {
	tag := `\[USER:` + regexp.QuoteMeta(person) + ` [^\]\s]{20,35}\] ?`
	return []pattern{
		{regexp.MustCompile(`(?m)^` + tag + `(.*(?:\n    .*)*)`), 1},
		{regexp.MustCompile(`(?m)^    ` + tag + `(.*(?:\n        .*)*)`), 1}, // in a hint, or as RECALL shows it
		{regexp.MustCompile(`"` + tag + `((?:[^"\\]|\\.)*)"`), 1},
	}
}

// sectionOf finds the text of entries, calls or results in originals and in what was opened of them. Heads are what
// stands behind ◆, such as "e12 reply".
func sectionOf(heads ...string) pattern {
	for i, h := range heads {
		heads[i] = regexp.QuoteMeta(h)
	}
	return pattern{regexp.MustCompile(`(?m)^(?:◆|◰4) (?:` + strings.Join(heads, "|") + `)\b.*\n((?:(?:[^◆◰\n]|◰[^4]).*\n?|\n)*)`), 1}
}

// pinsOf finds the rules and promises that come from a range of entries, in a past and in snapshots.
func pinsOf(e event.Entries) []pattern {
	return []pattern{
		{regexp.MustCompile(fmt.Sprintf(`(?:\n|\\n)- e%d\.\.e%d: ((?:[^\n\\]|\\[^n])*)`, e.From, e.To)), 1},
		{regexp.MustCompile(fmt.Sprintf(`"from":\s*%d,\s*"to":\s*%d,\s*"text":\s*"((?:[^"\\]|\\.)*)"`, e.From, e.To)), 1},
	}
}
