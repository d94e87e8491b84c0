package rerun

import (
	"testing"

	"lethe/agent/budget"
	"lethe/agent/llm"
)

// An answer whose tokens the provider has not told costs the most that it may; an attempt that was not sent, nothing.
func TestAnsweredCost(t *testing.T) {
	for _, c := range []struct {
		reply llm.Reply
		want  budget.USD
	}{
		{llm.Reply{Text: "well"}, 7},
		{llm.Reply{Calls: []llm.ToolCall{{Name: "SAY"}}, Waste: llm.Waste{Unanswered: 1}}, 14},
		{llm.Reply{Waste: llm.Waste{Calls: 1}}, 7},
		{llm.Reply{}, 0},
	} {
		if got := (&step{worst: 7}).answered(llm.Known{}, c.reply); got != c.want {
			t.Errorf("%+v costs %d, want %d", c.reply, got, c.want)
		}
	}
}
