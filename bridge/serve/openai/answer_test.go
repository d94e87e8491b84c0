package openai

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"lethe/agent/events"
	"lethe/agent/host"
)

// What happens in a turn, as a stream tells it and as an answer does.
func TestHear(t *testing.T) {
	event := func(kind, entry, text string, from int64) events.Event {
		return events.Event{Type: kind, Entry: entry, Text: text, Call: events.Call{Offset: from}, Turn: 2}
	}
	in := func(room string, e events.Event) events.Event { e.Room = room; return e }
	happens := []events.Event{
		in("dev", events.Event{Type: events.MessageDone, Entry: "e1", Text: "of before"}),
		in("dev", events.Event{Type: events.UserMessage, Entry: "e2", Heard: events.Heard{Line: "other"}, Turn: 1}),
		in("ops", events.Event{Type: events.UserMessage, Entry: "e2", Heard: events.Heard{Line: "mine"}, Turn: 1}),
		{Type: events.TurnEnd, Turn: 1},
		in("dev", events.Event{Type: events.UserMessage, Entry: "e3", Heard: events.Heard{Line: "mine"}, Turn: 2}),
		event(events.ThinkingDelta, "e4", "Hm, ", 0), event(events.ThinkingDelta, "e4", "so.", 4), event(events.ThinkingDone, "e4", "Hm, so.", 0),
		event(events.MessageDelta, "e4", "I lo", 0), event(events.MessageDelta, "e4", "ok", 4), event(events.MessageDone, "e4", "I look.", 0),
		{Type: events.ToolRequest, Entry: "e4.1", Call: events.Call{Tool: "SAY"}, Turn: 2},
		in("ops", event(events.MessageDone, "e4.1", "said elsewhere", 0)),
		event(events.MessageDelta, "e5", "It wa", 0), event(events.MessageDelta, "e5", "It is ", 0),
		event(events.MessageDelta, "e5", "there.", 6),
		in("dev", event(events.MessageDone, "e5", "It is there.", 0)),
		in("dev", event(events.MessageDone, "k1", "90 % of a limit.", 0)),
		{Type: events.Paused, Entry: "k2"}, in("dev", event(events.MessageDone, "k2", "The model refuses.", 0)),
		{Type: events.TurnEnd, Turn: 2, Why: "budget"}, in("dev", events.Event{Type: events.MessageDone, Entry: "e9", Text: "of later", Turn: 3}),
	}
	for streams, want := range map[bool][]string{
		true: {
			"Hm, |so.|\n\n↳ SAY ", "|I lo|ok|.|\n\nIt wa|\n\nIt is |there.|\n\n90 % of a limit.",
		},
		false: {"Hm, so.\n\n↳ SAY ", "It is there.\n\n90 % of a limit."},
	} {
		w := httptest.NewRecorder()
		a := newAnswer(w, request{Model: "ada", Stream: streams})
		heard := &turn{room: "dev", line: "mine", answer: a}
		for _, e := range happens {
			if err := heard.hear(e); err != nil {
				t.Error(err)
			}
		}
		if err := a.finish(host.Reply{Ended: "budget"}, nil); err != nil {
			t.Error(err)
		}
		thinking, content, finish := pieces(t, w.Body.String())
		if thinking != want[0] || content != want[1] || finish != "length" {
			t.Errorf("thinks %q, says %q, ends with %s", thinking, content, finish)
		}
	}
}

// pieces joins what a body tells with bars.
func pieces(t *testing.T, body string) (thinking, content, finish string) {
	type said struct {
		Thinking *string `json:"reasoning_content"`
		Content  *string
	}
	var thoughts, words []string
	for line := range strings.Lines(body) {
		line, _ = strings.CutPrefix(line, "data: ")
		var c struct {
			Choices []struct {
				Delta, Message said
				Finish         string `json:"finish_reason"`
			}
		}
		if json.Unmarshal([]byte(line), &c) != nil || len(c.Choices) == 0 {
			continue
		}
		for _, s := range []said{c.Choices[0].Delta, c.Choices[0].Message} {
			if s.Thinking != nil {
				thoughts = append(thoughts, *s.Thinking)
			}
			if s.Content != nil {
				words = append(words, *s.Content)
			}
		}
		finish = c.Choices[0].Finish
	}
	return strings.Join(thoughts, "|"), strings.Join(words, "|"), finish
}
