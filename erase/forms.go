package erase

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/life/event"
)

// pattern finds what is to be erased: all that re matches, or its group.
type pattern struct {
	re    *regexp.Regexp
	group int
}

// space matches white space, also as strings escape it, and what prompts put between lines without a tag: rooms indent
// the lines of a message, and gists make one line of them.
const space = `(?:\s|\\+[nrt])+(?:\[USER:unknown\] ?)?`

// spelling matches a character as it is, as prompts show it, and as JSON escapes it, however deep: a call is JSON in
// the JSON of a snapshot.
func spelling(r rune) string {
	switch {
	case r == '"' || r == '/':
		return `\\*` + string(r)
	case r == '\\':
		return `\\+`
	case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
		return string(r)
	}
	forms := regexp.QuoteMeta(string(r)) + fmt.Sprintf(`|\\+(?i:u%04x)`, r)
	if shown := blobs.Escape(string(r)); shown != string(r) {
		forms = shown + "|" + forms
	}
	if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
		forms += fmt.Sprintf(`|\\+(?i:u%04x)\\+(?i:u%04x)`, a, b)
	}
	return `(?:` + forms + `)`
}

// literal matches a text, plain and escaped for JSON; parts are the expressions of its characters. White space around it does not count.
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
	pattern
}

// shortestHalf is how many characters half of a text has at least: fewer are in other words, too.
const shortestHalf = 6

// nearForms finds a text in another case, encoded, and a half of it, as a gist or a summary may have it.
func nearForms(text string) (out []near) {
	expr, parts := literal(text)
	forms := [][2]string{{"another case", "(?i)" + expr}, {"encoded", encoded(strings.TrimSpace(text))}}
	if half := len(parts) / 2; half >= shortestHalf {
		forms = append(forms, [2]string{"a half of it", strings.Join(parts[:half], "") + "|" + strings.Join(parts[half:], "")})
	}
	for _, f := range forms {
		if re, err := regexp.Compile(f[1]); err == nil { // of a very long text, only itself is found
			out = append(out, near{f[0], pattern{re: re}})
		}
	}
	return out
}

// encoded matches a text in base64 wherever it begins in what was encoded, in hex, for HTML and for URLs.
func encoded(text string) string {
	forms := []string{"(?i:" + hex.EncodeToString([]byte(text)) + ")"}
	for skip := range 3 { // bytes before it in the same group of three
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := e.EncodeToString(append(make([]byte, skip), text...))
			own := whole[(skip*8+5)/6 : (skip+len(text))*8/6] // what no other byte has a part in
			forms = append(forms, regexp.QuoteMeta(own))
		}
	}
	for _, other := range []string{html.EscapeString(text), url.QueryEscape(text), url.PathEscape(text)} {
		if other != text {
			forms = append(forms, regexp.QuoteMeta(other))
		}
	}
	return strings.Join(forms, "|")
}

// saidBy finds what a person said: lines of a room, in files and in the quotes of LIFE and JSON.
func saidBy(person string) []pattern {
	tag := `\[USER:` + regexp.QuoteMeta(person) + ` [^\]\s]{20,35}\] ?`
	return []pattern{
		{regexp.MustCompile(`(?m)^` + tag + `(.*(?:\n    .*)*)`), 1},
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
