package rehearsal

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"lethe/internal/pattern"
)

const help = `I am the offline rehearsal model: a small program, not intelligent, that follows plain phrases. Try:
- remember that the deploy key is in vault 7, and later: what did I say about the deploy key?
- what is 12*7? count to 50
- run COMMAND (in the background), read FILE, write TEXT to FILE, list
- every day at nine say good morning
- let somebody else run COMMAND
- ask me before you run COMMAND
- find a tool for WORDS, use NAME with {"its": "arguments"}
- say TEXT in ROOM (with FILE), join ROOM, leave ROOM, uncompact REF, compact

Orders can follow each other: run date and then read notes.txt.`

// phrasesTable has the forms of words that the model follows, in the order in which they are tried: behind each, a tool
// that is called with the named groups as arguments beside those given, an answer (=), or one of follows.
//
//go:embed phrases.txt
var phrasesTable string

type phrase struct {
	form *regexp.Regexp
	does string
}

var phrases = sync.OnceValue(func() (all []phrase) {
	for row := range strings.Lines(phrasesTable) {
		form, does, _ := strings.Cut(strings.TrimSpace(row), "\t")
		all = append(all, phrase{regexp.MustCompile(`(?is)^(?:` + form + `)$`), does})
	}
	return all
})

// follows are the ways to follow the groups of a form that are neither a call nor an answer.
var follows = map[string]func(t *turn, m []string) string{
	"daily": (*turn).daily, "approved": (*turn).approved, "sum": sum, "count": count, "recall": (*turn).recall,
	"ask": func(t *turn, m []string) string {
		return t.call("WAIT", map[string]string{"question": shallI + m[1] + "?", "options": "yes|no"})
	},
	"hello": func(t *turn, _ []string) string {
		return "Hello, " + t.heard[t.now].who + ". Say help to see the phrases that I follow."
	},
	"help": func(*turn, []string) string { return help },
}

// whole finds orders that hold others.
var whole = pattern.Lazy(`(?i)^(?:remember|every|let|ask) `)

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
	for _, p := range phrases() {
		m := p.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if answer, ok := strings.CutPrefix(p.does, "= "); ok {
			return p.form.ReplaceAllString(text, answer)
		}
		if follow := follows[p.does]; follow != nil {
			return follow(t, m)
		}
		tool, given, _ := strings.Cut(p.does, " ")
		args := map[string]string{}
		if name, value, ok := strings.Cut(given, "="); ok {
			args[name] = value
		}
		for k, name := range p.form.SubexpNames() {
			if name != "" {
				args[name] = strings.Trim(m[k], "`")
			}
		}
		return strings.Replace(t.call(tool, args), "SPAWN gave", "Somebody else does it", 1)
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

var notInNames = pattern.Lazy(`[^a-z0-9]+`)

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
