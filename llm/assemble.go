package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	deepseek "github.com/cohesion-org/deepseek-go"
)

// draft is a reply that is not whole yet.
type draft struct {
	text, reasoning strings.Builder
	calls           []*callDraft       // in order of appearance
	current         map[int]*callDraft // the one that fragments of an index go to
	size            int                // bytes held, against maxReply
	weight          int                // weighted characters that came
	reply           Reply
	on              func(Delta)
}

type callDraft struct {
	index    int
	id, name string
	args     strings.Builder
}

func newDraft(on func(Delta)) *draft { return &draft{current: map[int]*callDraft{}, on: on} }

// assemble reads chunks until their clean end, which the stream below gives
// only to a whole reply.
func (d *draft) assemble(recv func() (*deepseek.StreamChatCompletionResponse, error)) (Reply, error) {
	for {
		chunk, err := recv()
		if errors.Is(err, io.EOF) {
			return d.finish()
		}
		if err != nil {
			return Reply{}, err
		}
		d.add(chunk)
		if d.size > maxReply {
			return Reply{}, garbage("the reply is larger than %d MB", maxReply>>20)
		}
	}
}

func (d *draft) add(chunk *deepseek.StreamChatCompletionResponse) {
	d.reply.Model = cmp.Or(d.reply.Model, chunk.Model)
	if u := chunk.Usage; u != nil && (u.PromptTokens > 0 || u.CompletionTokens > 0) {
		d.reply.Usage = usageOf(u)
	}
	for _, choice := range chunk.Choices { // none in the chunk that brings the usage
		d.reply.Finish = cmp.Or(choice.FinishReason, d.reply.Finish)
		delta := choice.Delta
		d.text.WriteString(delta.Content)
		d.reasoning.WriteString(delta.ReasoningContent)
		d.size += len(delta.Content) + len(delta.ReasoningContent)
		d.weight += Weight(delta.Content) + Weight(delta.ReasoningContent)
		if delta.Content != "" || delta.ReasoningContent != "" {
			d.on(Delta{Text: delta.Content, Reasoning: delta.ReasoningContent})
		}
		for _, fragment := range delta.ToolCalls {
			d.addCall(fragment)
		}
	}
}

// usageOf trusts a provider's numbers only as far as they make sense.
func usageOf(u *deepseek.StreamUsage) Usage {
	in, out := max(u.PromptTokens, 0), max(u.CompletionTokens, 0)
	return Usage{
		Input:     in,
		Cached:    min(max(u.PromptCacheHitTokens, 0), in),
		Output:    out,
		Reasoning: min(max(u.CompletionTokensDetails.ReasoningTokens, 0), out),
	}
}

func (d *draft) addCall(f deepseek.ToolCall) {
	c := d.current[f.Index]
	if c == nil || c.isOver(f) {
		c = &callDraft{index: f.Index, id: f.ID}
		d.calls = append(d.calls, c)
		d.current[f.Index] = c
		d.size += 256 // what an empty call costs here
	}
	c.id = cmp.Or(c.id, f.ID)
	if c.args.Len() == 0 && c.name != f.Function.Name {
		c.name += f.Function.Name
	}
	c.args.WriteString(f.Function.Arguments)
	d.on(Delta{}) // a call is on its way
	d.size += len(f.Function.Name) + len(f.Function.Arguments)
	d.weight += Weight(f.Function.Name) + Weight(f.Function.Arguments)
}

// isOver says whether a fragment of the same index begins another call, which
// is how some servers send parallel calls. Others repeat the id, or make up a
// new one, on each fragment of one call: so the call before must be complete.
func (c *callDraft) isOver(f deepseek.ToolCall) bool {
	if f.ID == "" || c.id == "" || f.ID == c.id || f.Function.Name == "" {
		return false
	}
	if c.args.Len() == 0 {
		return f.Function.Name != c.name
	}
	return json.Valid([]byte(c.args.String()))
}

func (d *draft) finish() (Reply, error) {
	slices.SortStableFunc(d.calls, func(a, b *callDraft) int { return cmp.Compare(a.index, b.index) })
	used := map[string]bool{}
	for _, c := range d.calls {
		if c.name == "" {
			if d.reply.Finish == "length" {
				continue // cut off before it had one
			}
			return Reply{}, garbage("a tool call has no name")
		}
		id := c.uniqueID(used)
		used[id] = true
		d.reply.Calls = append(d.reply.Calls, ToolCall{ID: id, Name: c.name, Arguments: c.args.String()})
	}
	if d.reply.Finish == "tool_calls" && len(d.reply.Calls) == 0 {
		return Reply{}, garbage("the reply announces tool calls and has none")
	}
	d.reply.Text, d.reply.Reasoning = d.text.String(), d.reasoning.String()
	return d.reply, nil
}

// uniqueID is the call's own id, or one made up from its index when it has none
// or another call's.
func (c *callDraft) uniqueID(used map[string]bool) string {
	id := c.id
	for n := 0; id == "" || used[id]; n++ {
		id = fmt.Sprintf("call_%d", c.index)
		if n > 0 {
			id += fmt.Sprintf("_%d", n)
		}
	}
	return id
}
