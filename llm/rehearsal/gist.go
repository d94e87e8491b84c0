package rehearsal

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A gist is read on a card by somebody who wonders whether to open it, and
// ranked by a search. So it says what a chunk was about: what somebody wanted,
// what came of it, and one identifier where these two hold none.

const (
	maxGist      = 100 // runes
	leastWhat    = 60  // runes that the first part keeps when there is a second one
	leastOutcome = 20  // runes that are worth being a second part
	maxGistID    = 30
)

// A claim is a sentence that may become part of a gist.
type claim struct {
	who   string // "ada: ", "I: " or ""
	text  string
	at    int // its place in the chunk
	score int
}

// claims are the sentences of a chunk by where they come from.
type claims struct {
	asked  []claim // said by somebody in a room
	open   []claim // the same, where what came of it is in the next chunk
	stated []claim // said by this model
	shown  []claim // given by a tool, or quoted from what it gave
	n      int     // so many in all
	ids    []string
}

// gist is what the chunk was about in one line.
func gist(entries []entry) string {
	c := claimsOf(entries)
	asked, stated, shown := best(c.asked), best(c.stated), best(c.shown)
	for _, what := range []claim{stated, shown} {
		if !asked.tells() && what.tells() {
			return c.compose(what.line(), "", 0)
		}
	}
	if asked.tells() {
		outcome, least := c.outcome(asked)
		return c.compose(asked.line(), outcome, least)
	}
	for _, what := range []claim{best(c.open), asked, stated, shown} {
		if what.text != "" {
			return c.compose(what.line(), "", 0)
		}
	}
	return "nothing in words"
}

// outcome is what came of what was asked, and how many runes of that may not give
// way to it: a decision is worth more than a finding.
func (c claims) outcome(asked claim) (text string, least int) {
	later := func(list []claim, fits func(claim) bool) claim {
		return best(slices.DeleteFunc(slices.Clone(list), func(o claim) bool {
			return o.at < asked.at || !o.tells() || !fits(o) || repeats(o.text, asked.text)
		}))
	}
	if o := later(c.stated, func(o claim) bool { return decisionRE.MatchString(o.text) }); o.text != "" {
		return o.text, leastWhat
	}
	if o := later(c.stated, func(claim) bool { return true }); o.text != "" {
		return o.text, maxGist
	}
	return later(c.shown, func(o claim) bool { return prose(o.text) }).text, maxGist
}

// compose joins the parts of a gist, of which the first keeps least runes.
func (c claims) compose(what, outcome string, least int) string {
	room, id := maxGist, ""
	if !names(what + " " + outcome) {
		id = distinctive(c.ids)
	}
	if id != "" {
		id = " (" + id + ")"
		room -= utf8.RuneCountInString(id)
	}
	if outcome = strings.TrimRight(outcome, ".:"); outcome != "" {
		what = strings.TrimRight(what, ".:")
		what = shorten(what, max(min(least, room), room-utf8.RuneCountInString(outcome)-len(" - ")))
		if left := room - utf8.RuneCountInString(what) - len(" - "); left >= leastOutcome {
			return what + " — " + shorten(outcome, left) + id
		}
	}
	return shorten(strings.TrimRight(what, ":"), room) + id
}

// shorten clips a text to n runes, between two words where there are any.
func shorten(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	text = strings.TrimSuffix(clip(text, n), "…")
	if i := strings.LastIndexByte(text, ' '); i > len(text)*2/3 {
		text = text[:i]
	}
	return strings.TrimRight(text, " ,;:—-◰") + "…" // no half of an escape either
}

func best(list []claim) claim {
	var out claim
	for _, c := range list {
		if out.text == "" || c.score > out.score {
			out = c
		}
	}
	return out
}

// favour raises the sentences that have words which come up again: in a long talk
// these are what it was about.
func favour(list []claim) {
	count := map[string]int{}
	for _, c := range list {
		for _, k := range keywords(c.text) {
			count[k]++
		}
	}
	for i, c := range list {
		n := 0
		for _, k := range keywords(c.text) {
			if count[k] >= often {
				n++
			}
		}
		list[i].score += 2 * min(n, 4)
	}
}

