package openai

import (
	"fmt"
	"strings"

	"lethe/blobs"
	"lethe/bridge"
	"lethe/chat"
	"lethe/internal/lazy"
)

// past is what a room holds, as far as a client can know of it.
type past struct {
	answers  []string         // what the identity said between lines of others, oldest first
	system   string           // mark of the client's instructions that hold
	context  string           // hash of what a client showed last that was not said here
	question []*chat.Question // that the newest answer asks
}

var (
	systemMark  = lazy.Regexp(`\A\(System message of the client \[([0-9a-f]{8}|none)\]`)
	contextMark = lazy.Regexp(`\[conversation [^\]]* hash=([0-9a-f]+)\]`)
)

func pastOf(lines []chat.Line, name string) past {
	p := past{system: "none"}
	for i, l := range lines {
		own := func(l chat.Line) bool { return l.Agent && l.Name == name }
		switch {
		case own(l) && i > 0 && own(lines[i-1]):
			p.answers[len(p.answers)-1] += "\n\n" + l.Text
		case own(l):
			p.answers, p.question = append(p.answers, l.Text), nil
		case l.Agent:
			continue
		}
		if q, ok := chat.ParseQuestion(l.Text); ok && own(l) {
			p.question = append(p.question, &q)
		}
		if m := systemMark().FindStringSubmatch(l.Text); m != nil && !own(l) {
			p.system = m[1]
		}
		if m := contextMark().FindStringSubmatch(l.Text); m != nil && !own(l) {
			p.context = m[1]
		}
	}
	return p
}

// thought is what front ends keep of reasoning within an answer.
var thought = lazy.Regexp(`(?s)<details type="(?:reasoning|tool_calls)".*?</details>|<think>.*?</think>`)

// plain is a text as it is compared: clients trim, wrap and fold.
func plain(text string) string {
	return strings.Join(strings.Fields(thought().ReplaceAllString(text, "")), " ")
}

// find returns which answer a client shows. A client that left early has only the beginning of it, and
// one that read the stream has what stood beside calls before it; one that got an error, or was told
// nothing, has an empty one.
func (p past) find(text string) (i int, ok bool) {
	shown := plain(text)
	if shown == "" {
		return len(p.answers) - 1, true
	}
	for i := len(p.answers) - 1; i >= 0; i-- {
		answer := plain(p.answers[i])
		switch {
		case shown == answer,
			(i == len(p.answers)-1 || len(shown) > 16) && strings.HasPrefix(answer, shown),
			strings.HasSuffix(strings.TrimSpace(text), "\n\n"+strings.TrimSpace(p.answers[i])):
			return i, true
		}
	}
	return -1, false
}

// answered says that a text is the answer to a question that stands open in the room.
func (p past) answered(text string) bool {
	for _, q := range p.question {
		if _, _, ok := q.Answer(text); ok {
			return true
		}
	}
	return false
}

type news struct {
	said   []message // by the user, behind the last answer
	others []message // that the client shows, and that were not said in the room
	notes  []string  // what the identity has to know of them
}

// news compares what a client shows with the room. one says that all of the room is one
// conversation of the client.
func (p past) news(t talk, one bool) (n news) {
	last := t.last()
	n.said = t.said[last+1:]
	known, answer, ok := last, -1, false
	for ; known >= 0; known-- {
		if t.said[known].assistant() {
			if answer, ok = p.find(t.said[known].Content.text()); ok {
				break
			}
		}
	}
	n.others = t.said[known+1 : last+1]
	switch {
	case ok && answer < len(p.answers)-1:
		n.notes = append(n.notes, fmt.Sprintf("(The client shows “%s” as your last answer, and nothing of what was said here since: it was edited, asked for again, or said elsewhere.)", bridge.Inert(p.answers[answer])))
	case !ok && len(p.answers) > 0 && (one || last >= 0):
		n.notes = append(n.notes, "(The client shows none of your answers here: it was edited, asked for again, or begun elsewhere.)")
	}
	return n
}

// instructions is what a line says of the client's system message, "" where the same holds already.
func (p past) instructions(system string) string {
	mark := "none"
	if system != "" {
		mark = blobs.Sum([]byte(system)).String()[:8]
	}
	switch mark {
	case p.system:
		return ""
	case "none":
		return "(System message of the client [none]: the last one no longer holds.)"
	}
	return fmt.Sprintf("(System message of the client [%s]:\n%s\n)", mark, system)
}
