package rehearsal

import (
	"fmt"
	"slices"
	"strings"

	"lethe/compactor/recall/text"
	"lethe/internal/pattern"
	"lethe/mind"
)

// view reads messages as the entries of a conversation. What stands below no header of an entry is background, without
// a number and a kind. Where no message has a header (a plain client), each is a line of someone called "you".
func view(messages []Message) []*mind.Entry {
	var out []*mind.Entry
	plain := !slices.ContainsFunc(messages, func(m Message) bool { return strings.HasPrefix(m.Text(), "◆ ") })
	calls := map[string]*mind.Call{}
	last := 0 // the number of the newest entry: a reply without calls tells none
	for _, m := range messages {
		text := m.Text()
		switch m.Role {
		case "user":
			if plain {
				text = "◆ e1 inbound\n[USER:you] " + strings.ReplaceAll(text, "\n", "\n    ")
			}
			for _, e := range sections(text) {
				out, last = append(out, e), max(last, e.N)
			}
		case "assistant":
			if len(m.Calls) == 0 && text == "(not finished yet)" { // a client's filler
				continue
			}
			e := &mind.Entry{N: last + 1, Kind: mind.Reply, Text: text}
			for _, c := range m.Calls {
				call := &mind.Call{Tool: c.Name, Args: c.Arguments, Status: mind.OK}
				e.Calls, calls[c.ID] = append(e.Calls, call), call
				_, _ = fmt.Sscanf(c.ID, "e%d_", &e.N) // an id of the client's own leaves it
			}
			out, last = append(out, e), e.N
		case "tool":
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
func sections(body string) (out []*mind.Entry) {
	newest := &mind.Entry{}
	for s := range text.Sections(body) {
		said := strings.TrimSpace(s.Text(body))
		switch s.Kind {
		case mind.Inbound, mind.Note, mind.Hint, mind.Reply:
			if _, after, ok := strings.Cut(said, "\n</reasoning>"); ok {
				said = strings.TrimSpace(after)
			}
			newest = &mind.Entry{N: s.Entry, Kind: s.Kind, Room: s.Room, Text: said}
			out = append(out, newest)
		case "call":
			newest.Calls = append(newest.Calls, &mind.Call{Tool: s.Tool, Args: said, Status: mind.OK})
		case "result":
			if len(newest.Calls) > 0 {
				newest.Calls[len(newest.Calls)-1].Text = said
			}
		default:
			if head := s.Header(body); !strings.HasPrefix(head, "life") {
				out = append(out, &mind.Entry{Text: head + "\n" + said}) // a faded range has its ref in the header
			}
		}
	}
	return out
}

// A line is what somebody said in a room, or a text that nobody is known to have said.
type line struct {
	who, text string
	room      string
	agent     bool
	now       bool // it belongs to the turn that is under way
}

var roomLine = pattern.Lazy(`^\[(USER|AGENT):([^\]\s]+)(?: [^\]]*)?\] ?(.*)$`)

// linesOf reads an entry. What is indented continues the line above it.
func linesOf(e *mind.Entry) (out []line) {
	for _, s := range strings.Split(strings.ReplaceAll(e.Text, "\u2028", "\n"), "\n") {
		more, indented := strings.CutPrefix(s, "    ")
		if m := roomLine().FindStringSubmatch(s); m != nil {
			out = append(out, line{who: m[2], text: m[3], room: e.Room, agent: m[1] == "AGENT"})
		} else if indented && len(out) > 0 {
			out[len(out)-1].text += "\n" + more
		} else {
			out = append(out, line{text: s})
		}
	}
	return out
}
