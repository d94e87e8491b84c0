package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"
)

// object is one of JSON.
type object = map[string]any

// An exchange is one request on its way to an answer.
type exchange struct {
	w    http.ResponseWriter
	ctx  context.Context // done when the client leaves
	req  *Request
	pace time.Duration
}

// answer is the given one or the model's, with what it leaves open, and cut off behind max_tokens.
func (x *exchange) answer(given *Answer) (a Answer) {
	if given != nil {
		a = *given
	} else {
		a = think(x.req)
	}
	if !x.req.Thinking {
		a.Reasoning = ""
	}
	usual := "stop"
	a.Calls = slices.Clone(a.Calls)
	for i, c := range a.Calls {
		a.Calls[i].ID = cmp.Or(c.ID, fmt.Sprintf("call_%02d_%s", i, x.req.id))
		usual = "tool_calls"
	}
	a.Finish = cmp.Or(a.Finish, usual)
	if most := x.req.MaxTokens; most > 0 && a.output() > most {
		reasoning := cut(a.Reasoning, most)
		a = Answer{Reasoning: reasoning, Text: cut(a.Text, most-Tokens(reasoning)), Finish: "length"}
	}
	return a
}

// stream plays the answer, then the usage and [DONE], until the client leaves.
func (x *exchange) stream(a Answer, usage object) {
	pieces := deltas(a)
	for i, delta := range pieces {
		choice := object{"index": 0, "delta": delta, "finish_reason": nil, "logprobs": nil}
		if i == len(pieces)-1 {
			choice["finish_reason"] = a.Finish
		}
		if i > 0 && x.pace > 0 {
			select {
			case <-time.After(x.pace):
			case <-x.ctx.Done():
			}
		}
		if !x.event([]object{choice}, nil) {
			return
		}
	}
	if x.req.IncludeUsage && !x.event([]object{}, usage) {
		return
	}
	x.send("data: [DONE]\n\n")
}

// event sends choices, and the usage if it is told, as a server-sent event. It has no clock. False: the client has
// left.
func (x *exchange) event(choices []object, usage object) bool {
	e := object{
		"id": "rehearsal-" + x.req.id, "object": "chat.completion.chunk", "created": 0, "model": x.req.Model,
		"system_fingerprint": "fp_rehearsal", "choices": choices,
	}
	if usage != nil {
		e["usage"] = usage
	}
	text, _ := json.Marshal(e) // of strings and numbers: cannot fail
	return x.send("data: " + string(text) + "\n\n")
}

// send writes and flushes. False: the client has left.
func (x *exchange) send(text string) bool {
	if x.ctx.Err() != nil {
		return false
	}
	_, err := io.WriteString(x.w, text)
	return err == nil && http.NewResponseController(x.w).Flush() == nil
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
