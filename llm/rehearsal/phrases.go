package rehearsal

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"lethe/internal/lazy"
)

const help = `I am the offline rehearsal model: a small program, not intelligent, that follows plain phrases. Try:
- remember that the deploy key is in vault 7, and later: what did I say about the deploy key?
- what is 12*7? count to 50
- run COMMAND (in the background), read FILE, write TEXT to FILE, list
- every day at nine say good morning
- let somebody else run COMMAND
- ask me before you run COMMAND
- say TEXT in ROOM, join ROOM, leave ROOM, uncompact REF, compact

Orders can follow each other: run date and then read notes.txt.`

// A phrase is a form of words. It calls a tool, with the named groups of the form as arguments beside those given, or
// follows the groups in its own way.
type phrase struct {
	form, tool string
	args       map[string]string
	follow     func(t *turn, m []string) string
}

// phrases are tried in this order.
var phrases = []phrase{
	{form: `run (?P<command>.+) in the background`, tool: "BASH", args: map[string]string{"background": "1"}},
	{form: `run (?P<command>.+)`, tool: "BASH"},
	{form: `read (?P<path>\S+)`, tool: "READ_FILE"},
	{form: `write (?P<content>.+) to (?P<path>\S+)`, tool: "WRITE_FILE"},
	{form: `list`, tool: "LIST", args: map[string]string{"path": "."}},
	{form: `say (?P<message>.+) in (?P<room>\S+)`, tool: "SAY"},
	{form: `say (.+)`, follow: says("%s")}, // as triggers do
	{form: `join (?P<room>\S+)`, tool: "JOIN"},
	{form: `leave (?P<room>\S+)`, tool: "LEAVE"},
	{form: `uncompact (?:.*hash=)?(?P<hash>[0-9a-f]{8,64})\b.*`, tool: "UNCOMPACT"},
	{form: `compact`, tool: "COMPACT"},
	{form: `every day at nine (.+)`, follow: (*turn).daily},
	{form: `ask me before you (.+)`, follow: func(t *turn, m []string) string {
		return t.call("WAIT", map[string]string{"question": shallI + m[1] + "?", "options": "yes|no"})
	}},
	{form: `(yes|once|always)`, follow: (*turn).approved},
	{form: `no\b.*`, follow: func(*turn, []string) string { return "Then I leave it." }},
	{form: `let somebody else (.+)`, follow: func(t *turn, m []string) string {
		return strings.Replace(t.call("SPAWN", map[string]string{"brief": m[1]}), "SPAWN gave", "Somebody else does it", 1)
	}},
	{form: `remember(?: that)?[:,]? (.+)`, follow: says("I will remember: %s")},
	{form: `.*what is ((\d{1,9}) ?([+*]) ?(\d{1,9}))\W*`, follow: sum},
	{form: `count to (\d{1,4})`, follow: count},
	{form: `(?:hello|hi)\b.{0,60}`, follow: func(t *turn, _ []string) string {
		return "Hello, " + t.heard[t.now].who + ". Say help to see the phrases that I follow."
	}},
	{form: `help`, follow: func(*turn, []string) string { return help }},
	{form: `(?:what|which|who|where|when|why|how|do you|did)\b.*|.*\w.*\?`, follow: (*turn).recall},
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

// whole finds orders that hold others.
var whole = lazy.Regexp(`(?i)^(?:remember|every|let|ask) `)

// follow follows the orders of a text, one after the other.
func (t *turn) follow(text string) string {
	orders := []string{text}
	if !whole().MatchString(text) {
		orders = strings.Split(text, " and then ")
	}
	for i, order := range orders {
		orders[i] = t.order(strings.TrimSpace(order))
	}
	return strings.Join(orders, "\n\n")
}

func (t *turn) order(text string) string {
	for i, form := range forms() {
		m, p := form.FindStringSubmatch(text), phrases[i]
		if m == nil {
			continue
		}
		if p.follow != nil {
			return p.follow(t, m)
		}
		args := map[string]string{}
		maps.Copy(args, p.args)
		for k, name := range form.SubexpNames() {
			if name != "" {
				args[name] = strings.Trim(m[k], "`")
			}
		}
		return t.call(p.tool, args)
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
	n := a * b
	if m[3] == "+" {
		n = a + b
	}
	return fmt.Sprintf("%s = %d", m[1], n)
}

func count(_ *turn, m []string) string {
	n, _ := strconv.Atoi(m[1]) // digits, by the form
	var numbers strings.Builder
	for i := range n {
		fmt.Fprintf(&numbers, "%d ", i+1)
	}
	return strings.TrimSpace(numbers.String())
}

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// daily writes a trigger, as self/TRIGGERS.md tells.
func (t *turn) daily(m []string) string {
	name := notInNames().ReplaceAllString(strings.TrimPrefix(strings.ToLower(m[1]), "say "), "-")
	said := t.call("WRITE_FILE", map[string]string{
		"path":    "self/triggers/" + name[:min(len(name), 32)] + ".toml",
		"content": fmt.Sprintf("cron = \"0 9 * * *\"\nroom = %q\nsay = %q\n", t.heard[t.now].room, m[1]),
	})
	if _, next, ok := strings.Cut(said, "It fires next"); ok {
		return "I wrote a trigger. It fires next" + strings.TrimSuffix(next, "\n```")
	}
	return said
}
