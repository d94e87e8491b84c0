package rehearsal

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Looking back. What the user said comes first, then what else is to be seen,
// then what a hint points at or a gist promises, then the search.

// A ref is the address of something that was seen, with one line about it, and
// the character at which to open it.
type ref struct {
	hash, gist string
	offset     int
	hinted     bool // the daemon named it, unasked
}

var (
	refRE    = regexp.MustCompile(`◱hash=([0-9a-f]{8,64}) gist=([^◲\n]*)◲`)
	bareRef  = regexp.MustCompile(`(?m)^[-*\d. ]*(?:hash=)?([0-9a-f]{16,64})[\s:]+(?:gist=)?(.+)$`)
	asidesRE = regexp.MustCompile(`(?m)^\[.*\]$|^\s*◳.*$|^original of hash=.*$`) // what tools add to a text
	nextPage = regexp.MustCompile(`\bgo on with offset=(\d+)`)
)

// refsIn finds the refs of a text, in their order; where there is none, lines
// that begin with a hash.
func refsIn(text string) []ref {
	var out []ref
	for _, m := range refRE.FindAllStringSubmatch(text, -1) {
		out = append(out, ref{hash: m[1], gist: m[2]})
	}
	if len(out) > 0 {
		return out
	}
	for _, m := range bareRef.FindAllStringSubmatch(text, -1) {
		out = append(out, ref{hash: m[1], gist: m[2]})
	}
	return out
}

// plainRefs puts refs into words, for text that goes out.
func plainRefs(text string) string {
	text = refRE.ReplaceAllString(text, "[$1: $2]")
	return strings.NewReplacer("◱", "", "◲", "", "◳", "", "◆", "").Replace(text)
}

// A find is a statement that may answer a question.
type find struct {
	who   string // who said it, "" when that is not known
	text  string
	words map[string]bool
	score float64 // share of the question's keywords it has, by weight
}

func newFind(who, text string) find {
	f := find{who: who, text: text, words: map[string]bool{}}
	for _, k := range keywords(text) {
		f.words[k] = true
	}
	return f
}

const (
	sure  = 0.5  // share of the keywords, by weight, that a statement must have to be the answer
	maybe = 0.25 // the same, to be worth an UNCOMPACT, or to be told when all else failed
	opens = 4    // UNCOMPACT calls for one question
)

// recall answers a question from the conversation.
func (t *turn) recall(question string) (string, bool) {
	keys := keywords(question)
	told, seen, refs, hints := t.sources()
	best, ok := pickFind(keys, told)
	if !ok || best.score < sure {
		if other, ok := pickFind(keys, seen); ok && other.score > best.score {
			best = other
		}
	}
	if best.score >= sure {
		return t.quote(best), true
	}
	// What a hint names fits by more than its gist; the first one fits best.
	first := min(1, len(hints))
	found, ok := t.open(keys, slices.Concat(hints[:first], ranked(keys, refs), hints[first:]))
	if !ok {
		return "", false
	}
	if found.score < maybe && t.req.offers("RECALL") {
		results, ok := t.do("I do not see it here, so I search what has faded.", call("RECALL", "query", strings.TrimSpace(clip(question, 200))))
		if !ok {
			return "", false
		}
		if found, ok = t.open(keys, refsIn(results[0])); !ok {
			return "", false
		}
	}
	switch {
	case found.score >= maybe && found.score >= best.score:
		return t.quote(found), true
	case best.score >= maybe:
		return "I am not sure, but the closest that I see is this. " + t.quote(best), true
	}
	return "I do not know. Nothing that I can see or find says so.", true
}

// sources are the statements that were made before the line being answered, and
// the refs in sight then: told by people, seen elsewhere, and what the hints of
// this turn name.
func (t *turn) sources() (told, seen []find, refs, hints []ref) {
	add := func(into *[]find, who, text string) {
		for _, s := range statements(text) {
			*into = append(*into, newFind(who, s))
		}
	}
	for i, it := range t.items {
		if i > t.now && (it.kind == replyItem || it.kind == resultItem && i > t.start) {
			break
		}
		if i > t.now && it.kind != hintItem && it.kind != noteItem {
			continue
		}
		switch it.kind {
		case lineItem:
			if i < t.now && !asks(it.text) {
				add(&told, it.who, statement(it.text))
			}
		case replyItem:
			if kept, ok := strings.CutPrefix(it.text, "I will remember: "); ok {
				add(&seen, "", kept)
			}
		case hintItem:
			for _, r := range refsIn(it.text) {
				r.hinted = true
				refs = append(refs, r)
				if i >= t.start {
					hints = append(hints, r)
				}
			}
		default:
			refs = append(refs, refsIn(it.text)...)
			seen = append(seen, transcript(it.text)...)
		}
	}
	return told, seen, refs, hints
}

// statements keeps a short text whole and cuts a long one into sentences.
func statements(text string) []string {
	if len(text) <= 400 && !strings.Contains(text, "\n") {
		return []string{text}
	}
	return sentences(text)
}

// asks says whether a line asks for something and so states nothing.
func asks(text string) bool {
	if strings.HasSuffix(strings.TrimSpace(text), "?") {
		return true
	}
	if !mayAsk.MatchString(text) { // parsing every line of a long life would be slow
		return false
	}
	switch parse(text)[0].verb {
	case chatVerb, rememberVerb, noteVerb, echoVerb, greetVerb, thinkVerb:
		return false
	}
	return true
}

