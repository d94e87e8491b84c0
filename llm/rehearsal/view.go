package rehearsal

import (
	"regexp"
	"strings"
)

// A kind says what an item of the conversation is.
type kind uint8

const (
	lineItem   kind = iota // a line that someone said in a room
	noteItem               // the harness's own word
	hintItem               // gists that may matter to the line before
	replyItem              // what this model said before
	resultItem             // what a call of a reply gave
	pastItem               // a faded range, or the agent's notes
)

// An item is one thing that the request shows, in the order of time.
type item struct {
	kind  kind
	who   string // of a line
	agent bool   // the line is another agent's
	room  string // of a line
	text  string
	calls []Call // of a reply
	call  Call   // of a result
}

var (
	entryHeader = regexp.MustCompile(`^◆ (?:e(\d+)(?:\.\.e(\d+))? ?)?([a-z-]*)(.*)$`)
	roomLine    = regexp.MustCompile(`^\[(USER|AGENT):([^\]\s]+)(?: [^\]]*)?\] ?(.*)$`)
	roomOf      = regexp.MustCompile(`\broom=(\S+)`)
)

// view reads a request as a conversation. Where user messages carry entry
// headers, what stands below no header is background; where none does (a plain
// client), every user message is a line of someone called "you".
func view(r *Request) []item {
	plain := true
	for _, m := range r.Messages {
		if m.Role == "user" && strings.HasPrefix(m.Text(), "◆ ") {
			plain = false
		}
	}
	var items []item
	calls := map[string]Call{}
	for _, m := range native(r.Messages) {
		switch m.Role {
		case "user":
			if plain {
				items = append(items, item{kind: lineItem, who: "you", text: m.Text()})
			} else {
				items = append(items, sections(m.Text())...)
			}
		case "assistant":
			items = append(items, item{kind: replyItem, text: m.Text(), calls: m.Calls})
			for _, c := range m.Calls {
				calls[c.ID] = c
			}
		case "tool":
			items = append(items, item{kind: resultItem, text: m.Text(), call: calls[m.ToolCallID]})
		}
	}
	return items
}

// native takes back what a client does where roles have to take turns: it joins
// remarks to results, and has the model say something in between. A result holds
// no ◆ of its own.
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

// sections splits a user message at its headers.
func sections(text string) []item {
	var items []item
	var header []string
	var body []string
	flush := func() {
		items = append(items, section(header, body)...)
		body = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if m := entryHeader.FindStringSubmatch(line); m != nil {
			flush()
			header = m
			continue
		}
		body = append(body, line)
	}
	flush()
	return items
}

// section turns what stands below one header into items. LIFE is left out: it
// speaks of what happened, not of what was said.
func section(header, body []string) []item {
	text := strings.TrimSpace(strings.Join(body, "\n"))
	if header == nil {
		if text == "" {
			return nil
		}
		return []item{{kind: pastItem, text: text}}
	}
	switch header[3] {
	case "inbound":
		room := ""
		if m := roomOf.FindStringSubmatch(header[4]); m != nil {
			room = m[1]
		}
		return roomLines(room, body)
	case "note":
		return []item{{kind: noteItem, text: text}}
	case "hint":
		return []item{{kind: hintItem, text: text}}
	case "life":
		return nil
	}
	// A faded range holds its ref in the header.
	return []item{{kind: pastItem, text: strings.TrimSpace(header[4] + "\n" + text)}}
}

// roomLines reads tagged lines. What has no tag continues the line above it.
func roomLines(room string, body []string) []item {
	var items []item
	for _, l := range body {
		if m := roomLine.FindStringSubmatch(l); m != nil {
			items = append(items, item{kind: lineItem, who: m[2], agent: m[1] == "AGENT", room: room, text: m[3]})
			continue
		}
		if n := len(items); n > 0 {
			items[n-1].text += "\n" + strings.TrimPrefix(l, "    ")
		} else if strings.TrimSpace(l) != "" {
			items = append(items, item{kind: lineItem, who: "unknown", room: room, text: l})
		}
	}
	for i := range items {
		items[i].text = strings.TrimSpace(strings.ReplaceAll(items[i].text, "\u2028", "\n"))
	}
	return items
}
