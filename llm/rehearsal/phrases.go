package rehearsal

import (
	"regexp"
	"strings"
)

// A verb is what a phrase asks for.
type verb uint8

const (
	chatVerb verb = iota
	runVerb
	readVerb
	writeVerb
	replaceVerb
	listVerb
	sayVerb
	joinVerb
	leaveVerb
	uncompactVerb
	compactVerb
	recallVerb
	rememberVerb
	noteVerb
	countVerb
	thinkVerb
	mathVerb
	echoVerb
	helpVerb
	greetVerb
	thanksVerb
)

// An intent is one thing that a line asks for. What a, b and c are depends on
// the verb: see the phrases.
type intent struct {
	verb    verb
	a, b, c string
	then    bool // only after what came before it in the line
}

// A phrase is a form of words. Its groups, in the order of use, become a, b, c.
type phrase struct {
	verb verb
	form *regexp.Regexp
	use  []int
}

const (
	quoted = "(\"[^\"]*\"|`[^`]*`|'[^']*'|“[^”]*”)"
	pathRE = "(\"[^\"]+\"|`[^`]+`|'[^']+'|[^\\s\"'`]+)"
	fileRE = "(\"[^\"]+\"|`[^`]+`|'[^']+'|[^\\s\"'`]*[./][^\\s\"'`]*)" // a token that looks like a file
	roomRE = `#?([a-z0-9][a-z0-9_-]{0,63})`
)

func form(v verb, re string, use ...int) phrase {
	if use == nil {
		use = []int{1, 2, 3}
	}
	return phrase{v, regexp.MustCompile(`(?is)^(?:` + re + `)$`), use}
}

