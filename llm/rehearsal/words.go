package rehearsal

import (
	"strings"
	"unicode"
)

// stopwords say nothing about what a text is about; nor do the words with which
// one asks for something.
var stopwords = set(`a an and are as at be been but by can could did do does done for from get got had has have
he her here him his how i if in into is it its just me my no not now of off on or our out please so some than that
the their them then there these they thing this those to too up us was we were what when where which who whom whose
why will with would you your about again also any anything know remember recall remind say said says saying tell told
mention mentioned talk talked still ever really last time name named called mean let make made am im ive id dont didnt
whats whos wheres hows call yes ok okay hi hello hey thanks thank like one new very more`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// words cuts text into words: runs of letters and digits, and single CJK
// characters. Apostrophes vanish.
func words(text string) []string {
	var out []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r) || unicode.In(r, unicode.Hiragana, unicode.Katakana):
			flush()
			out = append(out, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			b.WriteRune(r)
		case r == '\'' || r == '’':
		default:
			flush()
		}
	}
	flush()
	return out
}

// stem makes the forms of an English word alike, and its two spellings.
func stem(w string) string {
	w = strings.ToLower(w)
	if len(w) > 5 {
		w = strings.ReplaceAll(w, "our", "or")
	}
	for _, suffix := range []string{"ing", "ed", "es", "s"} {
		if s, ok := strings.CutSuffix(w, suffix); ok && len(s) >= 3 && !strings.HasSuffix(s, "s") {
			w = s
			break
		}
	}
	return strings.TrimSuffix(w, "e")
}

// keywords are the stems of the words that matter, each once, in order.
func keywords(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range words(text) {
		k := stem(w)
		if !stopwords[strings.ToLower(w)] && !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// spelled gives keywords back as the text writes them.
func spelled(text string, keys []string) []string {
	var out []string
	for _, k := range keys {
		for _, w := range words(text) {
			if stem(w) == k {
				out = append(out, w)
				break
			}
		}
	}
	return out
}

// sentences cuts text at line ends and after . ! ? before a space.
func sentences(text string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		start := 0
		for i := 0; i+1 < len(line); i++ {
			if strings.IndexByte(".!?", line[i]) >= 0 && line[i+1] == ' ' {
				add(line[start : i+1])
				start = i + 1
			}
		}
		add(line[start:])
	}
	return out
}
