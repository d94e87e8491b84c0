package rehearsal

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// introduction is what the model says about itself.
const introduction = `I am the offline rehearsal model: a small program, not intelligent, that follows plain phrases. Try:
- remember that the deploy key is in vault 7, and later: what did I say about the deploy key?
- what is 12*7? count to 50, think about rivers
- run COMMAND, read FILE, write TEXT to FILE, list
- say TEXT in ROOM, join ROOM, leave ROOM, uncompact REF, compact
Orders can be joined: run date and then read notes.txt.`

// A phrase is a form of words: the order for a tool, whose arguments are the
// groups of the form, or something to say.
type phrase struct {
	form string
	tool string
	args []string
	say  func(t *turn, text string) (answer string, ok bool)
	re   *regexp.Regexp
}

// phrases are tried in this order.
var phrases = sync.OnceValue(func() []phrase {
	list := []phrase{
		{form: `(?:run|\$) (.+)`, tool: "BASH", args: []string{"command"}},
		{form: `(?:read|cat) (\S+)`, tool: "READ_FILE", args: []string{"path"}},
		{form: `write (.+) to (\S+)`, tool: "WRITE_FILE", args: []string{"content", "path"}},
		{form: `list(?: (\S+))?`, tool: "LIST", args: []string{"path"}},
		{form: `say (.+) in (\S+)`, tool: "SAY", args: []string{"message", "room"}},
		{form: `join (\S+)`, tool: "JOIN", args: []string{"room"}},
		{form: `leave (\S+)`, tool: "LEAVE", args: []string{"room"}},
		{form: `uncompact (?:.*hash=)?([0-9a-f]{8,64})\b.*`, tool: "UNCOMPACT", args: []string{"ref"}},
		{form: `compact`, tool: "COMPACT"},
		{form: `remember(?: that)?[:,]? (.+)`, say: always(func(x string) string { return "I will remember: " + x })},
		{form: `(.*what is -?\d+ ?[-+*/] ?\d+)\W*`, say: always(sum)},
		{form: `count to (\d+)`, say: always(count)},
		{form: `think about (.+)`, say: (*turn).ponder},
		{form: `(?:hello|hi|hey|good morning)\b.{0,60}`, say: (*turn).greet},
		{form: `(?:help|(?:who|what) are you|are you|what can you)\b.{0,60}`, say: always(func(string) string { return introduction })},
		{form: `((?:what|which|who|where|when|why|how|do you|did)\b.*|.*\w.*\?)`, say: (*turn).recall},
	}
	for i := range list {
		list[i].re = regexp.MustCompile(`(?is)^(?:` + list[i].form + `)$`)
	}
	return list
})

func always(f func(string) string) func(*turn, string) (string, bool) {
	return func(_ *turn, text string) (string, bool) { return f(text), true }
}

// An order is one thing that a line asks for: a call, or something to say.
type order struct {
	call *Call
	say  func(*turn) (string, bool)
	then bool // only after what came before it in the line
}

var (
	polite = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:@[\w-]+[,:]? |please |can you |could you )+`)
	})
	// A joint is where the next order of a line begins.
	joint = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(,? and then |, then )|(?: and |, )(?:run|read|list|join|leave) `)
	})
	// Free text goes on to the end of its line, or to the next "and then".
	freeText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:write|say) `) })
	wholeRE  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?i)^(?:remember|think) |[\"'`]|\n") })
)

// parse reads a line as the things it asks for, in order; at least one.
func parse(text string) []order {
	text = polite().ReplaceAllString(strings.TrimSpace(text), "")
	if wholeRE().MatchString(text) {
		return []order{orderOf(text)}
	}
	var out []order
	start, then := 0, false
	for _, m := range joint().FindAllStringSubmatchIndex(text, -1) {
		sequence := m[2] >= 0
		if m[0] < start || !sequence && freeText().MatchString(text[start:]) {
			continue
		}
		o := orderOf(text[start:m[0]])
		o.then, then = then, sequence
		out = append(out, o)
		if start = m[1]; !sequence {
			start = m[0] + strings.LastIndexByte(strings.TrimRight(text[m[0]:m[1]], " "), ' ') + 1
		}
	}
	last := orderOf(text[start:])
	last.then = then
	return append(out, last)
}

// orderOf reads text as a single order.
func orderOf(text string) order {
	text = strings.TrimSpace(text)
	for _, p := range phrases() {
		m := p.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if p.tool == "" {
			return order{say: func(t *turn) (string, bool) { return p.say(t, m[len(m)-1]) }}
		}
		args := map[string]string{}
		for i, name := range p.args {
			args[name] = strings.Trim(m[i+1], "`")
		}
		if p.tool == "LIST" && args["path"] == "" {
			args["path"] = "."
		}
		c := call(p.tool, args)
		return order{call: &c}
	}
	return order{say: func(*turn) (string, bool) { return unknown(text), true }}
}

// unknown answers what is none of the phrases.
func unknown(text string) string {
	text, _, _ = strings.Cut(text, "◰") // what is escaped stays unsaid
	return fmt.Sprintf("I heard “%s”, but I am only a small program that follows plain phrases. Say help to see them.", clip(oneLine(plainRefs(text)), 60))
}

func call(tool string, args any) Call {
	b, err := json.Marshal(args)
	if err != nil { // strings and numbers only: cannot happen
		panic(err)
	}
	return Call{Name: tool, Arguments: string(b)}
}

var sumRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(-?\d+) ?([-+*/]) ?(\d+)$`) })

func sum(text string) string {
	m := sumRE().FindStringSubmatch(text)
	a, err1 := strconv.ParseInt(m[1], 10, 32)
	b, err2 := strconv.ParseInt(m[3], 10, 32)
	if err1 != nil || err2 != nil || m[2] == "/" && b == 0 {
		return m[0] + " is more than I can work out."
	}
	switch m[2] {
	case "+":
		a += b
	case "-":
		a -= b
	case "*":
		a *= b
	default:
		return fmt.Sprintf("%s = %g", m[0], float64(a)/float64(b))
	}
	return fmt.Sprintf("%s = %d", m[0], a)
}

func count(to string) string {
	n, err := strconv.Atoi(to)
	if err != nil || n > 10_000 {
		return "I only count to 10000."
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i+1)
	}
	return strings.TrimSpace(b.String())
}

func (t *turn) greet(string) (string, bool) {
	return "Hello, " + t.items[t.now].who + "! " + introduction, true
}

// ponder is a long chain of thought, to watch one stream.
func (t *turn) ponder(about string) (string, bool) {
	for _, s := range []string{
		"First I ask myself what %s could mean.", "Then I look at it from the other side: what if there were no %s?",
		"An example of %s would help, and I have none.", "What would change my mind about %s? A fact that I cannot see from here.",
		"It would be easy to make something up about %s. I will not.",
	} {
		t.why += fmt.Sprintf(s+" ", about)
	}
	return fmt.Sprintf("I thought about %s. I am a small program, so that is all I can say.", about), true
}
