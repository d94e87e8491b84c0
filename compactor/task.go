package compactor

import (
	"fmt"
	"strings"

	"lethe/blobs"
	"lethe/mind"
)

// The names of the tasks, as they stand in their prompts.
const (
	Segment   = "segment"
	Summarise = "summarise"
)

const segmentForm = `Chunks of 3000 to 6000 tokens are best; make smaller ones only where the subject clearly changes.
Answer with one JSON object and nothing else, and call no tool:
{"chunks":[{"from":"e1","to":"e2","topic":"a few words"}, …]}`

const summariseForm = `This is about the entries listed here and no others. Answer with one JSON object and nothing else, and call no tool:
{"summary":"…","gist":"…","relevance":4,"keep":["…"]}`

// task renders the last message of a request. why says what was wrong with the
// answer before, when there was one.
func (j Job) task(name string, units []unit, why error) string {
	instructions, form := j.in.Segment, segmentForm
	if name == Summarise {
		instructions, form = j.in.Summarise, summariseForm
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<task name=%q from=%q to=%q>\n", name, mind.EntryID(units[0].N), mind.EntryID(units[len(units)-1].N))
	b.WriteString(strings.TrimSpace(blobs.Escape(instructions)))
	b.WriteString("\n\nThe entries, each with its tokens and first words:\n")
	j.list(&b, units, name == Segment)
	b.WriteString("\n" + form + "\n")
	if name == Summarise {
		f := chunk(units)
		f.Relevance = 5
		fmt.Fprintf(&b, "The source has %d tokens; a summary of medium relevance may have %d.\n", f.Tokens, j.longest(f))
	}
	if why != nil {
		fmt.Fprintf(&b, "Your last answer could not be used: %s.\n", blobs.Escape(oneLine(why.Error())))
	}
	b.WriteString("</task>")
	return b.String()
}

// Runes of the first words of an entry, and how many entries a list shows of a
// chunk: enough to find its beginning and its end.
const (
	firstWords = 60
	listedEnds = 12
)

// list names the entries, since a reply without calls has no number on the wire.
// Of a range to be cut every one is listed, with fewer words when there are many.
func (j Job) list(b *strings.Builder, units []unit, all bool) {
	words := firstWords
	if all && len(units) > 100 {
		words = max(12, 100*firstWords/len(units))
	}
	for i, u := range units {
		if !all && i >= listedEnds && i < len(units)-listedEnds {
			if i == listedEnds {
				fmt.Fprintf(b, "… %d entries …\n", len(units)-2*listedEnds)
			}
			continue
		}
		fmt.Fprintf(b, "%s %s %d %s\n", mind.EntryID(u.N), u.Kind, u.tokens, truncate(first(u), words))
	}
}

// first is what an entry says first, without the tag of a room's line.
func first(u unit) string {
	line := u.FirstLine()
	if tag, text, ok := roomLine(line); ok {
		_, who, _ := strings.Cut(tag, ":")
		line = who + ": " + text
	}
	return oneLine(truncate(line, 8*firstWords))
}

// ask renders a task as a request: as a fork of the life's own, or alone when
// that would not fit, or another model is asked. It is false when neither fits.
func (j Job) ask(name string, units []unit, why error) (Ask, bool) {
	task := j.task(name, units, why)
	limit := j.in.Settings.Limit
	if !j.in.Settings.Alone && j.base+messageFrame+j.in.Meter(task) <= limit {
		messages := append(j.messages[:len(j.messages):len(j.messages)], mind.Message{Role: "user", Content: task})
		return Ask{Fork: true, Task: name, Messages: messages}, true
	}
	user := mind.Message{Role: "user", Content: strings.TrimSpace(j.notes + "\n" + text(units) + "\n\n" + task)}
	messages := []mind.Message{j.messages[0], user}
	return Ask{Task: name, Messages: messages}, j.fixed+tokens(messages, j.in.Meter) <= limit
}
