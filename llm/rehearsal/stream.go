package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// object is one of JSON.
type object = map[string]any

// newUsage is what an answer to a prompt of so many tokens counts, of which hit come from the cache.
func newUsage(prompt, hit int, a Answer) Usage {
	u := Usage{Calls: 1, Input: prompt, Cached: hit, Reasoning: Tokens(a.Reasoning)}
	u.Output = u.Reasoning + Tokens(a.Text)
	for _, c := range a.Calls {
		u.Output += Tokens(c.Name) + Tokens(c.Arguments)
	}
	return u
}

// wire is the usage object of a response.
func (u Usage) wire() object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_cache_hit_tokens": u.Cached, "prompt_cache_miss_tokens": u.Input - u.Cached,
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

// deltas cuts an answer into pieces: reasoning, content, then each call as a head and fragments of its arguments.
func deltas(a Answer) []object {
	out := []object{{"role": "assistant", "content": ""}}
	for part := range words(a.Reasoning) {
		out = append(out, object{"reasoning_content": part})
	}
	for part := range words(a.Text) {
		out = append(out, object{"content": part})
	}
	for i, c := range a.Calls {
		function := object{"name": c.Name, "arguments": ""}
		head := object{"index": i, "id": c.ID, "type": "function", "function": function}
		out = append(out, object{"tool_calls": []object{head}})
		for part := range slices.Chunk([]rune(c.Arguments), 12) {
			piece := object{"index": i, "function": object{"arguments": string(part)}}
			out = append(out, object{"tool_calls": []object{piece}})
		}
	}
	return append(out, object{"content": ""})
}

// words cuts text behind its spaces.
func words(text string) iter.Seq[string] {
	if text == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitAfterSeq(text, " ")
}

// event sends choices, and the usage if it is told, as a server-sent event. It has no clock. False: the client has
// left.
func (x *exchange) event(choices []object, usage object) bool {
	e := object{
		"id": "rehearsal-" + x.id, "object": "chat.completion.chunk", "created": 0, "model": x.req.Model,
		"system_fingerprint": "fp_rehearsal", "choices": choices,
	}
	if usage != nil {
		e["usage"] = usage
	}
	text, _ := json.Marshal(e) // of strings and numbers: cannot fail
	return x.send("data: " + string(text) + "\n\n")
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
	if maxTokens > 0 && newUsage(0, 0, a).Output > maxTokens {
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
