package erase

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"lethe/blobs"
	"lethe/life/event"
)

// space matches white space of any kind, also as strings escape it, and the tag that prompts put between lines without
// one: a room has U+2028 for the end of a line, rooms indent the lines of a message, and gists put them on one line.
const space = `(?:[\s\v\pZ\x{85}]|\\+[nrtvf]|\\+u(?i:000[9a-d]|0085|00a0|200[0-9a]|202[89f]|205f|3000))+` +
	`(?:\[USER:unknown\] ?)?`

// spelling matches a character as it is, as prompts show it, and as JSON escapes it, however deep: a call is JSON in
// the JSON of a snapshot.
func spelling(char rune) string {
	plain := regexp.QuoteMeta(string(char))
	isASCII := ' ' < char && char < unicode.MaxASCII
	switch {
	case char == '"' || char == '/':
		return `\\*` + plain
	case char == '\\':
		return `\\+`
	case isASCII && !strings.ContainsRune("<>&", char):
		return plain // nobody escapes it, and to look for it is fast
	}
	forms := plain + fmt.Sprintf(`|\\+(?i:u%04x)`, char)
	if shown := blobs.Escape(string(char)); shown != string(char) {
		forms = shown + "|" + forms
	}
	if high, low := utf16.EncodeRune(char); high != unicode.ReplacementChar {
		forms += fmt.Sprintf(`|\\+(?i:u%04x)\\+(?i:u%04x)`, high, low)
	}
	return `(?:` + forms + `)`
}

// literal matches a text, plain and escaped for JSON. White space around it does not count.
func literal(text string) (*regexp.Regexp, error) {
	words := strings.Fields(text)
	for i, word := range words {
		var expr strings.Builder
		for _, r := range word {
			expr.WriteString(spelling(r))
		}
		words[i] = expr.String()
	}
	re, err := regexp.Compile(strings.Join(words, space))
	if err != nil {
		err = fmt.Errorf("%w: %d characters are too long for a text", ErrText, utf8.RuneCountInString(text))
	}
	return re, err
}

// saidBy finds what a person said: lines of a room, in files and in the quotes of LIFE and JSON.
func saidBy(person string) (all []*regexp.Regexp) {
	tag := `\[USER:` + regexp.QuoteMeta(person) + ` [^\]\s]{20,35}\] ?`
	for _, form := range []string{
		`(?m)^` + tag + `(.*(?:\n    .*)*)`,
		`(?m)^    ` + tag + `(.*(?:\n        .*)*)`, // in a hint, or as RECALL shows it
		`"` + tag + `((?:[^"\\]|\\.)*)"`,
	} {
		all = append(all, regexp.MustCompile(form))
	}
	return all
}

// sectionOf finds the text of entries, calls or results in originals, and where an original was opened. Heads are
// expressions for the words behind ◆, such as "e12 reply".
func sectionOf(heads []string) *regexp.Regexp {
	const rest = `\b.*\n((?:(?:[^◆◰\n]|◰[^4]).*\n?|\n)*)`
	return regexp.MustCompile(`(?m)^(?:◆|◰4) (?:` + strings.Join(heads, "|") + `)` + rest)
}

// pinsOf finds the rules and promises that come from a range of entries, in a past and in snapshots.
func pinsOf(entries event.Entries) []*regexp.Regexp {
	inPast := fmt.Sprintf(`(?:\n|\\n)- e%d\.\.e%d: ((?:[^\n\\]|\\[^n])*)`, entries.From, entries.To)
	inState := fmt.Sprintf(`"from":\s*%d,\s*"to":\s*%d,\s*"text":\s*"((?:[^"\\]|\\.)*)"`, entries.From, entries.To)
	return []*regexp.Regexp{regexp.MustCompile(inPast), regexp.MustCompile(inState)}
}
