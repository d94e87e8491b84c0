package replay

import (
	"encoding/json"
	"fmt"

	"lethe/agent"
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

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Requests + o.Requests, t.Input + o.Input, t.Cached + o.Cached, t.Output + o.Output, t.USD + o.USD}
}

// ledger accounts for requests as DeepSeek bills them, off-peak.
type ledger struct {
	model string
	cache rehearsal.Accountant
}

func newLedger(model string) (*ledger, error) {
	if _, known := llm.Prices(nil).Cost(model, llm.Usage{}, born); !known {
		return nil, &OptionError{"model", fmt.Sprintf("%q is not on DeepSeek's price list", model)}
	}
	return &ledger{model: model}, nil
}

// count accounts for a request and returns what the provider would report.
func (l *ledger) count(into *Tally, p *rehearsal.Prompt, reply rehearsal.Answer) llm.Usage {
	n := l.cache.Count(p, reply)
	u := llm.Usage{Input: n.Input, Cached: n.Cached, Output: n.Output}
	usd, _ := llm.Prices(nil).Cost(l.model, u, born)
	*into = into.plus(Tally{1, u.Input, u.Cached, u.Output, usd})
	return u
}

// newPrompt is a request as the provider's cache sees it.
func newPrompt(s mind.Stable, messages []mind.Message) *rehearsal.Prompt {
	params, _ := json.Marshal(s.Params) // plain fields: cannot fail
	p := rehearsal.NewPrompt(string(params), string(s.Tools))
	for _, m := range messages {
		p.Add(wire(m))
	}
	return p
}

// weightOf is that of a request.
func weightOf(s mind.Stable, messages ...mind.Message) int {
	return llm.Request{Tools: []byte(s.Tools), Messages: agent.Wire(messages)}.Weight()
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
