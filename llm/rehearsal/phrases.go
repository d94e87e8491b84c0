package rehearsal

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lethe/internal/lazy"
)

const help = `I am the offline rehearsal model: a small program, not intelligent, that follows plain phrases. Try:
- remember that the deploy key is in vault 7, and later: what did I say about the deploy key?
- what is 12*7? count to 50
- run COMMAND (in the background), read FILE, write TEXT to FILE, list
- every day at nine say good morning, every 10 minutes …
- let somebody else run COMMAND
- ask me before you run COMMAND
- say TEXT in ROOM, join ROOM, leave ROOM, uncompact REF, compact

Orders can follow each other: run date and then read notes.txt.`

// A phrase is a form of words, and what is done and said then; m are the groups of the form.
type phrase struct {
	form   string
	follow func(t *turn, m []string) string
}

// phrases are tried in this order.
var phrases = []phrase{
	{`run (.+) in the background`, func(t *turn, m []string) string {
		return t.call("BASH", map[string]string{"command": m[1], "background": "1"})
	}},
	{`run (.+)`, tool("BASH", "command")},
	{`read (\S+)`, tool("READ_FILE", "path")},
	{`write (.+) to (\S+)`, tool("WRITE_FILE", "content", "path")},
	{`list()`, func(t *turn, _ []string) string { return t.call("LIST", map[string]string{"path": "."}) }},
	{`say (.+) in (\S+)`, tool("SAY", "message", "room")},
	{`join (\S+)`, tool("JOIN", "room")},
	{`leave (\S+)`, tool("LEAVE", "room")},
	{`uncompact (?:.*hash=)?([0-9a-f]{8,64})\b.*`, tool("UNCOMPACT", "hash")},
	{`compact`, tool("COMPACT")},
	{`every day at ([a-z]+|\d+)(?::(\d\d))?,? (.+)`, (*turn).daily},
	{`every (\d{0,4}) ?(s|m|h)(?:econd|inute|our)s?,? (.+)`, func(t *turn, m []string) string {
		return t.schedule(fmt.Sprintf(`every = "%s%s"`, m[1], m[2]), m[3])
	}},
	{`ask me before you (.+)`, func(t *turn, m []string) string {
		return t.call("WAIT", map[string]string{"question": shallI + m[1] + "?", "options": "yes|no"})
	}},
	{`declined (.+)`, says("Then I leave it: %s")},
	{`approval (.+)`, (*turn).approved},
	{`let (?:somebody|someone|another agent)(?: else)? (.+)`, func(t *turn, m []string) string {
		return strings.Replace(t.call("SPAWN", map[string]string{"brief": m[1]}), "SPAWN gave", "Somebody else does it", 1)
	}},
	{`remember(?: that)?[:,]? (.+)`, says("I will remember: %s")},
	{`.*what is ((\d{1,9}) ?([-+*]) ?(\d{1,9}))\W*`, sum},
	{`count to (\d{1,4})`, count},
	{`(?:hello|hi)\b.{0,60}`, func(t *turn, _ []string) string {
		return "Hello, " + t.heard[t.now].who + ". Say help to see the phrases that I follow."
	}},
	{`help`, func(*turn, []string) string { return help }},
	{`(?:what|which|who|where|when|why|how|do you|did)\b.*|.*\w.*\?`, (*turn).recall},
}

// tool calls a tool with the groups of a form.
func tool(name string, args ...string) func(*turn, []string) string {
	return func(t *turn, m []string) string {
		named := map[string]string{}
		for i, arg := range args {
			named[arg] = strings.Trim(m[i+1], "`")
		}
		return t.call(name, named)
	}
}

// says puts what was said into an answer.
func says(form string) func(*turn, []string) string {
	return func(_ *turn, m []string) string {
		return fmt.Sprintf(form, m[1])
	}
}

var forms = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, p := range phrases {
		all = append(all, regexp.MustCompile(`(?is)^(?:`+p.form+`)$`))
	}
	return all
})

var (
	then = lazy.Regexp(`(?i),? (?:and )?then `)
	// Text that is kept, quoted or of several lines is one order.
	whole = lazy.Regexp("(?i)^(?:remember|every|at|let|ask|declined) |[\"'`]|\n")
)

// follow follows the orders of a text, one after the other.
func (t *turn) follow(text string) string {
	orders := []string{text}
	if !whole().MatchString(text) {
		orders = then().Split(text, -1)
	}
	for i, order := range orders {
		orders[i] = t.order(strings.TrimSpace(order))
	}
	return strings.Join(orders, "\n\n")
}

func (t *turn) order(text string) string {
	for i, form := range forms() {
		if m := form.FindStringSubmatch(text); m != nil {
			return phrases[i].follow(t, m)
		}
	}
	return unknown(text)
}

// unknown answers what is none of the phrases.
func unknown(text string) string {
	text, _, _ = strings.Cut(text, "◰") // what is escaped stays unsaid
	return "I heard “" + clip(plainRefs(text), 60) + "”, " +
		"but I am only a small program that follows plain phrases. Say help to see them."
}

func sum(_ *turn, m []string) string {
	a, _ := strconv.Atoi(m[2]) // digits, by the form
	b, _ := strconv.Atoi(m[4])
	switch m[3] {
	case "+":
		a += b
	case "-":
		a -= b
	default:
		a *= b
	}
	return fmt.Sprintf("%s = %d", m[1], a)
}

func count(_ *turn, m []string) string {
	n, _ := strconv.Atoi(m[1]) // digits, by the form
	numbers := make([]string, n)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(numbers, " ")
}

var hours = strings.Fields("midnight one two three four five six seven eight nine ten eleven noon")

// daily makes a trigger of "every day at nine say good morning".
func (t *turn) daily(m []string) string {
	hour := slices.Index(hours, strings.ToLower(m[1]))
	if n, err := strconv.Atoi(m[1]); err == nil {
		hour = n
	}
	minute, _ := strconv.Atoi(m[2]) // digits, or none
	if hour < 0 || hour > 23 || minute > 59 {
		return unknown(m[0])
	}
	return t.schedule(fmt.Sprintf(`cron = "%d %d * * *"`, minute, hour), m[3])
}

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// schedule writes a trigger, as self/TRIGGERS.md tells.
func (t *turn) schedule(when, text string) string {
	name := notInNames().ReplaceAllString(strings.TrimPrefix(strings.ToLower(text), "say "), "-")
	name = strings.Trim(name[:min(len(name), 32)], "-")
	said := t.call("WRITE_FILE", map[string]string{
		"path":    "self/triggers/" + name + ".toml",
		"content": fmt.Sprintf("%s\nroom = %q\nsay = %s\n", when, t.heard[t.now].room, strconv.Quote(text)),
	})
	if _, next, ok := strings.Cut(said, "It fires next"); ok {
		return "I wrote a trigger. It fires next" + strings.TrimSuffix(next, "\n```")
	}
	return said
}