const often = 3 // sentences with a word that comes up again

// enough is the score of a sentence that says something: some words of its own, or
// an identifier.
const enough = 6

func (c claim) tells() bool { return c.score >= enough }

func (c claim) line() string { return c.who + c.text }

// repeats says whether most of a text's words are in another one.
func repeats(text, other string) bool {
	has := keywords(other)
	keys := keywords(text)
	n := 0
	for _, k := range keys {
		if slices.Contains(has, k) {
			n++
		}
	}
	return 3*n >= 2*len(keys)
}

// claimsOf reads the entries of a chunk. The daemon's own word is left out: a
// note or a hint is about something else.
func claimsOf(entries []entry) claims {
	var c claims
	talk := !slices.ContainsFunc(entries, func(e entry) bool { return !e.inbound && !e.aside })
	for i, e := range entries {
		if e.aside {
			continue
		}
		r := reader{entry: e, own: "\n" + e.own + "\n", open: i == len(entries)-1 && !talk}
		for line := range strings.SplitSeq(e.text, "\n") {
			r.line(line, &c)
		}
	}
	favour(c.asked)
	return c
}

// A reader goes through the lines of one entry.
type reader struct {
	entry  entry
	own    string
	who    string
	place  int  // of the sentence in its message, or in a result
	quoted bool // inside a block that quotes something
	open   bool // the chunk ends with this entry
}

var (
	lineRE = regexp.MustCompile(`^([^\s:]{1,40}: )(.*)$`) // of a room
	// What a tool says about what it gives, and the mark of a cut, escaped or not.
	frameRE = regexp.MustCompile(`^(?:◰[34]|[◳◆])|characters are not shown here|^\[[^\]]*\]$|^original of hash=|^matches: \d+, the best first|^\$ `)
	// How report begins. What a call gave is worth more than that it did.
	gaveRE = regexp.MustCompile("^[A-Z][A-Z_]+(?: `[^`]*`)? (?:gave no output\\.|gave:|was (?:interrupted|not started)\\b.*) ?")
	// Refs and tags inside a line, escaped or not.
	structureRE = regexp.MustCompile(`(?:◱|◰1)hash=[0-9a-f]+ gist=.*?(?:◲|◰2)|^\[(?:USER|AGENT):[^\]]*\] ?`)
	// What people say to be kind, or by the way.
	kindRE = regexp.MustCompile(`(?i)^(?:thanks|thank you|thx|good|great|nice|perfect|cool|looks good|have a|ok(?:ay)?|sure|fine|wow|yeah|haha|aww?)\b|^\(.*\)$`)
	// What this model says when it has nothing to say.
	chatterRE = regexp.MustCompile(`^I heard “|^I heard you|^“.*” is on record|rehearsal model|plain phrases|^Say help|^I have no opinion|^I am not sure, but|^I do not know\b|^(?:Noted|Understood)\b`)
)

func (r *reader) line(line string, c *claims) {
	said := strings.Contains(r.own, "\n"+line+"\n")
	switch m := lineRE.FindStringSubmatch(line); {
	case !said:
		if rest, ok := strings.CutPrefix(line, "result: "); ok {
			r.place, line = 0, rest
		}
	case r.entry.inbound && m != nil:
		r.who, r.place, r.quoted, line = m[1], 0, false, m[2]
	case !r.entry.inbound:
		line = strings.TrimPrefix(line, "I: ")
	}
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "```") {
		r.place, r.quoted = 0, !r.quoted
		return
	}
	if !said && strings.HasPrefix(line, "called ") {
		c.ids = append(c.ids, identRE.FindAllString(line, -1)...)
		return
	}
	if frameRE.MatchString(line) {
		return
	}
	line = structureRE.ReplaceAllString(line, "")
	bare := gaveRE.ReplaceAllString(line, "")
	said = said && !(r.quoted && !r.entry.inbound) && bare == line
	for _, s := range sentences(plainRefs(bare)) {
		r.sentence(oneLine(s), said, c)
	}
}

