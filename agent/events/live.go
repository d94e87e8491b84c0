package events

import (
	"strings"
	"time"

	"lethe/agent/status"
	"lethe/blobs"
	"lethe/mind"
)

// shown is the part that a stream has told of a text that grows. It begins at an offset.
type shown struct {
	entry string
	from  int64
	text  string
}

// deltas tells the text that was added to events under way. A text that begins anew begins at its offset
// again, if need be with nothing.
func (s *Stream) deltas(l status.Live) (out []Event) {
	tool, runs := s.runs(l.Call)
	if !runs {
		l.Call = ""
	}
	if l.Entry != mind.EntryID(s.state.Next) || !s.state.Owes { // of a process that was killed
		l.Entry = ""
	}
	for i, now := range []shown{{l.Entry, 0, soFar(l.Thinking)}, {l.Entry, 0, soFar(l.Text)}, {l.Call, l.From, l.Output}} {
		kind := []string{ThinkingDelta, MessageDelta, ToolOutput}[i]
		was := s.told[kind]
		isBlank := now.text == "" && was.entry != now.entry
		if now.entry == "" || isBlank {
			delete(s.told, kind)
			continue
		}
		e := Event{Type: kind, At: time.Now().UTC(), Agent: s.log.Name, Turn: s.state.Turn + 1, Entry: now.entry,
			Text: now.text, Call: Call{Offset: now.from}}
		if kind == ToolOutput {
			e.Tool = tool
		}
		anew := true
		if was.entry == now.entry && was.from <= now.from {
			known := was.text[min(now.from-was.from, int64(len(was.text))):]
			if rest, ok := strings.CutPrefix(now.text, known); ok {
				e.Text, e.Offset, anew = rest, now.from+int64(len(known)), false
			}
		}
		if s.told[kind] = now; anew || e.Text != "" {
			out = append(out, e)
		}
	}
	return out
}

// soFar is the beginning of what a text of the model will be told as when it is done. An end that
// may become something else is left out.
func soFar(text string) string {
	return strings.TrimSpace(blobs.Unescape(strings.TrimSuffix(text, "◰")))
}

// runs reports whether a call is under way, and returns its tool.
func (s *Stream) runs(id string) (tool string, ok bool) {
	for _, p := range s.state.Owed().Calls {
		if p.ID() == id && p.Call.Started {
			return p.Call.Tool, true
		}
	}
	if len(s.state.Approved) == 0 {
		return "", false
	}
	if first := s.state.Approved[0]; first.Began && first.ID == id {
		return first.Tool, true
	}
	return "", false
}

// Growing is a text on its way to a client that takes no piece back: thoughts, or messages, a
// paragraph each. The zero value is ready.
type Growing struct {
	Entry     string // that is under way, or was last
	raw, sent string // what of it has come, and what was told
	gap       bool   // what follows begins a paragraph
}

// More is what is still to be told of the text of an event. whole says that the event has all of it, and not a
// piece that comes while it is written.
func (g *Growing) More(e Event, whole bool) (more string) {
	if g.Entry != e.Entry {
		*g = Growing{Entry: e.Entry, gap: g.gap || g.sent != ""}
	}
	text := e.Text
	if !whole {
		if int(e.Offset) > len(g.raw) {
			return "" // a piece is missing: the end has all
		}
		g.raw = g.raw[:e.Offset] + e.Text
		text = g.raw
	}
	switch {
	case strings.HasPrefix(text, g.sent):
		more = text[len(g.sent):]
	case !strings.HasPrefix(g.sent, text): // it began anew
		more, g.gap = text, true
	}
	if more == "" {
		return ""
	}
	if g.sent = text; g.gap {
		more, g.gap = "\n\n"+more, false
	}
	return more
}
