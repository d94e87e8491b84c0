package rehearsal

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Looking back. What people said comes first, then what else is to be seen, then
// what a hint names or a gist promises, then the search.

// A ref is the address of something that was seen, with one line about it, and
// the character at which to open it.
type ref struct {
	hash, gist string
	offset     int
}

var (
	refRE     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`◱hash=([0-9a-f]{8,64}) gist=([^◲\n]*)◲`) })
	foundRE   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:hash=)?([0-9a-f]{16,64})\b(.*)$`) })
	asideRE   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:\[.*\]|◳.*|original of hash=.*)$`) })
	nextPage  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bgo on with offset=(\d+)`) })
	speakerRE = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:\[(?:USER|AGENT):([^\]\s]+)[^\]]*\]|([a-z][\w-]{0,31}):) (.*)$`)
	})
	keepRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:i will )?remember(?: that|:| )+`) })
)

// refsIn finds the refs of a text, in their order; where there is none, lines
// that begin with a hash.
func refsIn(text string) []ref {
	var out []ref
	for _, re := range []*regexp.Regexp{refRE(), foundRE()} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			out = append(out, ref{hash: m[1], gist: m[2]})
		}
		if len(out) > 0 {
			break
		}
	}
	return out
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
	maybe = 0.25 // the same, to be worth an UNCOMPACT, or to be told when all else failed
	opens = 4    // UNCOMPACT calls for one question
)

// recall answers a question from the conversation.
func (t *turn) recall(question string) (string, bool) {
	keys := keywords(question)
	if len(keys) == 0 {
		return unknown(question), true
	}
	told, seen, refs, hints := t.sources()
	best := pick(keys, told)
	if best.score < sure {
		best = pick(keys, append(seen, told...))
	}
	if best.score < sure {
		found, ok := t.open(keys, append(hints, ranked(keys, refs)...))
		if ok && found.score < sure && t.req.offers("RECALL") {
			var results []string
			if results, ok = t.do("I do not see it here, so I search what has faded.", call("RECALL", map[string]string{"query": clip(strings.TrimRight(question, "?!. "), 200)})); ok {
				found, ok = t.open(keys, refsIn(results[0]))
			}
		}
		if !ok {
			return "", false
		}
		if found.score > best.score {
			best = found
		}
	}
	t.why = "I looked for it in what I can see."
	if best.score < maybe {
		return "I do not know. Nothing that I can see or find says so.", true
	}
	text := "“" + clip(oneLine(plainRefs(best.text)), 400) + "”"
	switch best.who {
	case "":
		text = "What I have is: " + text
	case t.items[t.now].who:
		text = "You said: " + text
	default:
		text = best.who + " said: " + text
	}
	if best.score < sure {
		text = "I am not sure, but the closest that I see is this. " + text
	}
	return text, true
}

// sources are the statements that were made before the line being answered, by
// people and elsewhere, the refs in sight then, and those that a hint of this turn
// names.
func (t *turn) sources() (told, seen []find, refs, hints []ref) {
	for i, it := range t.items {
		if i > t.now && it.kind != hintItem && it.kind != noteItem {
			continue
		}
		switch it.kind {
		case lineItem:
			if i < t.now && !strings.HasSuffix(strings.TrimSpace(it.text), "?") {
				for _, s := range statements(it.text) {
					told = append(told, find{who: it.who, text: s})
				}
			}
		case hintItem:
			if i >= t.start {
				hints = append(hints, refsIn(it.text)...)
			} else {
				refs = append(refs, refsIn(it.text)...)
			}
		case replyItem:
		default:
			refs = append(refs, refsIn(it.text)...)
			seen = append(seen, transcript(it.text)...)
		}
	}
	return told, seen, refs, hints
}

// open reads the originals of refs, in their order, until one answers the
// question. An original that is a list of refs is followed to the best one, and
// one with more pages to the next.
func (t *turn) open(keys []string, refs []ref) (best find, ok bool) {
	if !t.req.offers("UNCOMPACT") {
		return find{}, true
	}
	tried := map[ref]bool{}
	for len(tried) < opens && len(refs) > 0 && best.score < sure {
		r := refs[0]
		refs = refs[1:]
		if at := (ref{hash: r.hash, offset: r.offset}); tried[at] {
			continue
		} else {
			tried[at] = true
		}
		args := map[string]any{"ref": r.hash}
		if r.offset > 0 {
			args["offset"] = r.offset
		}
		results, ok := t.do("“"+clip(plainRefs(strings.TrimSpace(r.gist)), 80)+"” may have to do with this. I open the original.", call("UNCOMPACT", args))
		if !ok {
			return find{}, false
		}
		if f := pick(keys, transcript(results[0])); f.score > best.score {
			best = f
		}
		more := ranked(keys, refsIn(results[0]))
		if m := nextPage().FindStringSubmatch(results[0]); m != nil {
			if offset, err := strconv.Atoi(m[1]); err == nil {
				more = append(more, ref{r.hash, r.gist, offset})
			}
		}
		refs = append(more, refs...)
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

// pick returns the newest of the statements with most of the keywords; one whose
// speaker is known before an equal one whose is not.
func pick(keys []string, finds []find) find {
	var best find
	for _, f := range finds {
		f.score = share(keys, f.text)
		if f.score > best.score || f.score == best.score && (f.who != "" || best.who == "") {
			best = f
		}
	}
	return best
}

// ranked returns the refs whose gist fits, the best first, newest first among equals.
func ranked(keys []string, refs []ref) []ref {
	refs = slices.DeleteFunc(slices.Clone(refs), func(r ref) bool { return share(keys, r.gist) < maybe })
	slices.Reverse(refs)
	slices.SortStableFunc(refs, func(a, b ref) int { return cmp.Compare(share(keys, b.gist), share(keys, a.gist)) })
	return refs
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