// phrases are tried in this order; the first that fits is meant.
var phrases = []phrase{
	form(noteVerb, `(?:note|write down|jot down|make a note)(?: of)?(?: that)?[:,]?\s+(.+?)(?:\s+(?:in|to|into)\s+(?:your|the)\s+(?:memory|notes|notebook))?`),
	form(noteVerb, `(?:write|add|put|save)\s+(.+?)\s+(?:in|to|into)\s+(?:your|the)\s+(?:memory|notes|notebook)`),
	form(recallVerb, `(?:do|can|did)\s+you\s+(?:still\s+)?(?:remember|recall|know)\s+(.+)`),
	form(recallVerb, `remember\s+(when\s.+\?)`),
	form(rememberVerb, `(?:remember|keep in mind|don'?t forget|do not forget)(?:\s+(?:that|this))?[:,]?\s+(.+)`),
	form(helpVerb, `/?help(?:\s+me)?|commands|what can (?:you|i) do.*|what do you (?:do|understand)|how (?:do|does) (?:you|this) work`),
	form(helpVerb, `(?:who|what)(?:'s| is| are|'re) (?:you|this|your name)(?:[ ,].*)?|(?:what|which) model (?:are you|is this)|are you (?:real|intelligent|an? .+|there)`),
	form(readVerb, `(?:read|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?`+pathRE+`(?:\s+again)?`),
	form(readVerb, `(?:show|show me|open|print|display)\s+(?:the\s+)?(?:file\s+)?`+fileRE),
	form(writeVerb, `(?:create|make|write)\s+(?:an?\s+|the\s+)?(?:new\s+)?file\s+(?:called\s+|named\s+)?`+pathRE+`\s+(?:with|containing|that says|saying)\s+(?:the\s+(?:text|content|contents|line)\s+)?(.+)`),
	form(writeVerb, `write\s+`+pathRE+`:\s+(.+)`),
	form(writeVerb, `(?:write|put|save)\s+(.+)\s+(?:to|into|in)\s+(?:the\s+)?(?:file\s+)?`+pathRE, 2, 1),
	form(replaceVerb, `(?:replace|change)\s+`+quoted+`\s+(?:with|by|to|into)\s+`+quoted+`\s+in\s+(?:the\s+)?(?:file\s+)?`+pathRE),
	form(replaceVerb, `(?:replace|change)\s+(.+?)\s+(?:with|by)\s+(.+)\s+in\s+(?:the\s+)?(?:file\s+)?`+pathRE),
	form(runVerb, `(?:run|execute|exec|bash)(?:\s+the\s+command)?:?\s+(.+)`),
	form(runVerb, `\$\s+(.+)`),
	form(listVerb, `(?:list|ls|dir)(?:\s+(?:all\s+)?(?:the\s+|my\s+)?(?:files|directory|folder|contents|workspace))?(?:\s+(?:in|of|under))?(?:\s+`+pathRE+`)?`),
	form(sayVerb, `(?:say|post|announce)\s+(.+)\s+(?:in|to|into)\s+(?:the\s+)?(?:room\s+)?`+roomRE+`(?:\s+room)?`, 2, 1),
	form(sayVerb, `tell\s+(?:the\s+)?(?:room\s+)?`+roomRE+`(?:\s+room)?[:,]?\s+(?:that\s+)?(.+)`),
	form(joinVerb, `(?:join|enter)\s+(?:the\s+)?(?:room\s+)?`+roomRE+`(?:\s+room)?`),
	form(leaveVerb, `(?:leave|quit)\s+(?:the\s+)?(?:room\s+)?`+roomRE+`(?:\s+room)?`),
	form(uncompactVerb, `(?:uncompact|rehydrate|unfold|open)\s+(?:the\s+)?(?:ref\s+)?(?:.*hash=)?([0-9a-f]{8,64})\b.*`),
	form(compactVerb, `compact(?:\s+(?:now|yourself|your context|the context))?|forget (?:a little|something|some details)`),
	form(countVerb, `count\s+(?:from\s+(?:1|one)\s+)?(?:up\s+)?to\s+(\d[\d,_]*)`),
	form(thinkVerb, `(?:think|reflect|reason|ponder)\s+(?:hard\s+|long\s+|carefully\s+)*(?:about|on|over)\s+(.+)`),
	form(echoVerb, `(?:repeat|echo|say)(?:\s+after\s+me)?[:,]?\s+(.+)`),
	form(greetVerb, `(?:hi|hello|hey|howdy|greetings|hallo|moin|good (?:morning|afternoon|evening|day))\b.{0,30}`),
	form(thanksVerb, `(?:thanks|thank you|thx|cheers)\b.{0,40}`),
	form(recallVerb, `(?:recall|look up|search (?:your memory )?for|tell me (?:about|what|who|where|when))\s+(.+)`),
	form(recallVerb, `(?:what|which|who|whose|whom|when|where|why|how)\b(.+)`),
	form(recallVerb, `(.*\w+.*)\?`),
}

// notRooms are words after "tell" or "leave" that are no rooms.
var notRooms = map[string]bool{"me": true, "us": true, "him": true, "her": true, "them": true, "everyone": true, "a": true, "the": true, "it": true, "now": true}

var (
	address    = regexp.MustCompile(`(?i)^(?:(?:hey|hi|hello|ok|okay)[ ,]+)?@[\w-]+[,:]?\s+`)
	vocative   = regexp.MustCompile(`^[\pL\w-]{1,32}[,:]\s+`)
	politeness = regexp.MustCompile(`(?i)^(?:(?:please|pls|kindly|can you|could you|would you|will you|now|then|and|also|ok|okay|so|well)[ ,]+)+`)
	courtesy   = regexp.MustCompile(`(?i)[ ,]+(?:please|pls|for me|thanks|thank you)$`)
)

// parse reads a line as the things it asks for, in order; at least one.
func parse(text string) []intent {
	text = strings.TrimSpace(address.ReplaceAllString(strings.TrimSpace(text), ""))
	if intents := parseAll(text); intents[0].verb != chatVerb && intents[0].verb != recallVerb {
		return intents
	}
	// "lethe, run …": the name is only dropped when what follows is a phrase.
	if rest := vocative.ReplaceAllString(text, ""); rest != text {
		if intents := parseAll(rest); intents[0].verb != chatVerb {
			return intents
		}
	}
	return parseAll(text)
}

