package rehearsal

import (
	"slices"
	"strings"
	"unicode"

	"lethe/internal/lazy"
	"lethe/mind"
)

var (
	refRE   = lazy.Regexp(`◱hash=([0-9a-f]{8,64}) gist=([^◲\n]*)◲`)
	foundRE = lazy.Regexp(`(?m)^(?:◱?hash=)?([0-9a-f]{16,64})\b`)
	keepRE  = lazy.Regexp(`(?i)^(?:i will )?remember(?: that|:| )+`)
)

// plainRefs puts refs into words, for text that goes out.
func plainRefs(text string) string {
	text = refRE().ReplaceAllString(text, "[$1: $2]")
	return strings.NewReplacer("◱", "", "◲", "", "◳", "", "◆", "").Replace(text)
}

// A find is a statement that may answer a question.
type find struct {
	who   string // who said it, "" when that is not known
	text  string
	share float64 // of the question's keywords, those it has
}

const (
	sure  = 0.6 // share of the keywords that a statement must have to be the answer
	opens = 4   // UNCOMPACT calls for what a hint or a search names
)

// recall answers a question: by what is to be seen, then by the originals that a hint names, then by those that a
// search finds.
func (t *turn) recall(m []string) string {
	question := m[0]
	keys := keywords(question)
	if len(keys) == 0 {
		return unknown(question)
	}
	best, hint := t.seen(keys)
	if best.share < sure {
		best = t.open(keys, hint)
	}
	if best.share < sure && t.offers("RECALL") {
		query := clip(strings.TrimRight(question, "?!. "), 200)
		found := t.do("I do not see it here, so I search what has faded.", "RECALL", map[string]string{"query": query})
		best = t.open(keys, found)
	}
	text := "“" + clip(plainRefs(best.text), 400) + "”"
	switch {
	case best.share < sure:
		return "I do not know. Nothing that I can see or find says so."
	case best.who == t.heard[t.now].who:
		return "You said: " + text
	case best.who != "":
		return best.who + " said: " + text
	}
	return "What I have is: " + text
}

// seen finds in what is in sight, and returns the hints of this turn.
func (t *turn) seen(keys []string) (best find, hint string) {
	for i, e := range t.entries {
		switch {
		case e.Kind == mind.Hint && i >= t.start:
			hint += e.Text + "\n"
		case e.Kind == "":
			best.better(keys, "", e.Text)
		}
	}
	for _, l := range t.heard[:t.now] {
		best.better(keys, l.who, l.text)
	}
	return best, hint
}

// open finds in the originals whose addresses begin lines of a text.
func (t *turn) open(keys []string, text string) (best find) {
	if !t.offers("UNCOMPACT") {
		return find{}
	}
	refs := foundRE().FindAllStringSubmatch(text, opens)
	for _, ref := range refs {
		const why = "This may have to do with it. I open the original."
		original := t.do(why, "UNCOMPACT", map[string]string{"hash": ref[1], "limit": "100000"})
		best.better(keys, "", original)
		for _, l := range linesOf(&mind.Entry{Text: original}) {
			best.better(keys, l.who, l.text)
		}
		if best.share >= sure {
			break
		}
	}
	return best
}

func (t *turn) offers(tool string) bool { return slices.Contains(t.req.Tools, tool) }

// better takes the newest of the sentences with most of the keywords, and of equal ones rather one whose speaker is
// known. Questions state nothing.
func (f *find) better(keys []string, who, text string) {
	for s := range strings.SplitSeq(strings.ReplaceAll(text, ". ", ".\n"), "\n") {
		s = keepRE().ReplaceAllString(strings.Trim(s, "-* \t"), "")
		has, n := keywords(s), 0.0
		for _, k := range keys {
			if slices.Contains(has, k) {
				n++
			}
		}
		if n == 0 || strings.HasSuffix(s, "?") {
			continue
		}
		share := n / float64(len(keys))
		if share > f.share || share == f.share && (who != "" || f.who == "") {
			*f = find{who, s, share}
		}
	}
}

// stopwords tell nothing about a text; nor do the words with which one asks.
const stopwords = " a about am an and any are as at be been but by can could did do does for from get has have he her " +
	"his how i i'm if in into is it its just me my no not of off on or our out please remember said say " +
	"says see she so some still tell than that the their them then there they this to up us was we were " +
	"what what's when where which who why will with would you your "

// keywords are the words that matter, in lower case and without an s at their end.
func keywords(text string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
	}) {
		if w = strings.Trim(w, "'"); !strings.Contains(stopwords, " "+w+" ") {
			out = append(out, strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "s"))
		}
	}
	return out
}
