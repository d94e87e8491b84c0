package rehearsal

import (
	"strconv"
	"strings"

	"lethe/internal/lazy"
	"lethe/mind"
)

// view reads messages as the entries of a conversation. What stands below no header of
// an entry is background, without a number and a kind. Where no user message has a
// header (a plain client), each is a line of someone called "you".
func view(messages []Message) []*mind.Entry {
	plain := true
	for _, m := range messages {
		plain = plain && !(m.Role == "user" && strings.HasPrefix(m.Text(), "◆ "))
	}
	var out []*mind.Entry
	calls := map[string]*mind.Call{}
	last := 0 // the number of the newest entry: a reply without calls tells none
	for _, m := range messages {
		text := m.Text()
		switch {
		case m.Role == "user" && plain:
			out = append(out, &mind.Entry{Kind: mind.Inbound, Text: "[USER:you] " + text})
		case m.Role == "user":
			out = append(out, sections(text)...)
			if n := len(out); n > 0 {
				last = max(last, out[n-1].N)
			}
		case m.Role == "assistant" && (len(m.Calls) > 0 || text != "(not finished yet)"): // a client's filler
			last++
			e := &mind.Entry{Kind: mind.Reply, Text: text}
			for _, c := range m.Calls {
				call := &mind.Call{Tool: c.Name, Args: c.Arguments, Status: mind.OK}
				e.Calls, calls[c.ID] = append(e.Calls, call), call
				if n, err := strconv.Atoi(strings.TrimPrefix(strings.Split(c.ID, "_")[0], "e")); err == nil {
					last = n
				}
			}
			e.N = last
			out = append(out, e)
		case m.Role == "tool":
			// A client may join remarks to a result, which holds no ◆ of its own.
			result, remarks, joined := strings.Cut(text, "\n\n◆ ")
			if c := calls[m.ToolCallID]; c != nil {
				c.Text = result
			}
			if joined {
				out = append(out, sections("◆ "+remarks)...)
			}
		}
	}
	return out
}

// sections reads what a user message shows below each of its headers. LIFE is left
// out: it tells what happened, not what was said.
func sections(text string) (out []*mind.Entry) {
	parts := strings.Split("\n"+text, "\n◆ ")
	if above := strings.TrimSpace(parts[0]); above != "" {
		out = append(out, &mind.Entry{Text: above})
	}
	for _, part := range parts[1:] {
		head, body, _ := strings.Cut(part, "\n")
		body = strings.TrimSpace(body)
		id, rest, _ := strings.Cut(head, " ")
		kind, what, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(strings.TrimPrefix(id, "e"))
		whole := err == nil && (kind == mind.Inbound || kind == mind.Note || kind == mind.Hint || kind == mind.Reply)
		newest := &mind.Entry{}
		if len(out) > 0 {
			newest = out[len(out)-1]
		}
		switch {
		case whole:
			if _, said, ok := strings.Cut(body, "\n</reasoning>"); ok {
				body = strings.TrimSpace(said)
			}
			_, room, _ := strings.Cut(what, "room=")
			room, _, _ = strings.Cut(room, " ")
			out = append(out, &mind.Entry{N: n, Kind: kind, Room: room, Text: body})
		case kind == "call":
			newest.Calls = append(newest.Calls, &mind.Call{Tool: what, Args: body, Status: mind.OK})
		case kind == "result" && len(newest.Calls) > 0:
			newest.Calls[len(newest.Calls)-1].Text = body
		case id != "life" && id != "life:":
			out = append(out, &mind.Entry{Text: strings.TrimSpace(head + "\n" + body)}) // a faded range has its ref in the header
		}
	}
	return out
}

// A line is what somebody said in a room.
type line struct {
	who, text string
	room      string
	agent     bool
	now       bool // it belongs to the turn that is under way
}

var roomLine = lazy.Regexp(`^\[(USER|AGENT):([^\]\s]+)(?: [^\]]*)?\] ?(.*)$`)

// linesOf reads the tagged lines of an inbound entry. What has no tag continues the
// line above it.
func linesOf(e *mind.Entry) (out []line) {
	for s := range strings.SplitSeq(strings.ReplaceAll(e.Text, "\u2028", "\n"), "\n") {
		if m := roomLine().FindStringSubmatch(s); m != nil {
			out = append(out, line{who: m[2], text: m[3], room: e.Room, agent: m[1] == "AGENT"})
		} else if n := len(out); n > 0 {
			out[n-1].text += "\n" + strings.TrimPrefix(s, "    ")
		}
	}
	return out
}
