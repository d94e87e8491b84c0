package rehearsal

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Tasks are what compaction asks for: cut a range of entries into chunks, or
// summarise one.

// A task is the request's last message when it is one.
type task struct {
	name     string // segment or summarise
	from, to int    // entries
	text     string // the whole message
}

var taskTag = regexp.MustCompile(`(?m)^<task name="(segment|summarise)" from="e(\d+)" to="e(\d+)">`)

// taskOf recognises a task. The tag must begin a line, which nothing inside a
// room's line can; of several the last one counts, since data comes before it.
func taskOf(r *Request) (task, bool) {
	last := r.Last()
	if last.Role != "user" {
		return task{}, false
	}
	all := taskTag.FindAllStringSubmatch(last.Text(), -1)
	if all == nil {
		return task{}, false
	}
	m := all[len(all)-1]
	if strings.HasPrefix(last.Text(), "<task ") {
		m = all[0]
	}
	from, err1 := strconv.Atoi(m[2])
	to, err2 := strconv.Atoi(m[3])
	return task{m[1], from, to, last.Text()}, err1 == nil && err2 == nil && from <= to
}

func (t task) answer(r *Request, ratio float64) Answer {
	entries := t.entries(r)
	var v any
	thought := "I am asked to cut a range into chunks. I cut where the talk turns to something else."
	if t.name == "segment" {
		v = map[string]any{"chunks": t.segment(entries)}
	} else {
		v = summarise(entries, ratio)
		thought = "I am asked for a summary. I keep promises, decisions and names, in their own words."
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // strings and numbers only: cannot happen
		panic(err)
	}
	return Answer{Text: strings.TrimSpace(b.String()), Reasoning: thought}
}

// An entry is a numbered piece of the context.
type entry struct {
	n       int
	inbound bool
	aside   bool   // the daemon's own word: a note, a hint
	text    string // as people would read it: who said what, without structure
	own     string // the part of text that people or this model said
}

// entries returns the entries of the task's range in their order: those inside
// the task's message when it brings its own, else those of the conversation.
func (t task) entries(r *Request) []entry {
	if own := within(t.body(), t.from, t.to); len(own) > 0 {
		return own
	}
	return within(conversation(r.Messages[:len(r.Messages)-1]), t.from, t.to)
}

// body reads the task's message as entries.
func (t task) body() []entry { return userEntries(t.text) }

func within(all []entry, from, to int) []entry {
	var out []entry
	for _, e := range all {
		if e.n < from || e.n > to {
			continue
		}
		if n := len(out); n > 0 && out[n-1].n == e.n { // a reply and its results
			out[n-1].text += "\n" + e.text
			out[n-1].own += "\n" + e.own
			continue
		}
		out = append(out, e)
	}
	return out
}

var callNumber = regexp.MustCompile(`^e(\d+)_\d+$`)

// conversation numbers the entries of native messages. A reply without calls has
// no number on the wire: it follows the entry before it.
func conversation(messages []Message) []entry {
	var out []entry
	last := 0
	for _, m := range native(messages) {
		switch m.Role {
		case "user":
			es := userEntries(m.Text())
			out = append(out, es...)
			if len(es) > 0 {
				last = es[len(es)-1].n
			}
		case "assistant":
			last++
			if len(m.Calls) > 0 {
				last = numberOf(m.Calls[0].ID, last)
			}
			out = append(out, replyEntry(last, m))
		case "tool":
			last = numberOf(m.ToolCallID, last)
			out = append(out, entry{n: last, text: "result: " + strings.TrimSpace(m.Text())})
		}
	}
	return out
}

func numberOf(id string, otherwise int) int {
	m := callNumber.FindStringSubmatch(id)
	if m == nil {
		return otherwise
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return otherwise
	}
	return n
}

func replyEntry(n int, m Message) entry {
	text := strings.TrimSpace(m.Text())
	e := entry{n: n}
	if text != "" {
		e.text, e.own = "I: "+text, "I: "+text
	}
	for _, c := range m.Calls {
		e.text += "\ncalled " + c.Name + " " + c.Arguments
	}
	return e
}

