package rehearsal

import (
	"strings"
	"testing"
)

// What a client joins or puts in between, where roles have to take turns, changes
// nothing of what is understood.
func TestNativeMessages(t *testing.T) {
	say := func(role, text string) Message { return Message{Role: role, Content: &text} }
	call, gave := say("assistant", ""), say("tool", "Friday\n\n◆ e5 hint\nYou have forgotten details of these")
	call.Calls, gave.ToolCallID = []Call{{"e4_1", "BASH", `{"command":"date"}`}}, "e4_1"
	messages := []Message{
		say("user", "◆ past\n◆ e1..e2 gist ◱hash=0123456789abcdef gist=a walk◲\n\n◆ e3 inbound room=dev\n[USER:ada 2026-11-20T12:57:16Z] run date"),
		call, gave, say("assistant", "(not finished yet)"),
		say("user", "◆ e6 inbound room=dev\n[USER:bob 2026-11-20T12:57:18Z] run pwd\n\n◆ e7 note\nSomebody changed self/MEMORY.md."),
	}
	tn := newTurn(&Request{Messages: messages}, 0)
	var kinds []kind
	for _, it := range tn.items {
		kinds = append(kinds, it.kind)
		if it.kind == resultItem && it.text != "Friday" {
			t.Errorf("the result is %q", it.text)
		}
	}
	if len(tn.lines()) != 2 || tn.start != 0 {
		t.Errorf("%d lines from item %d: %v", len(tn.lines()), tn.start, kinds)
	}
	var said strings.Builder
	for _, e := range conversation(messages) {
		said.WriteString(e.text + "\n")
	}
	if strings.Contains(said.String(), "not finished") || !strings.Contains(said.String(), "result: Friday\n") {
		t.Errorf("%s", said.String())
	}
}
