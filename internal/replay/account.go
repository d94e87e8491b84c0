package replay

import (
	"encoding/json"
	"fmt"

	"lethe/llm"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

// Tally is what a kind of requests cost.
type Tally struct {
	Requests int     `json:"requests"`
	Input    int     `json:"input_tokens"`
	Cached   int     `json:"cached_tokens"` // of Input
	Output   int     `json:"output_tokens"`
	USD      float64 `json:"usd"`
}

// Missed is the input that no cache served, in tokens.
func (t Tally) Missed() int { return t.Input - t.Cached }

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Requests + o.Requests, t.Input + o.Input, t.Cached + o.Cached, t.Output + o.Output, t.USD + o.USD}
}

// ledger accounts for requests as DeepSeek bills them, off-peak.
type ledger struct {
	model string
	cache *rehearsal.Accountant
}

func newLedger(model string) (*ledger, error) {
	if _, known := llm.Cost(model, llm.Usage{}, born); !known {
		return nil, &OptionError{"model", fmt.Sprintf("%q is not on DeepSeek's price list", model)}
	}
	return &ledger{model, rehearsal.NewAccountant()}, nil
}

// count accounts for a request and returns what the provider would report.
func (l *ledger) count(into *Tally, p *rehearsal.Prompt, reply rehearsal.Answer) llm.Usage {
	n := l.cache.Count(p, reply)
	u := llm.Usage{Input: n.Input, Cached: n.Cached, Output: n.Output}
	usd, _ := llm.Cost(l.model, u, born)
	*into = into.plus(Tally{1, u.Input, u.Cached, u.Output, usd})
	return u
}

// trunk is the conversation of an epoch as the provider has seen it: the messages
// that requests begin with, hashed and weighed once each.
type trunk struct {
	messages []mind.Message
	prompt   *rehearsal.Prompt
	weight   int // weighted characters of messages and tools
	stable   int // of weight, what stands before the live entries
}

// newTrunk begins with the stable part of a new epoch.
func newTrunk(s *mind.State) *trunk {
	t := &trunk{prompt: newPrompt(s.Stable), weight: llm.Weight(string(s.Stable.Tools))}
	t.follow(s.Messages("")[:2])
	t.stable = t.weight
	return t
}

func newPrompt(s mind.Stable) *rehearsal.Prompt {
	params, _ := json.Marshal(s.Params) // plain fields: cannot fail
	return rehearsal.NewPrompt(string(params), string(s.Tools))
}

// follow adds what is new of the messages of the epoch.
func (t *trunk) follow(messages []mind.Message) {
	for _, m := range messages[len(t.messages):] {
		t.prompt.Add(wire(m))
		t.weight += weigh(m)
		t.messages = append(t.messages, m)
	}
}

// with is a prompt that goes on from the trunk, and its weight.
func (t *trunk) with(more ...mind.Message) (p *rehearsal.Prompt, weight int) {
	p, weight = t.prompt.Clone(), t.weight
	for _, m := range more {
		p.Add(wire(m))
		weight += weigh(m)
	}
	return p, weight
}

// wire is a message as the offline model takes it.
func wire(m mind.Message) rehearsal.Message {
	out := rehearsal.Message{Role: m.Role, Content: &m.Content, ToolCallID: m.CallID}
	if m.Reasoning != "" {
		out.Reasoning = &m.Reasoning
	}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, rehearsal.Call{ID: c.ID, Name: c.Tool, Arguments: c.Args})
	}
	return out
}

// weigh is llm.Message.Weight of the message as the agent sends it.
func weigh(m mind.Message) int {
	out := llm.Message{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning, CallID: m.CallID}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, llm.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Args})
	}
	return out.Weight()
}

// parts splits a cost by what it was paid for, in USD per million tokens of
// history.
func (r Report) parts(t Tally) (cached, missed, output float64) {
	usd := func(u llm.Usage) float64 {
		cost, _ := llm.Cost(r.Options.Model, u, born) // checked when the replay began
		return r.perMillion(cost)
	}
	return usd(llm.Usage{Input: t.Cached, Cached: t.Cached}), usd(llm.Usage{Input: t.Missed()}), usd(llm.Usage{Output: t.Output})
}