// userEntries reads the entries below the headers of a user message. Faded
// ranges are none: they are not summarised again.
func userEntries(text string) []entry {
	var out []entry
	var lines []string
	var open *entry
	kind := ""
	flush := func() {
		if open == nil {
			return
		}
		open.text, open.own = readable(kind, lines)
		out = append(out, *open)
		open = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if m := entryHeader.FindStringSubmatch(line); m != nil {
			flush()
			lines = nil
			if n, err := strconv.Atoi(m[1]); err == nil && m[2] == "" {
				kind = m[3]
				if part := partHeader.FindStringSubmatch(m[4]); part != nil {
					kind = part[1]
				}
				open = &entry{n: n, inbound: kind == "inbound", aside: kind == "note" || kind == "hint"}
			}
			continue
		}
		lines = append(lines, line)
	}
	flush()
	return out
}

var (
	// partHeader is the rest of the header of a call or of its result.
	partHeader = regexp.MustCompile(`^\.\d+ (call \S+|result)`)
	thoughtRE  = regexp.MustCompile(`(?s)^<reasoning>\n.*?\n</reasoning>\n?`)
)

// taskEnd closes a chunk that stands inside a task's message.
var taskEnd = regexp.MustCompile(`(?s)\n</?(?:task|chunk|entries)\b.*$`)

// readable renders an entry's lines without their structure.
func readable(kind string, lines []string) (text, own string) {
	switch kind {
	case "inbound":
		var b []string
		for _, it := range roomLines("", lines) {
			b = append(b, it.who+": "+it.text)
		}
		text = taskEnd.ReplaceAllString(strings.Join(b, "\n"), "")
		return text, text
	}
	text = taskEnd.ReplaceAllString("\n"+strings.Join(lines, "\n"), "")
	text = strings.TrimSpace(text)
	if name, ok := strings.CutPrefix(kind, "call "); ok {
		return "called " + name + " " + text, ""
	}
	if kind == "reply" || kind == "" {
		if text = thoughtRE.ReplaceAllString(text, ""); text == "" {
			return "", ""
		}
		return "I: " + text, "I: " + text
	}
	return kind + ": " + text, ""
}

type chunkOut struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Topic string `json:"topic"`
}

// Bounds of a chunk, in tokens.
const (
	minChunk = 600
	maxChunk = 6000
)

// segment cuts at entries that begin something new: inbound, with other words
// than before. The chunks cover the range without a gap.
func (t task) segment(entries []entry) []chunkOut {
	var groups [][]entry
	size := 0
	seen := map[string]int{} // keywords of the open group
	for _, e := range entries {
		n := Tokens(e.text)
		turns := e.inbound && size >= minChunk && strange(e.own, seen)
		if len(groups) == 0 || size+n > maxChunk || turns {
			groups = append(groups, nil)
			size, seen = 0, map[string]int{}
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], e)
		size += n
		for _, k := range keywords(e.text) {
			seen[k]++
		}
	}
	groups = mergeSmall(groups)
	out := []chunkOut{}
	for i, g := range groups {
		from, to := g[0].n, g[len(g)-1].n
		if i == 0 {
			from = t.from
		}
		if i == len(groups)-1 {
			to = t.to
		}
		out = append(out, chunkOut{"e" + strconv.Itoa(from), "e" + strconv.Itoa(to), topic(g)})
	}
	if len(out) == 0 {
		out = append(out, chunkOut{"e" + strconv.Itoa(t.from), "e" + strconv.Itoa(t.to), "nothing to see"})
	}
	return out
}

var speaker = regexp.MustCompile(`(?m)^[^\s:]{1,40}: `)

// strange says whether a text has little to do with the words seen so far.
func strange(text string, seen map[string]int) bool {
	keys := keywords(speaker.ReplaceAllString(text, ""))
	known := 0
	for _, k := range keys {
		if seen[k] > 0 {
			known++
		}
	}
	return len(keys) > 0 && known*3 < len(keys)
}

// mergeSmall joins a last group that is too small to the one before it.
func mergeSmall(groups [][]entry) [][]entry {
	n := len(groups)
	if n < 2 || groupTokens(groups[n-1]) >= minChunk || groupTokens(groups[n-1])+groupTokens(groups[n-2]) > maxChunk {
		return groups
	}
	groups[n-2] = append(groups[n-2], groups[n-1]...)
	return groups[:n-1]
}

func groupTokens(g []entry) int {
	n := 0
	for _, e := range g {
		n += Tokens(e.text)
	}
	return n
}
