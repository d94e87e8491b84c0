package rehearsal

import (
	"regexp"
	"strings"
)

// A part is one order of a compound line.
type part struct {
	text string
	then bool
}

var (
	thenRE = regexp.MustCompile(`(?i)^(?:[,;]?\s+(?:and\s+)?then\s+|;\s+then\s+)`)
	andRE  = regexp.MustCompile(`(?i)^(?:,\s+(?:and\s+)?|;\s+|\s+and\s+)`)
	// A new order begins with one of these words. Words that are also commands of
	// a shell only count after "then".
	orderRE  = regexp.MustCompile(`(?i)^(?:please\s+)?(?:run|execute|read|write|create a|replace|list|say|tell|join|leave|recall|uncompact|compact)\b`)
	soonerRE = regexp.MustCompile(`(?i)^(?:please\s+)?(?:cat|bash|ls|echo|repeat|count|think|show me|what)\b`)
	// After these the rest of the line is theirs.
	greedyRE = regexp.MustCompile(`(?i)^(?:(?:please|can you|could you)\s+)*(?:remember|keep in mind|don'?t forget|note|write down|jot down|think|repeat|echo|do you)\b`)
	// After these only "then" begins a new order: they hold free text.
	textRE = regexp.MustCompile(`(?i)^(?:(?:please|can you|could you)\s+)*(?:say|tell|write|create|make|put|post)\b`)
)

// split cuts a compound line into its orders, never inside quotes.
func split(text string) []part {
	if greedyRE.MatchString(text) {
		return []part{{text: text}}
	}
	var parts []part
	start, then := 0, false
	var closing rune
	for i, r := range text {
		switch {
		case closing != 0:
			if r == closing {
				closing = 0
			}
			continue
		case quotes(text, i, r):
			closing = pairs[r]
			continue
		case i <= start:
			continue
		}
		n, sequence := separator(text[start:], text[i:])
		if n == 0 {
			continue
		}
		parts = append(parts, part{text[start:i], then})
		start, then = i+n, sequence
	}
	return append(parts, part{text[start:], then})
}

// quotes says whether the rune at i opens a quotation that is closed later. A '
// inside a word is an apostrophe.
func quotes(text string, i int, r rune) bool {
	close, ok := pairs[r]
	if !ok || r == '\'' && i > 0 && text[i-1] != ' ' {
		return false
	}
	return strings.ContainsRune(text[i+len(string(r)):], close)
}

// separator returns the length of a separator at the start of rest, when a new
// order follows it, and whether that order has to wait.
func separator(current, rest string) (n int, sequence bool) {
	if m := thenRE.FindString(rest); m != "" {
		after := rest[len(m):]
		if orderRE.MatchString(after) || soonerRE.MatchString(after) || strings.HasPrefix(after, "$ ") {
			return len(m), true
		}
	}
	if textRE.MatchString(current) {
		return 0, false
	}
	if m := andRE.FindString(rest); m != "" && orderRE.MatchString(rest[len(m):]) {
		return len(m), false
	}
	return 0, false
}
