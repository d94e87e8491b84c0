package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// A choice is what one chunk of a stream has of the answer.
type choice struct {
	Index   int     `json:"index"`
	Delta   delta   `json:"delta"`
	Finish  *string `json:"finish_reason"`
	Logprob *string `json:"logprobs"`
}

type delta struct {
	Role      string      `json:"role,omitempty"`
	Content   *string     `json:"content,omitempty"`
	Reasoning *string     `json:"reasoning_content,omitempty"`
	Calls     []callDelta `json:"tool_calls,omitempty"`
}

type callDelta struct {
	Index    int           `json:"index"`
	ID       string        `json:"id,omitempty"`
	Type     string        `json:"type,omitempty"`
	Function functionDelta `json:"function"`
}

type functionDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// usage is the usage object of a response.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Hit        int `json:"prompt_cache_hit_tokens"`
	Miss       int `json:"prompt_cache_miss_tokens"`
	Details    struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func newUsage(prompt, hit int, a Answer) usage {
	u := usage{Prompt: prompt, Hit: hit, Miss: prompt - hit}
	u.Details.Reasoning = Tokens(a.Reasoning)
	u.Completion = u.Details.Reasoning + Tokens(a.Text)
	for _, c := range a.Calls {
		u.Completion += Tokens(c.Name) + Tokens(c.Arguments)
	}
	u.Total = u.Prompt + u.Completion
	return u
}

// tenth is a tenth of the usage.
func (u usage) tenth() usage {
	u.Prompt, u.Hit, u.Completion, u.Total = u.Prompt/10, u.Hit/10, u.Completion/10, u.Total/10
	u.Details.Reasoning /= 10
	u.Miss = u.Prompt - u.Hit
	return u
}

// totals are the usage of one answered request.
func (u usage) totals() Usage {
	return Usage{Calls: 1, Input: u.Prompt, Cached: u.Hit, Output: u.Completion, Reasoning: u.Details.Reasoning}
}

// frames cuts an answer into chunks: reasoning, content, then each call as a head
// and fragments of its arguments, and the finish_reason.
func frames(a Answer) []choice {
	out := []choice{{Delta: delta{Role: "assistant", Content: new(string)}}}
	for part := range words(a.Reasoning) {
		out = append(out, choice{Delta: delta{Reasoning: &part}})
	}
	for part := range words(a.Text) {
		out = append(out, choice{Delta: delta{Content: &part}})
	}
	for i, c := range a.Calls {
		head := callDelta{Index: i, ID: c.ID, Type: "function", Function: functionDelta{Name: c.Name}}
		out = append(out, choice{Delta: delta{Calls: []callDelta{head}}})
		for part := range slices.Chunk([]rune(c.Arguments), 12) {
			piece := callDelta{Index: i, Function: functionDelta{Arguments: string(part)}}
			out = append(out, choice{Delta: delta{Calls: []callDelta{piece}}})
		}
	}
	return append(out, choice{Delta: delta{Content: new(string)}, Finish: &a.Finish})
}

// words cuts text behind its spaces.
func words(text string) iter.Seq[string] {
	if text == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitAfterSeq(text, " ")
}

// A chunk is an event of a stream. Created is constant: the server has no clock.
type chunk struct {
	ID          string   `json:"id"`
	Object      string   `json:"object"`
	Created     int      `json:"created"`
	Model       string   `json:"model"`
	Fingerprint string   `json:"system_fingerprint"`
	Choices     []choice `json:"choices"`
	Usage       *usage   `json:"usage,omitempty"`
}

// event renders choices, or the usage, as a server-sent event.
func (x *exchange) event(u *usage, choices ...choice) string {
	b, err := json.Marshal(chunk{"rehearsal-" + x.id, "chat.completion.chunk", 0, x.req.Model, "fp_rehearsal", append([]choice{}, choices...), u})
	if err != nil { // strings and numbers only: cannot happen
		panic(err)
	}
	return "data: " + string(b) + "\n\n"
}

// finished fills in what an answer leaves open and holds it to max_tokens.
func finished(a Answer, id string, maxTokens int) Answer {
	calls := make([]Call, len(a.Calls))
	for i, c := range a.Calls {
		c.ID = cmp.Or(c.ID, fmt.Sprintf("call_%02d_%s", i, id))
		calls[i] = c
	}
	a.Calls = calls
	if a.Finish == "" {
		a.Finish = "stop"
		if len(calls) > 0 {
			a.Finish = "tool_calls"
		}
	}
	if maxTokens > 0 && newUsage(0, 0, a).Completion > maxTokens {
		a = shortened(a, maxTokens)
	}
	return a
}

// shortened cuts an answer after n tokens, as the service does: in the middle,
// with finish_reason length.
func shortened(a Answer, n int) Answer {
	out := Answer{Finish: "length"}
	out.Reasoning = cut(a.Reasoning, n)
	n -= Tokens(out.Reasoning)
	out.Text = cut(a.Text, n)
	n -= Tokens(out.Text)
	for _, c := range a.Calls {
		if n -= Tokens(c.Name); n <= 0 {
			break
		}
		c.Arguments = cut(c.Arguments, n)
		n -= Tokens(c.Arguments)
		out.Calls = append(out.Calls, c)
	}
	return out
}