func (r *reader) sentence(s string, said bool, c *claims) {
	if !speaks(s) {
		return
	}
	c.n++
	c.ids = append(c.ids, identRE.FindAllString(s, -1)...)
	n := worth(s) - min(r.place, 6)
	first := r.place == 0
	r.place++
	switch {
	case said && r.entry.inbound:
		if r.quoted {
			n -= 4
		}
		into := &c.asked
		if r.open {
			into = &c.open
		}
		*into = append(*into, claim{r.who, s, c.n, n})
	case said && prose(s):
		if chatterRE.MatchString(s) {
			n = 0
		}
		c.stated = append(c.stated, claim{"I: ", s, c.n, n})
	default:
		if first { // a heading
			n += 6
		}
		c.shown = append(c.shown, claim{"", s, c.n, n})
	}
}

// speaks says whether a line has a word in it that means something.
func speaks(s string) bool {
	letters, all := 0, 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
		}
		if !unicode.IsSpace(r) {
			all++
		}
	}
	return letters > 1 && 4*letters >= all && len(keywords(s)) > 0
}

// prose says whether at least half of a line is words, as in no line of code.
func prose(s string) bool {
	if codeRE.MatchString(s) {
		return false
	}
	plain, fields := 0, strings.Fields(s)
	for _, f := range fields {
		f = strings.TrimFunc(f, unicode.IsPunct)
		if f != "" && strings.IndexFunc(f, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’-", r)
		}) < 0 {
			plain++
		}
	}
	return 2*plain >= len(fields)
}

var codeRE = regexp.MustCompile(`^(?://|/\*)|[{};]$|:=|==|\(\)|\w\((?:\w+ |["'])|^(?:func|if|for|return|type|var|import|package|def|class) .*[()]`)

// worth is how much a sentence tells of what it was about.
func worth(s string) int {
	keys, ids := len(keywords(s)), len(identRE.FindAllString(s, 2))
	n := 2*min(6, keys) + 3*ids
	if keys+ids > 2 && decisionRE.MatchString(s) {
		n += 5
	}
	if promiseRE.MatchString(s) {
		n += 3
	}
	if prose(s) {
		n += 2
	}
	if strings.HasPrefix(s, "…") || kindRE.MatchString(s) { // the rest of something, or nothing
		n -= 6
	}
	return n
}

// names says whether a text holds an identifier that is worth looking for.
func names(text string) bool {
	return namedRE.MatchString(text) || slices.ContainsFunc(identRE.FindAllString(text, -1), func(id string) bool { return special(id) > 1 })
}

// distinctive picks the identifier that tells most, "" when none does.
func distinctive(ids []string) string {
	out := ""
	for _, id := range ids {
		if n := special(id); n > 1 && utf8.RuneCountInString(id) <= maxGistID && (out == "" || n > special(out)) {
			out = id
		}
	}
	return out
}

var (
	// Tools are called in every chunk, and much takes 0.03s.
	plainRE = regexp.MustCompile(`^[A-Z]+(?:_[A-Z]+)*$|^[\d.,:-]+\pL{0,2}$`)
	innerRE = regexp.MustCompile(`\pL\pN|\pN\pL|\p{Ll}\p{Lu}`)
	namedRE = regexp.MustCompile(`#\d|\b\p{Ll}+\p{Lu}\p{Ll}`) // which identRE does not have
)

// special is how unlike a word an identifier is.
func special(id string) int {
	if plainRE.MatchString(id) {
		return 0
	}
	n := 0
	if strings.ContainsAny(id, "/_@.") {
		n += 2
	}
	if strings.ContainsFunc(id, unicode.IsDigit) {
		n += 2
	}
	if innerRE.MatchString(id) {
		n++
	}
	return n
}
