package replay

import (
	"strings"

	"lethe/internal/locomo"
)

// acknowledge is how many lines of a conversation an answer follows.
const acknowledge = 10

// Talk makes a trace of a conversation that an agent listens to: each session
// opens with its date, each line names its speaker, and the agent, which is no
// part of the conversation, acknowledges every tenth line with a word, so that
// there are requests.
func Talk(c locomo.Conversation) []Item {
	var out []Item
	for _, s := range c.Sessions {
		out = append(out, Item{User, "(" + s.At.Format(locomo.TimeFormat) + ")"})
		for i, l := range s.Lines {
			out = append(out, Item{User, l.Speaker + ": " + strings.TrimSpace(l.Text)})
			if i%acknowledge == acknowledge-1 {
				out = append(out, Item{Asst, "Noted."})
			}
		}
		if out[len(out)-1].Kind == User {
			out = append(out, Item{Asst, "Noted."})
		}
	}
	return out
}
