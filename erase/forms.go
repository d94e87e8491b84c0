package erase

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"lethe/compactor"
	"lethe/life/event"
)

// pattern finds what is to be erased: all that re matches, or its group.
type pattern struct {
	re    *regexp.Regexp
	group int
	in    *regexp.Regexp // of that, what it matches; nil for all
}

// spaces is white space in any spelling, and what the context of an agent has between lines without a tag.
const spaces = `(?:[\s\pZ\x{85}]|\\+[nrtvf]|\\+u(?i:000[9a-d]|0085|00a0|2028|2029))+(?:\[USER:unknown\] ?)?`

// others are spellings of characters in JSON, in Go's strings, in HTML and in rendered prompts.
var others = map[rune]string{
	'"': `\\+"|&quot;|&#34;`, '\\': `\\+`, '\'': `\\+'|&#39;|&apos;`, '/': `\\+/`, '<': `&lt;`, '>': `&gt;`, '&': `&amp;`,
	'◰': `◰0`, '◱': `◰1`, '◲': `◰2`, '◳': `◰3`, '◆': `◰4`,
}

// spelling is a regular expression for a character in every form in which Lethe writes it.
func spelling(r rune) string {
	if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return string(r)
	}
	forms := fmt.Sprintf(`%s|\\+(?i:u%04x|u%08x|x%02x)`, regexp.QuoteMeta(string(r)), r, r, r)
	if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
		forms += fmt.Sprintf(`|\\+(?i:u%04x)\\+(?i:u%04x)`, a, b)
	}
	if other := others[r]; other != "" {
		forms = other + "|" + forms
	}
	if !unicode.IsPrint(r) { // a gist leaves it out, and a room shows a picture of it
		return fmt.Sprintf(`(?:%s|%c|␡)?`, forms, 0x2400+r%0x20)
	}
	return `(?:` + forms + `)`
}

// longestCut is how many characters of a text can stand before the mark of a cut: more than in a gist.
const longestCut = 120

// formsOf finds a text in every form in which it can be stored: as it is, escaped for JSON, Go, HTML
// or a prompt, with its white space folded, and a beginning of it that a gist cuts off. White space around it
// does not count.
func formsOf(text string) ([]pattern, error) {
	var units []string
	for _, word := range strings.Fields(text) {
		if len(units) > 0 {
			units = append(units, spaces)
		}
		for _, r := range word {
			units = append(units, spelling(r))
		}
	}
	all := []string{strings.Join(units, "")}
	if len(units) > 3 {
		cut := ""
		for _, u := range slices.Backward(units[3:min(len(units), longestCut)]) {
			cut = "(?:" + u + cut + ")?"
		}
		all = append(all, strings.Join(units[:3], "")+cut+`(?:…|\\+u2026)`)
	}
	var out []pattern
	for _, expr := range all {
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("erase a text of %d characters: it is too long", len(units))
		}
		out = append(out, pattern{re: re})
	}
	return append(out, listed(text)...), nil
}

// listed finds the parts of a text that a mechanical summary lists, as it takes texts apart. The words of a text that is more
// than one word could be anybody's.
func listed(text string) []pattern {
	parts, words := compactor.Words(text)
	if len(strings.Fields(text)) == 1 {
		parts = append(parts, words...)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return utf8.RuneCountInString(s) < MinText })
	if len(parts) == 0 {
		return nil
	}
	for i, s := range parts {
		parts[i] = regexp.QuoteMeta(s)
	}
	in, err := regexp.Compile(`(?i)` + strings.Join(parts, "|"))
	if err != nil {
		return nil // too long for a list
	}
	return []pattern{{regexp.MustCompile(`(?:Names|Words): ([^\n\\"]*)`), 1, in}}
}

// saidBy finds what a person said: lines of a room, in files and in the quotes of LIFE and JSON.
func saidBy(person string) []pattern {
	tag := `\[USER:` + regexp.QuoteMeta(person) + ` [^\]\s]{20,35}\] ?`
	return []pattern{
		{regexp.MustCompile(`(?m)^` + tag + `(.*(?:\n    .*)*)`), 1, nil},
		{regexp.MustCompile(`"` + tag + `((?:[^"\\]|\\.)*)"`), 1, nil},
	}
}

// sectionOf finds the text of entries, calls or results in originals and in what was opened of them. Heads are what
// stands behind ◆, such as "e12 reply".
func sectionOf(heads ...string) pattern {
	for i, h := range heads {
		heads[i] = regexp.QuoteMeta(h)
	}
	return pattern{regexp.MustCompile(`(?m)^(?:◆|◰4) (?:` + strings.Join(heads, "|") + `)\b.*\n((?:(?:[^◆◰\n]|◰[^4]).*\n?|\n)*)`), 1, nil}
}

// pinsOf finds the rules and promises that come from a range of entries, in a past and in snapshots.
func pinsOf(e event.Entries) []pattern {
	return []pattern{
		{regexp.MustCompile(fmt.Sprintf(`(?:\n|\\n)- e%d\.\.e%d: ((?:[^\n\\]|\\[^n])*)`, e.From, e.To)), 1, nil},
		{regexp.MustCompile(fmt.Sprintf(`"from":\s*%d,\s*"to":\s*%d,\s*"text":\s*"((?:[^"\\]|\\.)*)"`, e.From, e.To)), 1, nil},
	}
}
