package rehearsal

import (
	"encoding/json"
	"fmt"
)

// A frame is one chunk of a stream, before it is written.
type frame struct {
	delta  delta
	finish string // the finish_reason, "" for null
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

// frames cuts an answer into chunks: reasoning, content, then each call as a head
// and fragments of its arguments, and the finish_reason. The fault decides how
// calls are laid out.
func frames(a Answer, f Fault) []frame {
	out := []frame{{delta: delta{Role: "assistant", Content: new(string)}}}
	for _, part := range pieces(a.Reasoning) {
		out = append(out, frame{delta: delta{Reasoning: &part}})
	}
	for _, part := range pieces(a.Text) {
		out = append(out, frame{delta: delta{Content: &part}})
	}
	out = append(out, callFrames(a.Calls, f)...)
	return append(out, frame{delta: delta{Content: new(string)}, finish: a.Finish})
}

func callFrames(calls []Call, f Fault) []frame {
	var lanes [][]callDelta
	for i, c := range calls {
		lanes = append(lanes, callDeltas(i, c, f))
	}
	var out []frame
	put := func(d callDelta) { out = append(out, frame{delta: delta{Calls: []callDelta{d}}}) }
	if f != Interleave {
		for _, lane := range lanes {
			for _, d := range lane {
				put(d)
			}
		}
		return out
	}
	for k, more := 0, true; more; k++ {
		more = false
		for _, lane := range lanes {
			if k < len(lane) {
				put(lane[k])
				more = true
			}
		}
	}
	return out
}

// callDeltas are the fragments of one call: at least two, however short it is.
func callDeltas(i int, c Call, f Fault) []callDelta {
	head := callDelta{Index: i, ID: c.ID, Type: "function", Function: functionDelta{Name: c.Name}}
	if f == NoIDs {
		head.ID = ""
	}
	out := []callDelta{head}
	for _, part := range fragments(c.Arguments, 12) {
		d := callDelta{Index: i}
		if f == RepeatIDs {
			d = head
		}
		d.Function.Arguments = part
		out = append(out, d)
	}
	return out
}

// pieces cuts text at the starts of words, so that no rune is torn and the
// pieces put together are the text.
func pieces(text string) []string {
	var out []string
	start := 0
	for i := 1; i < len(text); i++ {
		if text[i] == ' ' || text[i] == '\n' {
			out = append(out, text[start:i])
			start = i
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// fragments cuts text into parts of n runes.
func fragments(text string, n int) []string {
	var out []string
	for r := []rune(text); len(r) > 0; r = r[min(n, len(r)):] {
		out = append(out, string(r[:min(n, len(r))]))
	}
	return out
}

// A head is what every chunk of a response repeats. Created is constant: the
// server has no clock.
type head struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int    `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint"`
}

const fingerprint = "fp_rehearsal"

type choice struct {
	Index   int     `json:"index"`
	Delta   delta   `json:"delta"`
	Finish  *string `json:"finish_reason"`
	Logprob *string `json:"logprobs"`
}

type chunk struct {
	head
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

func (x *exchange) head(object string) head {
	return head{"rehearsal-" + x.id, object, 0, x.req.Model, fingerprint}
}

// event renders a frame as a server-sent event.
func (x *exchange) event(f frame) string {
	c := choice{Delta: f.delta}
	if f.finish != "" {
		c.Finish = &f.finish
	}
	return x.data(chunk{head: x.head("chat.completion.chunk"), Choices: []choice{c}})
}

func (x *exchange) usageEvent(u usage) string {
	return x.data(chunk{head: x.head("chat.completion.chunk"), Choices: []choice{}, Usage: &u})
}

func (x *exchange) data(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // strings and numbers only: cannot happen
		panic(err)
	}
	colon := "data: "
	if x.step.Fault == NoSpace {
		colon = "data:"
	}
	return colon + string(b) + "\n\n"
}

// finished fills in what an answer leaves open and holds it to max_tokens.
func finished(a Answer, id string, maxTokens int) Answer {
	calls := make([]Call, len(a.Calls))
	for i, c := range a.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%02d_%s", i, id)
		}
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