func parseAll(text string) []intent {
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		if intents, ok := parseLines(lines); ok {
			return intents
		}
		return []intent{clause(text)}
	}
	var out []intent
	for _, p := range split(text) {
		in := clause(p.text)
		in.then = p.then
		out = append(out, in)
	}
	return out
}

// parseLines reads a message of several lines as one list of orders, when each
// line is one.
func parseLines(lines []string) ([]intent, bool) {
	var out []intent
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		in := clause(l)
		if in.tool() == "" {
			return nil, false
		}
		in.then = true
		out = append(out, in)
	}
	return out, len(out) > 0
}

// clause reads text as a single intent.
func clause(text string) intent {
	whole := strings.TrimSpace(text)
	t := strings.TrimSpace(politeness.ReplaceAllString(whole, ""))
	t = courtesy.ReplaceAllString(t, "")
	bare := strings.TrimRight(t, ".!? ")
	if in, ok := arithmetic(bare); ok {
		return in
	}
	for _, p := range phrases {
		m := p.form.FindStringSubmatch(t)
		if m == nil {
			m = p.form.FindStringSubmatch(bare)
		}
		if m == nil {
			continue
		}
		in := intent{verb: p.verb}
		for i, into := range []*string{&in.a, &in.b, &in.c} {
			if i < len(p.use) && p.use[i] < len(m) {
				*into = unquote(m[p.use[i]])
			}
		}
		if in.sensible(whole) {
			return in.tidy(whole)
		}
	}
	return intent{verb: chatVerb, a: whole}
}

// sensible rejects matches that only look like the phrase.
func (in intent) sensible(whole string) bool {
	switch in.verb {
	case sayVerb, joinVerb, leaveVerb:
		return !notRooms[strings.ToLower(trimStop(in.a))]
	case recallVerb:
		return len(keywords(in.a)) > 0
	case listVerb:
		return !strings.HasSuffix(whole, "?")
	case noteVerb, rememberVerb:
		return in.a != ""
	}
	return true
}

// tidy strips the punctuation that ends a sentence from names, and gives a
// question as a whole to recall.
func (in intent) tidy(whole string) intent {
	switch in.verb {
	case readVerb, listVerb, joinVerb, leaveVerb:
		in.a = trimStop(in.a)
	case writeVerb:
		in.a = trimStop(in.a)
	case replaceVerb:
		in.c = trimStop(in.c)
	case sayVerb:
		in.a = strings.ToLower(in.a)
	case recallVerb:
		in.a = strings.TrimRight(whole, "?!. ")
	}
	return in
}

func trimStop(s string) string { return strings.TrimRight(s, ".,;!?") }

var pairs = map[rune]rune{'"': '"', '`': '`', '\'': '\'', '“': '”'}

// unquote removes one pair of quotes (or a code fence) around all of s.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "```"); ok {
		if inner, ok = strings.CutSuffix(inner, "```"); ok {
			if lang, rest, multi := strings.Cut(inner, "\n"); multi && !strings.ContainsAny(lang, " \t") {
				inner = rest
			}
			return strings.TrimSpace(inner)
		}
	}
	r := []rune(s)
	if n := len(r); n >= 3 && pairs[r[0]] != 0 && pairs[r[0]] == r[n-2] && strings.ContainsRune(".,;!?", r[n-1]) {
		r = r[:n-1] // the sentence ends behind the quotation
	}
	if n := len(r); n >= 2 && pairs[r[0]] == r[n-1] && pairs[r[0]] != 0 && !strings.ContainsRune(string(r[1:n-1]), r[n-1]) {
		return string(r[1 : n-1])
	}
	return s
}
