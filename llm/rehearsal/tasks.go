package rehearsal

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"lethe/compactor"
	"lethe/mind"
)

// A task is the request's last message when a compaction asks for something: to
// cut a range of entries into chunks, or to summarise one.
type task struct {
	name     string // segment or summarise
	from, to int    // entries
	source   string // what stands before the task in its message
}

var taskTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^<task name="(segment|summarise)" from="e(\d+)" to="e(\d+)">`)
})

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

// answer does the task as the compactor does it without a model.
func (t task) answer(messages []Message, ratio float64) Answer {
	entries := t.entries(sections(nil, t.source))
	if len(entries) == 0 { // the entries are those of the conversation
		entries = t.entries(view(messages[:len(messages)-1]))
	}
	return Answer{
		Text:      compactor.Answer(t.name, entries, ratio, Tokens),
		Reasoning: "This is a task of the compaction. I do it mechanically.",
	}
}

// entries makes entries of the items in the task's range.
func (t task) entries(items []item) []*mind.Entry {
	var out []*mind.Entry
	for _, it := range items {
		if it.entry < t.from || it.entry > t.to {
			continue
		}
		if n := len(out); n == 0 || out[n-1].N != it.entry {
			out = append(out, &mind.Entry{N: it.entry})
		}
		e := out[len(out)-1]
		switch it.kind {
		case lineItem:
			tag := "USER:"
			if it.agent {
				tag = "AGENT:"
			}
			e.Kind = mind.Inbound
			e.Text = strings.TrimPrefix(e.Text+"\n["+tag+it.who+"] "+it.text, "\n")
		case replyItem:
			e.Kind, e.Text = mind.Reply, it.text
			for _, c := range it.calls {
				e.Calls = append(e.Calls, &mind.Call{Tool: c.Name, Args: c.Arguments, Status: mind.OK})
			}
		case resultItem:
			for _, c := range e.Calls {
				if c.Text == "" {
					c.Text = it.text
					break
				}
			}
		default:
			e.Kind, e.Text = mind.Note, it.text
		}
	}
	return out
}
