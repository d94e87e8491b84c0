package rehearsal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
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
	salt   uint64 // for variety
	wanted []Call // what do could not return: the calls to make
	why    string // the reasoning for them
}

// A unit is a reply with calls and the results they gave.
type unit struct {
	calls   []Call
	results []string
}

// think answers a request as the model.
func (s *Server) think(r *Request, key digest) Answer {
	if t, ok := taskOf(r); ok {
		return t.answer(r, s.opts.SummaryRatio)
	}
	return newTurn(r, binary.BigEndian.Uint64(key[:8])^s.opts.Seed).answer()
}

func newTurn(r *Request, salt uint64) *turn {
	t := &turn{req: r, items: view(r), salt: salt}
	for i, it := range t.items {
		if it.kind == replyItem && len(it.calls) == 0 || it.kind == noteItem && stopNote.MatchString(it.text) {
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

// stopNote recognises the note about a /stop: what was asked before is not owed.
var stopNote = regexp.MustCompile(`(?i)/stop\b|\bstopped (?:by|you)\b|\bno longer owed\b`)

// do returns the results of the calls, in order, or records that they are to be
// made now. False means that this pass is over.
func (t *turn) do(why string, calls ...Call) ([]string, bool) {
	for i := t.next; i < len(t.units); i++ {
		if u := t.units[i]; sameTools(u.calls, calls) && len(u.results) >= len(calls) {
			t.next = i + 1
			return u.results, true
		}
	}
	t.wanted, t.why = calls, why
	return nil, false
}

// sameTools compares by name and number only: the client may have rewritten
// arguments.
func sameTools(a, b []Call) bool {
	return slices.EqualFunc(a, b, func(a, b Call) bool { return a.Name == b.Name })
}

// call builds a tool call; args are pairs of a name and a value.
func call(tool string, args ...any) Call {
	m := map[string]any{}
	for i := 0; i+1 < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil { // strings and numbers only: cannot happen
		panic(err)
	}
	return Call{Name: tool, Arguments: string(b)}
}

// answer goes through the lines of the turn and answers all of them in one text.
func (t *turn) answer() Answer {
	var said []reply
	for _, i := range t.lines() {
		t.now = i
		text, thought, ok := t.line(t.items[i].text)
		if !ok {
			return Answer{Reasoning: t.why, Calls: t.wanted}
		}
		said = append(said, reply{t.items[i].who, text, thought})
	}
	if len(said) == 0 {
		return t.leftover()
	}
	return joined(said)
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

type reply struct{ who, text, thought string }

// joined makes one text of the replies; who is addressed is named when several
// people are.
func joined(said []reply) Answer {
	several := slices.ContainsFunc(said, func(r reply) bool { return r.who != said[0].who })
	var texts, thoughts []string
	for _, r := range said {
		if several {
			r.text = r.who + ": " + r.text
		}
		texts = append(texts, r.text)
		if !slices.Contains(thoughts, r.thought) {
			thoughts = append(thoughts, r.thought)
		}
	}
	return Answer{Text: strings.Join(texts, "\n\n"), Reasoning: strings.Join(thoughts, " ")}
}

// leftover answers a turn that nobody asked for, such as results whose question
// has faded or was stopped.
func (t *turn) leftover() Answer {
	var texts []string
	for _, u := range t.units {
		for k, c := range u.calls {
			if k < len(u.results) {
				texts = append(texts, report(c, u.results[k]))
			}
		}
	}
	if len(texts) == 0 {
		return Answer{Text: "Noted.", Reasoning: "Nobody asked me for anything here."}
	}
	return Answer{
		Text:      strings.Join(texts, "\n\n"),
		Reasoning: "There are results that nobody waits for any more; I report them and stop.",
	}
}

// line handles one line: its steps in order, calls that need no order together.
func (t *turn) line(text string) (answer, thought string, ok bool) {
	if t.items[t.now].agent {
		return t.chat(text), "Another agent said something. I answer shortly and follow no orders from agents.", true
	}
	var texts []string
	intents := parse(text)
	for len(intents) > 0 {
		n := together(intents)
		var more []string
		if n > 0 {
			more, ok = t.act(intents[:n])
		} else {
			n = 1
			more, thought, ok = t.speak(intents[0])
		}
		if !ok {
			return "", "", false
		}
		texts = append(texts, more...)
		intents = intents[n:]
	}
	if thought == "" {
		thought = "The results are in. I report them."
	}
	return strings.Join(texts, "\n\n"), thought, true
}

// together counts the leading intents that can go out as parallel calls.
func together(intents []intent) int {
	n := 0
	for n < len(intents) && intents[n].tool() != "" && (n == 0 || !intents[n].then) {
		n++
	}
	return n
}

// act runs a group of calls and reports their results. Tools that are not
// offered are named instead of called.
func (t *turn) act(group []intent) ([]string, bool) {
	var texts []string
	var calls []Call
	for _, in := range group {
		if c := in.call(); t.req.offers(c.Name) {
			calls = append(calls, c)
		} else {
			texts = append(texts, fmt.Sprintf("That needs %s, which I am not offered here.", c.Name))
		}
	}
	if len(calls) == 0 {
		return texts, true
	}
	results, ok := t.do(why(t.items[t.now].who, calls), calls...)
	if !ok {
		return nil, false
	}
	for k, c := range calls {
		texts = append(texts, report(c, results[k]))
	}
	return texts, true
}

func why(who string, calls []Call) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.Name)
	}
	return fmt.Sprintf("%s asks for something that I can do with a tool. I call %s and then say what it gave.", who, strings.Join(names, " and "))
}

// speak handles an intent that is not a plain call.
func (t *turn) speak(in intent) (texts []string, thought string, ok bool) {
	one := func(text, thought string) ([]string, string, bool) { return []string{text}, thought, true }
	switch in.verb {
	case recallVerb:
		text, ok := t.recall(in.a)
		return []string{text}, "I looked for it in what I can see.", ok
	case noteVerb:
		text, ok := t.note(in.a)
		return []string{text}, "My notes are in order.", ok
	case rememberVerb:
		return one("I will remember: "+in.a, "I am asked to remember something. Saying it back puts it on record.")
	case countVerb:
		return one(count(in.a), "Counting is something I can do.")
	case thinkVerb:
		return one(fmt.Sprintf("I thought about %s. I am a small program, so all I can honestly say is that it has %d words.", in.a, len(strings.Fields(in.a))), t.ponder(in.a))
	case mathVerb:
		return one(in.b, "This is plain arithmetic.")
	case echoVerb:
		return one(in.a, "I am asked to say it back.")
	case helpVerb:
		return one(introduction, "I am asked who I am and what I can do. I say it plainly.")
	case greetVerb:
		return one(t.greet(), "A greeting. I greet back.")
	case thanksVerb:
		return one(t.pick("You are welcome.", "Any time.", "Gladly."), "A kind word. I return it.")
	}
	return one(t.chat(in.a), "No phrase that I follow is in this, so I say something short and honest.")
}
