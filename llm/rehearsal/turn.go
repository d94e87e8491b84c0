package rehearsal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	req    *Request
	items  []item // the whole conversation
	start  int    // of the turn, in items
	units  []unit // replies with calls in this turn, oldest first
	next   int    // the first of units not yet used up
	now    int    // the line being answered, in items
	wanted []Call // what do could not return: the calls to make
	why    string // the reasoning
}

// A unit is a reply with calls and the results they gave.
type unit struct {
	calls   []Call
	results []string
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
	t := &turn{req: r, items: view(r.Messages)}
	for i, it := range t.items {
		stopped := it.kind == noteItem && strings.Contains(it.text, "no longer owed") // after a /stop
		if it.kind == replyItem && len(it.calls) == 0 || stopped {
			t.start = i + 1
		}
	}
	for _, it := range t.items[t.start:] {
		switch it.kind {
		case replyItem:
			t.units = append(t.units, unit{calls: it.calls})
		case resultItem:
			if n := len(t.units); n > 0 {
				t.units[n-1].results = append(t.units[n-1].results, it.text)
			}
		}
	}
	return t
}

// do returns the results of the calls, in order, or records that they are to be
// made now. False means that this pass is over. Calls are compared by name and
// number only: the client may have rewritten arguments.
func (t *turn) do(why string, calls ...Call) ([]string, bool) {
	for i := t.next; i < len(t.units); i++ {
		u := t.units[i]
		same := slices.EqualFunc(u.calls, calls, func(a, b Call) bool { return a.Name == b.Name })
		if same && len(u.results) >= len(calls) {
			t.next = i + 1
			return u.results, true
		}
	}
	t.wanted, t.why = calls, why
	return nil, false
}

// answer goes through the lines of the turn and answers all of them in one text.
// Who is addressed is named when several people are.
func (t *turn) answer() Answer {
	lines := t.lines()
	var texts []string
	for _, i := range lines {
		t.now = i
		text, ok := t.line(t.items[i])
		if !ok {
			return Answer{Calls: t.wanted}
		}
		if slices.ContainsFunc(lines, func(k int) bool { return t.items[k].who != t.items[i].who }) {
			text = t.items[i].who + ": " + text
		}
		texts = append(texts, text)
	}
	if len(lines) == 0 { // nobody asked: what they asked has faded, or was stopped
		for _, u := range t.units {
			for k, result := range u.results[:min(len(u.results), len(u.calls))] {
				texts = append(texts, report(u.calls[k], result))
			}
		}
	}
	if len(texts) == 0 {
		texts = []string{"Noted."}
	}
	return Answer{Text: strings.Join(texts, "\n\n")}
}

// lines are the lines to answer: those of users, or of agents when no user spoke.
func (t *turn) lines() []int {
	var users, agents []int
	for i, it := range t.items[t.start:] {
		switch {
		case it.kind != lineItem:
		case it.agent:
			agents = append(agents, t.start+i)
		default:
			users = append(users, t.start+i)
		}
	}
	if len(users) > 0 {
		return users
	}
	return agents
}

// line handles one line: its orders in sequence, calls that need no sequence
// together. It follows no orders of agents.
func (t *turn) line(it item) (text string, ok bool) {
	if it.agent {
		return "I heard you: " + clip(oneLine(plainRefs(it.text)), 60), true
	}
	var texts []string
	for orders := parse(it.text); len(orders) > 0; {
		n := 1
		if orders[0].say != nil {
			if text, ok = orders[0].say(t); !ok {
				return "", false
			}
			texts = append(texts, text)
		} else {
			for n < len(orders) && orders[n].call != nil && !orders[n].then {
				n++
			}
			more, ok := t.act(orders[:n])
			if !ok {
				return "", false
			}
			texts = append(texts, more...)
		}
		orders = orders[n:]
	}
	return strings.Join(texts, "\n\n"), true
}

// act runs a group of calls and reports their results. Tools that are not
// offered are named instead of called.
func (t *turn) act(group []order) (texts []string, ok bool) {
	var calls []Call
	for _, o := range group {
		if t.req.offers(o.call.Name) {
			calls = append(calls, *o.call)
		} else {
			texts = append(texts, fmt.Sprintf("That needs %s, which I am not offered here.", o.call.Name))
		}
	}
	if len(calls) == 0 {
		return texts, true
	}
	results, ok := t.do("I can do this with a tool, and then say what it gave.", calls...)
	for k, c := range calls {
		if ok {
			texts = append(texts, report(c, results[k]))
		}
	}
	return texts, ok
}

// report says in a sentence what a call gave.
func report(c Call, result string) string {
	did := c.Name
	var args map[string]any
	if json.Unmarshal([]byte(c.Arguments), &args) == nil {
		for _, name := range []string{"command", "path", "room", "ref", "query"} {
			if v, ok := args[name].(string); ok && v != "" {
				did += " `" + clip(oneLine(v), 80) + "`"
			}
		}
	}
	result = strings.TrimSpace(result)
	end := strings.LastIndexByte(result, '\n') + 1
	switch last := strings.TrimPrefix(result[end:], "["); {
	case strings.HasPrefix(last, "interrupted"):
		return did + " was interrupted; whether it had an effect I cannot tell."
	case strings.HasPrefix(last, "not started"):
		return did + " was not started."
	case strings.HasPrefix(last, "exit 0"):
		result = strings.TrimSpace(result[:end])
	case strings.HasPrefix(last, "exit "), strings.HasPrefix(last, "timeout"), strings.HasPrefix(last, "error"):
		return did + " failed: " + excerpt(result)
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
