package openai

import (
	"fmt"
	"slices"

	"lethe/blobs"
	"lethe/chat"
	"lethe/internal/lazy"
)

// searched limits the lines of a room in which the instructions that hold are looked for.
const searched = 500

var systemMark = lazy.Regexp(`\A\(System message of the client \[([0-9a-f]{8}|none)\]`)

// instructed puts a client's system message before a text, where another one holds in the room. A command, and the
// answer to a question that the newest answer asks, have to stand alone.
func instructed(lines []chat.Line, name, system, text string) string {
	mark, holds := "none", "none"
	if system != "" {
		mark = blobs.Sum([]byte(system)).String()[:8]
	}
	var open []chat.Question
	own := false
	for _, l := range lines {
		before := own
		own = l.By(name)
		if own && !before {
			open = nil
		}
		if q, ok := chat.ParseQuestion(l.Text); ok && own {
			open = append(open, q)
		}
		if m := systemMark().FindStringSubmatch(l.Text); m != nil && !l.Agent {
			holds = m[1]
		}
	}
	answers := func(q chat.Question) bool {
		_, _, ok := q.Answer(text)
		return ok
	}
	command, _ := chat.Command(chat.Line{Text: text})
	switch {
	case mark == holds || command != "" || slices.ContainsFunc(open, answers):
		return text
	case system == "":
		return "(System message of the client [none]: the last one no longer holds.)\n\n" + text
	}
	return fmt.Sprintf("(System message of the client [%s]:\n%s\n)\n\n%s", mark, system, text)
}
