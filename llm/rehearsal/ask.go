package rehearsal

import (
	"encoding/json"
	"strings"

	"lethe/internal/lazy"
	"lethe/mind"
)

// Questions to people: "ask me before you run date" asks, and the answer is heard as the order.

const shallI = "Shall I "

var answerTo = lazy.Regexp(`^answer to ◱hash=([0-9a-f]+) gist=(question: May I call )?[^\n]*◲: ([^\n]*)\n`)

// answered reads an entry that answers a question as what is to be done now.
func (t *turn) answered(e *mind.Entry, lines []line) []line {
	m := answerTo().FindStringSubmatch(e.Text)
	if m == nil || len(lines) != 1 {
		return lines
	}
	if m[2] != "" {
		lines[0].text = "approval " + m[3]
	}
	for _, asked := range t.entries {
		for _, c := range asked.Calls {
			var args struct{ Question string }
			if c.Tool != "WAIT" || !strings.Contains(c.Text, m[1]) || json.Unmarshal([]byte(c.Args), &args) != nil {
				continue
			}
			order := strings.TrimSuffix(strings.TrimPrefix(args.Question, shallI), "?")
			if lines[0].text = order; m[3] != "yes" {
				lines[0].text = "declined " + order
			}
		}
	}
	return lines
}

// waits reports whether a reply has asked people, which ends its turn.
func waits(e *mind.Entry) bool {
	return len(e.Calls) == 1 && e.Calls[0].Tool == "WAIT" && strings.HasPrefix(e.Calls[0].Text, "asked ")
}

// approved tells what became of a call that people were asked about.
func (t *turn) approved(choice string) (string, bool) {
	for _, e := range t.entries[t.start:] {
		if first, output, ok := strings.Cut(e.Text, "\n"); ok && e.Kind == mind.Note && strings.HasPrefix(first, "outcome of ") {
			return "It ran and gave: " + excerpt(strings.TrimSpace(output)), true
		}
	}
	return "You said " + choice + ".", true
}
