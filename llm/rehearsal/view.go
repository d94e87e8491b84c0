package rehearsal

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"lethe/mind"
)

// A kind says what an item of the conversation is.
type kind uint8

const (
	lineItem   kind = iota // a line that somebody said in a room
	noteItem               // a remark of the daemon
	hintItem               // refs that may matter to the line before
	replyItem              // what this model said before
	resultItem             // what a call of a reply gave
	pastItem               // a faded range, or the agent's notes
)

// An item is one thing that the request shows, in the order of time.
type item struct {
	kind  kind
	entry int // the number of its entry, 0 for the background
	who   string
	agent bool // the line is another agent's
	text  string
	calls []Call // of a reply
	call  Call   // of a result
}

var (
	entryHeader = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^◆ (?:e(\d+)(?:\.\d+|\.\.e\d+)? )?([a-z]*)(?:$| )(.*)$`)
	})
	roomLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[(USER|AGENT):([^\]\s]+)(?: [^\]]*)?\] ?(.*)$`)
	})
)

// view reads messages as a conversation. Where user messages carry entry
// headers, what stands below no header is background; where none does (a plain
// client), every user message is a line of someone called "you".
func view(messages []Message) []item {
	plain := true
	for _, m := range messages {
		if m.Role == "user" && strings.HasPrefix(m.Text(), "◆ ") {
			plain = false
		}
	}
	var items []item
	calls := map[string]Call{}
	last := 0 // the number of the newest entry: a reply without calls tells none
	for _, m := range native(messages) {
		id := m.ToolCallID
		if len(m.Calls) > 0 {
			id = m.Calls[0].ID
		}
		if n, _, ok := strings.Cut(strings.TrimPrefix(id, "e"), "_"); ok {
			if n, err := strconv.Atoi(n); err == nil {
				last = n
			}
		} else if m.Role == "assistant" {
			last++
		}
		switch m.Role {
		case "user":
			if plain {
				items = append(items, item{kind: lineItem, who: "you", text: m.Text()})
				continue
			}
			items = sections(items, m.Text())
			if n := len(items); n > 0 {
				last = max(last, items[n-1].entry)
			}
		case "assistant":
			items = append(items, item{kind: replyItem, entry: last, text: m.Text(), calls: m.Calls})
			for _, c := range m.Calls {
				calls[c.ID] = c
			}
		case "tool":
			items = append(items, item{kind: resultItem, entry: last, text: m.Text(), call: calls[m.ToolCallID]})
		}
	}
	return items
}

// native undoes what a client does where roles have to take turns: it joins
// remarks to results, and puts fillers in between. A result holds no ◆ of its own.
func native(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		text := m.Text()
		if m.Role == "assistant" && len(m.Calls) == 0 && (text == "(noted)" || text == "(not finished yet)") {
			continue
		}
		result, remarks, joined := strings.Cut(text, "\n\n◆ ")
		if m.Role != "tool" || !joined {
			out = append(out, m)
			continue
		}
		m.Content, remarks = &result, "◆ "+remarks
		out = append(out, m, Message{Role: "user", Content: &remarks})
	}
	return out
}

// sections appends what a user message shows below each of its headers.
func sections(items []item, text string) []item {
	header := []string{"", "", "", ""}
	var body []string
	for line := range strings.SplitSeq(text, "\n") {
		if m := entryHeader().FindStringSubmatch(line); m != nil {
			items, header, body = section(items, header, body), m, nil
			continue
		}
		body = append(body, line)
	}
	return section(items, header, body)
}

// section appends what stands below one header. LIFE is left out: it tells what
// happened, not what was said.
func section(items []item, header, body []string) []item {
	text := strings.TrimSpace(strings.Join(body, "\n"))
	n, _ := strconv.Atoi(header[1])
	switch header[2] {
	case "inbound":
		return roomLines(items, n, body)
	case mind.Note:
		return append(items, item{kind: noteItem, entry: n, text: text})
	case mind.Hint:
		return append(items, item{kind: hintItem, entry: n, text: text})
	case "reply":
		if _, said, ok := strings.Cut(text, "\n</reasoning>"); ok {
			text = strings.TrimSpace(said)
		}
		return append(items, item{kind: replyItem, entry: n, text: text})
	case "call":
		for i := len(items) - 1; i >= 0 && items[i].entry == n; i-- {
			if items[i].kind == replyItem {
				items[i].calls = append(items[i].calls, Call{Name: header[3], Arguments: text})
			}
		}
		return items
	case "result":
		return append(items, item{kind: resultItem, entry: n, text: text})
	case "life":
		return items
	}
	// A faded range has its ref in the header.
	if text = strings.TrimSpace(header[0] + "\n" + text); text != "" {
		items = append(items, item{kind: pastItem, text: text})
	}
	return items
}

// roomLines appends tagged lines. What has no tag continues the line above it.
func roomLines(items []item, entry int, body []string) []item {
	from := len(items)
	for _, l := range body {
		if m := roomLine().FindStringSubmatch(l); m != nil {
			items = append(items, item{kind: lineItem, entry: entry, who: m[2], agent: m[1] == "AGENT", text: m[3]})
		} else if n := len(items); n > from {
			items[n-1].text += "\n" + strings.TrimPrefix(l, "    ")
		}
	}
	for i := range items[from:] {
		it := &items[from+i]
		it.text = strings.TrimSpace(strings.ReplaceAll(it.text, "\u2028", "\n"))
	}
	return items
}
