package rehearsal

import (
	"slices"
	"strings"
	"unicode"

	"lethe/internal/lazy"
	"lethe/mind"
)

var (
	refRE     = lazy.Regexp(`◱hash=([0-9a-f]{8,64}) gist=([^◲\n]*)◲`)
	foundRE   = lazy.Regexp(`(?m)^(?:◱?hash=)?([0-9a-f]{16,64})\b`)
	asideRE   = lazy.Regexp(`(?m)^(?:\[.*\]|◳.*|original of hash=.*)$`)
	speakerRE = lazy.Regexp(`^(?:\[(?:USER|AGENT):([^\]\s]+)[^\]]*\]|([a-z][\w-]{0,31}):) (.*)$`)
	keepRE    = lazy.Regexp(`(?i)^(?:i will )?remember(?: that|:| )+`)
)

// refsIn finds the addresses that a hint or a search names: they begin their lines.
func refsIn(text string) (hashes []string) {
	for _, m := range foundRE().FindAllStringSubmatch(text, -1) {
		hashes = append(hashes, m[1])
	}
	return hashes
}

// plainRefs puts refs into words, for text that goes out.
func plainRefs(text string) string {
	text = refRE().ReplaceAllString(text, "[$1: $2]")
	return strings.NewReplacer("◱", "", "◲", "", "◳", "", "◆", "").Replace(text)
}

// A find is a statement that may answer a question.
type find struct {
	who   string // who said it, "" when that is not known
	text  string
	score float64 // share of the question's keywords it has
}

const (
	sure  = 0.6  // share of the keywords that a statement must have to be the answer
	maybe = 0.25 // the same, to be told when nothing else is found
	opens = 4    // UNCOMPACT calls for what a hint or a search names
)

// recall answers a question: by what is to be seen, then by the originals that a hint
// names, then by those that a search finds.
func (t *turn) recall(question string) (string, bool) {
	keys := keywords(question)
	if len(keys) == 0 {
		return unknown(question), true
	}
	seen, hinted := t.sources()
	best := pick(keys, seen)
	if best.score < sure {
		found, ok := t.open(keys, hinted)
		if !ok {
			return "", false
		}
		best = better(best, found)
	}
	if best.score < sure && slices.Contains(t.req.Tools, "RECALL") {
		results, ok := t.do("I do not see it here, so I search what has faded.", call("RECALL", map[string]string{"query": clip(strings.TrimRight(question, "?!. "), 200)}))
		if !ok {
			return "", false
		}
		found, ok := t.open(keys, refsIn(results[0]))
		if !ok {
			return "", false
		}
		best = better(best, found)
	}
	t.why = "I looked for it in what I can see."
	if best.score < maybe {
		return "I do not know. Nothing that I can see or find says so.", true
	}
	text := "“" + clip(oneLine(plainRefs(best.text)), 400) + "”"
	switch best.who {
	case "":
		text = "What I have is: " + text
	case t.heard[t.now].who:
		text = "You said: " + text
	default:
		text = best.who + " said: " + text
	}
	if best.score < sure {
		text = "I am not sure, but the closest that I see is this. " + text
	}
	return text, true
}

// sources are the statements in sight before the line being answered, and the refs that
// a hint of this turn names.
func (t *turn) sources() (seen []find, hinted []string) {
	for i, e := range t.entries {
		switch {
		case e.Kind == mind.Hint && i >= t.start:
			hinted = append(hinted, refsIn(e.Text)...)
		case e.Kind == "" || e.Kind == mind.Note:
			seen = append(seen, transcript(e.Text)...)
		case e.Kind == mind.Reply && i < t.start:
			for _, c := range e.Calls {
				seen = append(seen, transcript(c.Text)...)
			}
		}
	}
	for _, l := range t.heard[:t.now] {
		for _, s := range statements(l.text) {
			seen = append(seen, find{who: l.who, text: s})
		}
	}
	return seen, hinted
}

// open reads the originals of refs, in their order, until one answers the question.
func (t *turn) open(keys []string, refs []string) (best find, ok bool) {
	if !slices.Contains(t.req.Tools, "UNCOMPACT") {
		return find{}, true
	}
	for _, r := range refs[:min(opens, len(refs))] {
		results, ok := t.do("This may have to do with it. I open the original.", call("UNCOMPACT", map[string]string{"hash": r, "limit": "100000"}))
		if !ok {
			return find{}, false
		}
		if best = better(best, pick(keys, transcript(results[0]))); best.score >= sure {
			break
		}
	}
	return best, true
}

// transcript reads a text that was not said here: an original, a summary, notes.
func transcript(text string) []find {
	text = asideRE().ReplaceAllString(refRE().ReplaceAllString(text, ""), "")
	var out []find
	who := ""
	for line := range strings.SplitSeq(text, "\n") {
		if m := speakerRE().FindStringSubmatch(strings.TrimLeft(line, "-* ")); m != nil {
			who, line = m[1]+m[2], m[3]
		} else if !strings.HasPrefix(line, " ") {
			who = ""
		}
		for _, s := range statements(strings.TrimLeft(line, "-* \t")) {
			out = append(out, find{who: who, text: s})
		}
	}
	return out
}

// statements keeps a short text whole and cuts a long one into sentences,
// without the words that ask to keep it. Questions state nothing.
func statements(text string) []string {
	list := []string{text}
	if len(text) > 400 || strings.Contains(text, "\n") {
		list = strings.Split(strings.ReplaceAll(text, ". ", ".\n"), "\n")
	}
	var out []string
	for _, s := range list {
		if s = keepRE().ReplaceAllString(strings.TrimSpace(s), ""); s != "" && !strings.HasSuffix(s, "?") {
			out = append(out, s)
		}
	}
	return out
}

// pick returns the newest of the statements with most of the keywords.
func pick(keys []string, finds []find) find {
	var best find
	for _, f := range finds {
		f.score = share(keys, f.text)
		best = better(best, f)
	}
	return best
}

// better is the find with more of the keywords; of two equal ones the later, unless only
// the earlier one's speaker is known.
func better(earlier, later find) find {
	if later.score > earlier.score || later.score == earlier.score && (later.who != "" || earlier.who == "") {
		return later
	}
	return earlier
}

// share is the share of the keys that a text has.
func share(keys []string, text string) float64 {
	n, has := 0, keywords(text)
	for _, k := range keys {
		if slices.Contains(has, k) {
			n++
		}
	}
	return float64(n) / float64(len(keys))
}

// stopwords tell nothing about a text; nor do the words with which one asks.
const stopwords = " a about am an and any are as at be been but by can could did do does for from get has have he her his how " +
	"i i'm if in into is it its just me my no not of off on or our out please remember said say says see she so some still tell " +
	"than that the their them then there they this to up us was we were what what's when where which who why will with would you your "

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
