package rehearsal

import (
	"slices"
	"strconv"

	"lethe/compactor"
	"lethe/internal/pattern"
	"lethe/mind"
)

// A task is the request's last message when a compaction asks for something: to
// cut a range of entries into chunks, or to summarise one.
type task struct {
	name     string // segment or summarise
	from, to int    // entries
	source   string // what stands before the task in its message
}

var taskTag = pattern.Lazy(`(?m)^<task name="(segment|summarise)" from="e(\d+)" to="e(\d+)">`)

var lineTime = pattern.Lazy(`(?m)^\[((?:USER|AGENT):[^\]\s]+) [^\]]*\]`)

// taskOf recognises a task. The tag must begin a line, which nothing inside a
// room's line can; of several the last one counts, since data comes before it.
func taskOf(messages []Message) (task, bool) {
	last := messages[len(messages)-1]
	text := last.Text()
	all := taskTag().FindAllStringSubmatchIndex(text, -1)
	if last.Role != "user" || all == nil {
		return task{}, false
	}
	at := all[len(all)-1]
	if all[0][0] == 0 {
		at = all[0]
	}
	from, err1 := strconv.Atoi(text[at[4]:at[5]])
	to, err2 := strconv.Atoi(text[at[6]:at[7]])
	return task{text[at[2]:at[3]], from, to, text[:at[0]]}, err1 == nil && err2 == nil && from <= to
}

// TaskOf names the task that the messages end with: segment, summarise or "".
func TaskOf(messages []Message) string {
	if t, ok := taskOf(messages); ok {
		return t.name
	}
	return ""
}

// answer does the task as the compactor does it without a model.
func (t task) answer(messages []Message, ratio float64) Answer {
	entries := t.entries(sections(t.source))
	if len(entries) == 0 { // the entries are those of the conversation
		entries = t.entries(view(messages[:len(messages)-1]))
	}
	return Answer{
		Text:      compactor.Answer(t.name, entries, ratio, tokensOf),
		Reasoning: "This is a task of the compaction. I do it mechanically.",
	}
}

// entries are those in the task's range, without the times of their lines.
func (t task) entries(all []*mind.Entry) []*mind.Entry {
	all = slices.DeleteFunc(all, func(e *mind.Entry) bool { return e.N < t.from || e.N > t.to })
	for _, e := range all {
		if e.Kind == mind.Inbound {
			e.Text = lineTime().ReplaceAllString(e.Text, "[$1]")
		}
	}
	return all
}

// Task answers the compactor's task that ends the messages, as the Server does, but
// makes a summary as long as a model would: ratio of its source. It is false when
// the last of the messages is no task.
func Task(messages []Message, ratio float64) (Answer, bool) {
	t, ok := taskOf(messages)
	if !ok {
		return Answer{}, false
	}
	return t.answer(messages, ratio), true
}
