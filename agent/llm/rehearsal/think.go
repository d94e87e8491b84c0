package rehearsal

import (
	"encoding/json"
	"slices"
	"strings"

	"lethe/internal/pattern"
	"lethe/mind"
)

// A turn is everything since the last reply without calls: the lines to answer and the calls already made for them.
//
// Each request is answered from scratch. Answering a line is straight code that asks for calls with do. A call that an
// earlier request of this turn has made returns its result. The first other call becomes the answer. So the program
// needs no memory of its own, and a turn ends: every pass gets one call further.
type turn struct {
	req     *Request
	entries []*mind.Entry // the whole conversation
	start   int           // of the turn, in entries
	made    []*mind.Call  // calls in this turn that do has not used up, oldest first
	heard   []line        // all that was said
	now     int           // the line being answered, in heard
	wanted  *Call         // the call to make; what comes behind it in this pass does not count
	why     string        // the reasoning
}

// think answers a request as the model.
func think(r *Request) Answer {
	if t, ok := taskOf(r.Messages); ok {
		return t.answer(r.Messages, 0.12)
	}
	t := newTurn(r)
	text := t.answer()
	if t.wanted != nil {
		return Answer{Reasoning: t.why, Calls: []Call{*t.wanted}}
	}
	return Answer{Reasoning: "I follow the phrases that I know.", Text: text}
}

var (
	atWork    = pattern.Lazy(`works for you in room (\S+)\. Its results`)
	outcome   = pattern.Lazy(`(?s)^(?:result|failed) \d+: (.*)$`) // the line by which a child ends its work
	triggered = pattern.Lazy(`^(?:cron|watch)-.`)                 // nobody else can have such a name
)

func newTurn(r *Request) *turn {
	t := &turn{req: r, entries: view(r.Messages)}
	children := map[string]bool{} // rooms: lines there are for children, except results
	for i, e := range t.entries {
		child := atWork().FindStringSubmatch(e.Text)
		switch {
		case e.Kind == mind.Reply && (len(e.Calls) == 0 || asks(e)):
			t.start = i + 1
		case e.Kind == mind.Note && strings.Contains(e.Text, "no longer owed"): // after a /stop
			t.start = i + 1
		case e.Kind == mind.Note && child != nil:
			children[child[1]] = true
		}
	}
	for i, e := range t.entries {
		history := i > 0 && t.entries[i-1].Kind == mind.Note && t.entries[i-1].Text == mind.HistoryText
		switch {
		case e.Kind == mind.Reply && i >= t.start:
			t.made = append(t.made, e.Calls...)
		case e.Kind == mind.Inbound:
			for _, l := range linesOf(e) {
				isResult := l.agent && outcome().MatchString(l.text)
				isForOthers := children[l.room] && !isResult
				isNew := i >= t.start && !history
				l.now = isNew && l.who != "" && !isForOthers
				t.heard = append(t.heard, answered(e.Text, l))
			}
		}
	}
	return t
}

// answer answers the lines of users and the results of children in the turn; or else the lines of agents.
func (t *turn) answer() string {
	var users, agents []int
	for i, l := range t.heard {
		isTalk := l.agent && !outcome().MatchString(l.text)
		switch {
		case l.now && isTalk:
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
		texts = append(texts, t.line(t.heard[i]))
	}
	if len(texts) == 0 { // what they asked has faded, or was stopped
		return "Noted."
	}
	return strings.Join(texts, "\n\n")
}

// line answers a line. Among agents, it follows the orders of its own triggers and of its parent.
func (t *turn) line(l line) string {
	result := outcome().FindStringSubmatch(l.text)
	order, _, _ := strings.Cut(l.text, "\n") // what a trigger's command printed stands below
	switch {
	case !l.agent, strings.Contains(t.req.Messages[0].Text(), "You work for another agent, "+l.who+", which"):
		return t.follow(l.text)
	case result != nil:
		return l.who + " says: " + plainRefs(result[1])
	case triggered().MatchString(l.who):
		return t.follow(order)
	}
	return "I heard you: " + clip(plainRefs(l.text), 60)
}

// do returns what a call gave that this turn has made already, or else records that it is to be made now.
func (t *turn) do(why, tool string, args map[string]string) string {
	for i, c := range t.made {
		if c.Tool == tool { // the client may have rewritten its arguments
			t.made = t.made[i+1:]
			return c.Text
		}
	}
	if t.wanted == nil {
		text, _ := json.Marshal(args) // of strings: cannot fail
		t.wanted, t.why = &Call{Name: tool, Arguments: string(text)}, why
	}
	return ""
}

// call makes a call that a line asks for, and tells its result.
func (t *turn) call(tool string, args map[string]string) string {
	if !slices.Contains(t.req.Tools, tool) {
		return "That needs " + tool + ", which I am not offered here."
	}
	result := strings.TrimSpace(t.do("I can do this with a tool, and then say what it gave.", tool, args))
	for _, name := range []string{"command", "path", "room", "hash"} {
		if args[name] != "" {
			tool += " `" + clip(args[name], 80) + "`"
		}
	}
	if end := strings.LastIndexByte(result, '\n') + 1; strings.HasPrefix(result[end:], "[exit 0") {
		result = strings.TrimSpace(result[:end])
	}
	if result == "" || result == "(no output)" {
		return tool + " gave no output."
	}
	return tool + " gave: " + excerpt(result)
}

const shallI = "Shall I "

var answerTo = pattern.Lazy(`^answer to ◱hash=[0-9a-f]+ gist=question: (?:` + shallI + `([^\n]*)\?)?[^\n]*◲: ([^\n]*)\n`)

// answered reads a line that answers a question as what is to be done now.
func answered(entry string, l line) line {
	if m := answerTo().FindStringSubmatch(entry); m != nil {
		l.text = m[2]
		if m[1] != "" && m[2] == "yes" {
			l.text = m[1]
		}
	}
	return l
}

// asks reports whether a reply has asked people, which ends its turn.
func asks(e *mind.Entry) bool {
	if len(e.Calls) != 1 {
		return false
	}
	call := e.Calls[0]
	return call.Tool == "WAIT" && strings.HasPrefix(call.Text, "asked ")
}

// approved tells the outcome of a call that people were asked about.
func (t *turn) approved(m []string) string {
	for _, e := range t.entries[t.start:] {
		first, output, ok := strings.Cut(e.Text, "\n")
		if ok && e.Kind == mind.Note && strings.HasPrefix(first, "outcome of ") {
			return "It ran and gave: " + excerpt(strings.TrimSpace(output))
		}
	}
	return "You said " + m[1] + "."
}

// excerpt quotes a result: in the sentence when it is one line, else as a block.
func excerpt(text string) string {
	text = plainRefs(text)
	if r := []rune(text); len(r) > 700 {
		text = string(r[:700]) + "…"
	}
	if !strings.Contains(text, "\n") {
		return text
	}
	return "\n```\n" + strings.ReplaceAll(text, "```", "'''") + "\n```"
}

// clip makes one line of n runes at most of a text.
func clip(text string, n int) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
