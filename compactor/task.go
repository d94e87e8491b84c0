package compactor

import (
	"fmt"
	"slices"
	"strings"

	"lethe/blobs"
	"lethe/mind"
	"lethe/mind/message"
)

// The names of the tasks, as they stand in their prompts.
const (
	Segment   = "segment"
	Summarise = "summarise"
)

// What the program itself says about the answers. It stands for itself, since the
// instructions before it may be an identity's own.
const segmentForm = `A chunk has about %d tokens, %d at most; what is a thing by itself may have as few as %d, what is alone any number.
Every entry is in one chunk. Cut only between the lines of the list: each is a question with all up to its answer, or a step of a long turn.
Answer with one JSON object and nothing else, and call no tool:
{"chunks":[{"from":"e1","to":"e2","topics":["…"],"relevance":4,"alone":false}, …]}
topics: what you would look for it by, usually one; each gets its own words in the summary.
alone: true for a rule, a promise or a confidence. It is joined with nothing else, however short it is.
` + relevanceForm + `A chunk below %d tokens gets no summary. Such a one has a gist, too, and pins, over and overtakes where there are any:
` + remarksForm

const summariseForm = `Answer with one JSON object and nothing else, and call no tool:
{"summary":"…","gist":"…","relevance":4,"pins":[],"over":[],"overtakes":[]}
summary: of these entries; of later ones only what they have overtaken. At most %d words; much more is cut from its end.
` + relevanceForm + remarksForm

const relevanceForm = `relevance: 1 (small talk, dead ends), 5 (may be asked for again), 9 (what is being worked on). The least relevant fade first.
`

const remarksForm = `gist: one line of at most %d characters: what, outcome, one name to find it by; of several topics each.
pins: sentences that people or you said in these entries, word for word, that must stay before you when the rest has faded: a standing rule, a confidence, a promise not yet kept. Usually none; none that stands in MEMORY or the pins already.
over: pins, or such sentences of earlier entries, word for word, that are kept or withdrawn by now. Usually none.
overtakes: what these entries have changed of older ones: their range, the entry that did, and the old line, word for word, like "e3..e9 by e35: the code is 4471". Only that line is marked. Usually none.
`

// Wish words what a person says about one compaction, for its tasks and for the life; of nothing it says nothing.
func Wish(keep string) string {
	if keep == "" {
		return ""
	}
	return "A person asks of this compaction, and of no later one: " + oneLine(keep)
}

// task renders the last message of a request. why is the fault of the answer before; nil for the first.
func (j Job) task(name string, units []unit, why error) string {
	instructions := j.in.Segment
	if name == Summarise {
		instructions = j.in.Summarise
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<task name=%q from=%q to=%q>\n", name, mind.EntryID(units[0].N), mind.EntryID(units[len(units)-1].N))
	b.WriteString(strings.TrimSpace(blobs.Escape(instructions)))
	b.WriteString("\n\nThe entries, with their tokens and first words:\n")
	j.list(&b, units, name == Segment)
	if name == Segment {
		set := j.in.Settings
		fmt.Fprintf(&b, "\n"+segmentForm, set.usualChunk()/100*100, set.maxChunk()/100*100, aloneChunk, aloneChunk, blobs.MaxGist)
	} else {
		fmt.Fprintf(&b, "\n"+summariseForm, j.longest(relevant(units))*3/5, blobs.MaxGist)
	}
	if j.in.Wish != "" {
		b.WriteString(blobs.Escape(j.in.Wish) + "\nGo by it in cuts, relevance and what a summary tells; pin nothing for it.\n")
	}
	if why != nil {
		what := strings.TrimPrefix(why.Error(), ErrGarbage.Error()+": ")
		fmt.Fprintf(&b, "Your last answer could not be used: %s.\n", blobs.Escape(oneLine(what)))
	}
	b.WriteString("</task>")
	return b.String()
}

// Runes of the first words of a piece, and how many pieces a list shows of a
// chunk: enough to find its beginning and its end.
const (
	firstWords = 60
	listedEnds = 12
)

// list names the pieces with their entries, since a reply without calls has no number on the
// wire. Of a range to be cut every one is listed, with fewer words when there are many.
func (j Job) list(b *strings.Builder, units []unit, all bool) {
	var list [][]unit
	for _, run := range runs(units, j.request.Together) {
		list = append(list, pieces(run, j.in.Settings.maxChunk())...)
	}
	words := firstWords
	if all && len(list) > 100 {
		words = max(12, 100*firstWords/len(list))
	}
	for i, piece := range list {
		isMiddle := i >= listedEnds && i < len(list)-listedEnds
		if isMiddle && !all {
			if i == listedEnds {
				fmt.Fprintf(b, "… %d more …\n", len(list)-2*listedEnds)
			}
			continue
		}
		id := mind.EntryID(piece[0].N)
		if len(piece) > 1 {
			id += ".." + mind.EntryID(piece[len(piece)-1].N)
		}
		at := max(0, slices.IndexFunc(piece, func(u unit) bool { return u.Kind == mind.Inbound }))
		fmt.Fprintf(b, "%s %d %s\n", id, size(piece), truncate(first(piece[at]), words))
	}
}

// first returns the beginning of an entry, without the tag of a room's line.
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
	last := mind.Message{Role: "user", Content: message.Text(task)}
	if !j.in.Settings.Alone && j.base+j.in.Meter.messages(last) <= limit {
		return Ask{Fork: true, Task: name, Messages: append(slices.Clip(j.messages), last)}, true
	}
	alone := strings.TrimSpace(j.notes + "\n" + text(units) + "\n\n" + task)
	messages := []mind.Message{j.messages[0], {Role: "user", Content: message.Text(alone)}}
	return Ask{Task: name, Messages: messages}, j.fixed+j.in.Meter.messages(messages...) <= limit
}