var (
	mayAsk   = regexp.MustCompile(`(?i)^(?:@?[\w-]+[,:]? +)?(?:(?:please|can|could|would|you|also|then|and)[ ,]+)*(?:run|execute|exec|bash|\$|read|cat|show|open|print|create|make|write|put|save|add|replace|change|list|ls|dir|say|post|tell|join|enter|leave|quit|uncompact|compact|count|recall|look|search|what|who|which|when|where|why|how|do|did|help|calculate)\b`)
	toldKeep = regexp.MustCompile(`(?i)^(?:@?[\w-]+[,:]? +)?(?:please[ ,]+)?(?:remember|keep in mind|don'?t forget|do not forget|note|write down|i will remember)(?: +(?:that|this))?[:,]? +`)
)

// statement is what a line states, without the words that ask to keep it.
func statement(text string) string {
	if rest := toldKeep.ReplaceAllString(text, ""); rest != "" {
		return rest
	}
	return text
}

// saidLine finds who said what in a text: a room's line, or a summary's.
var saidLine = regexp.MustCompile(`^[-* ]*(?:\[(?:USER|AGENT):([^\]\s]+)[^\]]*\]|([a-z][\w-]{0,31}):)\s+(.*)$`)

// transcript reads a text that was not said here: an original, a summary, notes,
// a file. Questions in it state nothing.
func transcript(text string) []find {
	text = asidesRE.ReplaceAllString(refRE.ReplaceAllString(text, ""), "")
	var out []find
	for line := range strings.SplitSeq(text, "\n") {
		who := ""
		if m := saidLine.FindStringSubmatch(line); m != nil {
			who, line = m[1]+m[2], m[3]
		}
		for _, s := range statements(strings.TrimLeft(line, "-* \t")) {
			if s != "" && !strings.HasSuffix(s, "?") {
				out = append(out, newFind(who, statement(s)))
			}
		}
	}
	return out
}

// pickFind returns the newest of the best statements; one whose speaker is known
// before an equal one whose is not.
func pickFind(keys []string, finds []find) (find, bool) {
	weigh := weights(keys, finds)
	var best find
	for i := len(finds) - 1; i >= 0; i-- {
		f := finds[i]
		f.score = share(keys, weigh, f.words)
		if f.score > best.score || f.score == best.score && best.who == "" && f.who != "" {
			best = f
		}
	}
	return best, best.score > 0
}

// weights makes rare words count for more: a word that every statement has tells
// nothing.
func weights(keys []string, finds []find) map[string]float64 {
	w := map[string]float64{}
	for _, k := range keys {
		df := 0
		for _, f := range finds {
			if f.words[k] {
				df++
			}
		}
		w[k] = math.Log(1 + float64(len(finds)+1)/float64(df+1))
	}
	return w
}

func share(keys []string, weigh map[string]float64, words map[string]bool) float64 {
	var has, all float64
	for _, k := range keys {
		all += weigh[k]
		if words[k] {
			has += weigh[k]
		}
	}
	if all == 0 {
		return 0
	}
	return has / all
}

// ranked orders refs by how well their gist fits, newest first among equals, and
// drops those that do not fit at all.
func ranked(keys []string, refs []ref) []ref {
	var finds []find
	for _, r := range refs {
		finds = append(finds, newFind("", r.gist))
	}
	weigh := weights(keys, finds)
	var out []ref
	seen := map[string]bool{}
	for len(out) < opens {
		best, at := 0.0, -1
		for i := len(refs) - 1; i >= 0; i-- {
			if s := share(keys, weigh, finds[i].words); s > best && !seen[refs[i].hash] {
				best, at = s, i
			}
		}
		if at < 0 || best < maybe {
			break
		}
		seen[refs[at].hash] = true
		out = append(out, refs[at])
	}
	return out
}

// open rehydrates refs, best first, until one answers the question. An original
// that is a list of refs itself is followed to the one that fits best, one with
// more pages to the next. When UNCOMPACT is not offered the gists have to do.
func (t *turn) open(keys []string, refs []ref) (best find, ok bool) {
	if !t.req.offers("UNCOMPACT") {
		var finds []find
		for _, r := range refs {
			finds = append(finds, newFind("", r.gist))
		}
		best, _ = pickFind(keys, finds)
		return best, true
	}
	tried := map[Call]bool{}
	for len(tried) < opens && len(refs) > 0 {
		r := refs[0]
		refs = refs[1:]
		if tried[r.call()] {
			continue
		}
		tried[r.call()] = true
		results, ok := t.do(r.why(), r.call())
		if !ok {
			return find{}, false
		}
		if f, ok := pickFind(keys, transcript(results[0])); ok && f.score > best.score {
			best = f
		}
		if best.score >= sure {
			break
		}
		if m := nextPage.FindStringSubmatch(results[0]); m != nil {
			if r.offset, _ = strconv.Atoi(m[1]); r.offset > 0 { // an impossible number opens nothing
				refs = append([]ref{r}, refs...)
			}
		}
		refs = append(ranked(keys, refsIn(results[0])), refs...)
	}
	return best, true
}

// why is what is thought when it is opened.
func (r ref) why() string {
	gist := clip(plainRefs(r.gist), 80)
	if r.hinted {
		return fmt.Sprintf("A hint says that “%s” has to do with this. I open the original.", gist)
	}
	return fmt.Sprintf("The gist “%s” promises an answer. I open the original.", gist)
}

func (r ref) call() Call {
	if r.offset > 0 {
		return call("UNCOMPACT", "ref", r.hash, "offset", r.offset)
	}
	return call("UNCOMPACT", "ref", r.hash)
}

// quote says who said what.
func (t *turn) quote(f find) string {
	text := "“" + clip(oneLine(plainRefs(f.text)), 400) + "”"
	switch f.who {
	case "":
		return "What I have is: " + text
	case t.items[t.now].who:
		return "You said: " + text
	}
	return f.who + " said: " + text
}

// argument reads a text argument of a call, "" when there is none.
func argument(c Call, name string) string {
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return ""
	}
	v, _ := args[name].(string)
	return v
}
