package rehearsal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lethe/internal/lazy"
	"lethe/mind"
)

// A turn is everything since the last reply without calls: the lines to answer
// and the calls already made for them.
//
// Each request is answered from scratch. The handling of a line is written as
// straight code that asks for calls with do; a call that was made in an earlier
// request of this turn returns its results from there, the first one that was
// not ends the pass and becomes the answer. So the program needs no memory of its
// own, and a turn ends: every pass gets one call further.
type turn struct {
	req     *Request
	entries []*mind.Entry // the whole conversation
	start   int           // of the turn, in entries
	units   []*mind.Entry // replies with calls in this turn that do has not used up, oldest first
	heard   []line        // all that was said
	now     int           // the line being answered, in heard
	wanted  []Call        // what do could not return: the calls to make
	why     string        // the reasoning
}

// think answers a request as the model.
func think(r *Request) Answer {
	if t, ok := taskOf(r.Messages); ok {
		return t.answer(r.Messages, 0.12)
	}
	t := newTurn(r)
	a := t.answer()
	if a.Reasoning = t.why; t.why == "" {
		a.Reasoning = "I follow the phrases that I know."
	}
	return a
}

func newTurn(r *Request) *turn {
	t := &turn{req: r, entries: view(r.Messages)}
	before := 0
	for i, e := range t.entries {
		stopped := e.Kind == mind.Note && strings.Contains(e.Text, "no longer owed") // after a /stop
		switch {
		case e.Kind == mind.Reply && (len(e.Calls) == 0 || waits(e)) || stopped:
			before, t.start = t.start, i+1
		case e.Kind == mind.Note && strings.HasPrefix(e.Text, mind.RefusedText): // the turn goes on
			t.start = before
		}
	}
	children := map[string]bool{} // rooms: what is said there is for them, but for results
	for i, e := range t.entries {
		past := i > 0 && t.entries[i-1].Kind == mind.Note && t.entries[i-1].Text == mind.HistoryText
		if m := atWork().FindStringSubmatch(e.Text); m != nil && e.Kind == mind.Note {
			children[m[1]] = true
		}
		if e.Kind == mind.Inbound {
			for _, l := range t.answered(e, linesOf(e)) {
				l.now = i >= t.start && !past && (!children[l.room] || l.agent && outcome().MatchString(l.text))
				t.heard = append(t.heard, l)
			}
		}
		if e.Kind == mind.Reply && i >= t.start {
			t.units = append(t.units, e)
		}
	}
	return t
}

// do returns the results of the calls, in order, or records that they are to be
// made now. False means that this pass is over. Calls are compared by name and
// number only: the client may have rewritten arguments.
func (t *turn) do(why string, calls ...Call) ([]string, bool) {
	for i, u := range t.units {
		if slices.EqualFunc(u.Calls, calls, func(a *mind.Call, b Call) bool { return a.Tool == b.Name }) {
			t.units = t.units[i+1:]
			var results []string
			for _, c := range u.Calls {
				results = append(results, c.Text)
			}
			return results, true
		}
	}
	t.wanted, t.why = calls, why
	return nil, false
}

// answer goes through the lines of the turn and answers all of them in one text:
// those of users and the results of children, or of agents when there are none. Who is addressed is named when
// several people are.
func (t *turn) answer() Answer {
	var users, agents []int
	for i, l := range t.heard {
		switch {
		case l.now && l.agent && !outcome().MatchString(l.text):
			agents = append(agents, i)
		case l.now:
			users = append(users, i)
		}
	}
	if len(users) == 0 {
		users = agents
	}
	var texts []string
	for _, i := range users {
		t.now = i
		who := t.heard[i].who
		text, ok := t.line(t.heard[i])
		if !ok {
			return Answer{Calls: t.wanted}
		}
		if slices.ContainsFunc(users, func(k int) bool { return t.heard[k].who != who }) {
			text = who + ": " + text
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 { // nobody asked: what they asked has faded, or was stopped
		texts = []string{"Noted."}
	}
	return Answer{Text: strings.Join(texts, "\n\n")}
}

// line handles one line: its orders in sequence, calls that need no sequence
// together. It follows no orders of agents, but those of its own triggers and of whom it works for.
func (t *turn) line(l line) (text string, ok bool) {
	if m := outcome().FindStringSubmatch(l.text); m != nil && l.agent {
		return l.who + " says: " + plainRefs(m[1]), true
	}
	if l.agent && triggered().MatchString(l.who) { // nobody else can have such a name
		l.text, _, _ = strings.Cut(l.text, "\n") // what a command printed stands below
		if said, ok := strings.CutPrefix(l.text, "say "); ok {
			return said, true
		}
	} else if l.agent && l.who != t.boss() {
		return "I heard you: " + clip(oneLine(plainRefs(l.text)), 60), true
	}
	var texts []string
	for _, group := range parse(l.text) {
		var calls []Call
		for _, o := range group {
			switch {
			case o.say != nil:
				if text, ok = o.say(t); !ok {
					return "", false
				}
				texts = append(texts, text)
			case slices.Contains(t.req.Tools, o.call.Name):
				calls = append(calls, *o.call)
			default:
				texts = append(texts, notOffered(*o.call))
			}
		}
		if len(calls) == 0 {
			continue
		}
		results, ok := t.do("I can do this with a tool, and then say what it gave.", calls...)
		if !ok {
			return "", false
		}
		for k, c := range calls {
			texts = append(texts, report(c, results[k]))
		}
	}
	return strings.Join(texts, "\n\n"), true
}

func notOffered(c Call) string {
	return fmt.Sprintf("That needs %s, which I am not offered here.", c.Name)
}

// outcome is the line by which a child ends its work.
var outcome = lazy.Regexp(`(?s)^(?:result|failed) \d+: (.*)$`)

var atWork = lazy.Regexp(`works for you in room (\S+)\. Its results`)

var triggered = lazy.Regexp(`^(?:cron|watch)-.`)

var worksFor = lazy.Regexp(`You work for another agent, (\S+), which`)

// boss is the name of the agent whose child the model plays, if it does.
func (t *turn) boss() string {
	if m := worksFor().FindStringSubmatch(t.req.Messages[0].Text()); m != nil {
		return m[1]
	}
	return ""
}

// report says in a sentence what a call gave.
func report(c Call, result string) string {
	if c.Name == "SPAWN" {
		return "Somebody else does it: " + plainRefs(oneLine(result))
	}
	did := c.Name
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments), &args) == nil {
		for _, name := range []string{"command", "path", "room", "hash"} {
			if v, ok := args[name].(string); ok && v != "" {
				did += " `" + clip(oneLine(v), 80) + "`"
			}
		}
	}
	result = strings.TrimSpace(result)
	if end := strings.LastIndexByte(result, '\n') + 1; strings.HasPrefix(result[end:], "[exit 0") {
		result = strings.TrimSpace(result[:end])
	}
	if result == "" || result == "(no output)" {
		return did + " gave no output."
	}
	return did + " gave: " + excerpt(result)
}

// excerpt quotes a result: in the sentence when it is one line, else as a block.
func excerpt(text string) string {
	text = clip(plainRefs(text), 700)
	if !strings.Contains(text, "\n") {
		return text
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "\n" + fence + "\n" + text + "\n" + fence
}

// clip shortens text to n runes, with … at the end when something is missing.
func clip(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
