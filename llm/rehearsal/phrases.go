package rehearsal

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"lethe/internal/lazy"
)

// introduction is what the model says about itself.
const introduction = `I am the offline rehearsal model: a small program, not intelligent, that follows plain phrases. Try:
- remember that the deploy key is in vault 7, and later: what did I say about the deploy key?
- what is 12*7? count to 50
- run COMMAND (in the background), read FILE, write TEXT to FILE, list
- every day at nine say good morning, every 10 minutes …, at 2026-11-23 09:00 …
- let somebody else run COMMAND
- ask me before you run COMMAND
- say TEXT in ROOM, join ROOM, leave ROOM, uncompact REF, compact

Orders can be joined: run date and then read notes.txt.`

// A phrase is a form of words: the order for a tool, whose arguments are the
// groups of the form, or something to say.
type phrase struct {
	form string
	tool string
	args []string
	with map[string]string // further arguments
	say  func(t *turn, text string) (answer string, ok bool)
	re   *regexp.Regexp
}

// phrases are tried in this order.
var phrases = sync.OnceValue(func() []phrase {
	list := []phrase{
		{form: `run (.+) in the background`, tool: "BASH", args: []string{"command"}, with: map[string]string{"background": "1"}},
		{form: `run (.+)`, tool: "BASH", args: []string{"command"}},
		{form: `read (\S+)`, tool: "READ_FILE", args: []string{"path"}},
		{form: `write (.+) to (\S+)`, tool: "WRITE_FILE", args: []string{"content", "path"}},
		{form: `list`, tool: "LIST"},
		{form: `say (.+) in (\S+)`, tool: "SAY", args: []string{"message", "room"}},
		{form: `join (\S+)`, tool: "JOIN", args: []string{"room"}},
		{form: `leave (\S+)`, tool: "LEAVE", args: []string{"room"}},
		{form: `uncompact (?:.*hash=)?([0-9a-f]{8,64})\b.*`, tool: "UNCOMPACT", args: []string{"hash"}},
		{form: `compact`, tool: "COMPACT"},
		{form: `(` + scheduleForm + `)`, say: (*turn).schedule},
		{form: `ask me before you (.+)`, tool: "WAIT", args: []string{"question"}},
		{form: `declined (.+)`, say: always(func(x string) string { return "Then I leave it: " + x })},
		{form: `approval (.+)`, say: (*turn).approved},
		{form: `let (?:somebody|someone|another agent)(?: else)? (.+)`, tool: "SPAWN", args: []string{"brief"}},
		{form: `remember(?: that)?[:,]? (.+)`, say: always(func(x string) string { return "I will remember: " + x })},
		{form: `.*what is (\d{1,9} ?[-+*] ?\d{1,9})\W*`, say: always(sum)},
		{form: `count to (\d{1,4})`, say: always(count)},
		{form: `(?:hello|hi|hey)\b.{0,60}`, say: (*turn).greet},
		{form: `(?:help|(?:who|what) are you|what can you)\b.{0,60}`, say: always(func(string) string { return introduction })},
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
}

var (
	polite = lazy.Regexp(`(?i)^(?:@[\w-]+[,:]? |please )+`)
	// What stands before a then comes first; orders joined by and are given together.
	then = lazy.Regexp(`(?i),? (?:and )?then `)
	verb = lazy.Regexp(`(?i)^(?:run|read|list|join|leave)\b`)
	// Text that is kept, quoted or of several lines is one order.
	whole = lazy.Regexp("(?i)^(?:remember|every|at|let|ask|declined) |[\"'`]|\n")
)

// parse reads a line as the things it asks for: groups in sequence, at least one,
// each of orders that need no sequence.
func parse(text string) (groups [][]order) {
	text = polite().ReplaceAllString(strings.TrimSpace(text), "")
	if whole().MatchString(text) {
		return [][]order{{orderOf(text)}}
	}
	for _, part := range then().Split(text, -1) {
		var group []string
		for _, s := range strings.Split(part, " and ") {
			if n := len(group); n > 0 && !verb().MatchString(s) {
				group[n-1] += " and " + s
				continue
			}
			group = append(group, s)
		}
		var orders []order
		for _, s := range group {
			orders = append(orders, orderOf(s))
		}
		groups = append(groups, orders)
	}
	return groups
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
			return order{say: func(t *turn) (string, bool) { return p.say(t, m[min(1, len(m)-1)]) }}
		}
		args := map[string]string{}
		maps.Copy(args, p.with)
		for i, name := range p.args {
			args[name] = strings.Trim(m[i+1], "`")
		}
		if p.tool == "LIST" {
			args["path"] = "."
		}
		if p.tool == "WAIT" {
			args["question"], args["options"] = shallI+args["question"]+"?", "yes|no"
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

func call(tool string, args map[string]string) Call {
	b, err := json.Marshal(args)
	if err != nil { // strings only: cannot happen
		panic(err)
	}
	return Call{Name: tool, Arguments: string(b)}
}

func sum(text string) string {
	at := strings.IndexAny(text, "+-*")
	a, _ := strconv.Atoi(strings.TrimSpace(text[:at])) // digits, by the form
	b, _ := strconv.Atoi(strings.TrimSpace(text[at+1:]))
	switch text[at] {
	case '+':
		a += b
	case '-':
		a -= b
	default:
		a *= b
	}
	return fmt.Sprintf("%s = %d", text, a)
}

func count(to string) string {
	n, _ := strconv.Atoi(to) // digits, by the form
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d ", i+1)
	}
	return strings.TrimSpace(b.String())
}

func (t *turn) greet(string) (string, bool) {
	return "Hello, " + t.heard[t.now].who + "! " + introduction, true
}
