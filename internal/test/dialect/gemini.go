package dialect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Gemini speaks as Gemini does at its endpoint for OpenAI's dialect. model is an offline model.
func Gemini(model http.Handler) *Server {
	return &Server{model: model, speak: (*Server).gemini, seen: map[string]bool{}}
}

// StandIn is the signature of calls that Gemini has not made.
const StandIn = "skip_thought_signature_validator"

type completion struct {
	Model         string          `json:"model"`
	Messages      []said          `json:"messages"`
	Tools         json.RawMessage `json:"tools"`
	MaxTokens     int             `json:"max_tokens"`
	Effort        string          `json:"reasoning_effort"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type said struct {
	Role    string       `json:"role"`
	Content string       `json:"content"`
	Calls   []signedCall `json:"tool_calls,omitempty"`
	CallID  string       `json:"tool_call_id,omitempty"`
}

type signedCall struct {
	call
	Extra *extra `json:"extra_content,omitempty"`
}

type extra struct {
	Google struct {
		Signature string `json:"thought_signature"`
	} `json:"google"`
}

func geminiError(r *refusal) any {
	return []object{{"error": object{"code": r.status, "message": r.message, "status": r.kind}}}
}

func (s *Server) gemini(w http.ResponseWriter, r *http.Request, body []byte) *refusal {
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		return &refusal{http.StatusUnauthorized, "UNAUTHENTICATED", "Missing or invalid Authorization header.", geminiError}
	case strings.HasSuffix(r.URL.Path, "/models"):
		_ = json.NewEncoder(w).Encode(object{"data": []object{{"id": "models/gemini-3.8-flash"}}})
		return nil
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return &refusal{http.StatusNotFound, "NOT_FOUND", "Not Found", geminiError}
	}
	c := &checker{shape: geminiError, kind: "INVALID_ARGUMENT"}
	var q completion
	c.decode(body, &q, "Invalid JSON payload received")
	if c.no != nil {
		return c.no
	}
	c.unless(strings.HasPrefix(q.Model, "gemini-"), "models/%s is not found", q.Model)
	c.unless(slices.Contains([]string{"", "none", "minimal", "low", "medium", "high"}, q.Effort),
		"Invalid value at 'reasoning_effort': %q", q.Effort)
	read := c.signatures(q)
	if c.no != nil {
		return c.no
	}
	request := object{"model": "rehearsal", "stream": true, "stream_options": object{"include_usage": true}, "messages": plain(q.Messages)}
	if q.MaxTokens > 0 {
		request["max_tokens"] = q.MaxTokens
	}
	if q.Tools != nil {
		request["tools"] = q.Tools
	}
	a, status, problem := s.ask(r.Context(), request)
	if status != http.StatusOK {
		return &refusal{status, "INTERNAL", problem, geminiError}
	}
	playGemini(w, q, a, read)
	return nil
}

// signatures checks what each call has, and returns all that was read. Of the calls of the turn that goes on, the first
// of each reply has to have one.
func (c *checker) signatures(q completion) sum {
	read, turn := sum("").with(q.Tools), 0
	for i, m := range q.Messages {
		if m.Role == "user" {
			turn = i
		}
	}
	open := map[string]bool{}
	for i, m := range q.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		c.unless(slices.Contains([]string{"system", "user", "assistant", "tool"}, m.Role), "%s: Please use a valid role: %q", at, m.Role)
		c.unless(m.Role != "user" || strings.TrimSpace(m.Content) != "",
			"%s: Unable to submit request because it must have a text parameter.", at)
		c.unless(m.Role == "tool" || len(open) == 0,
			"%s: Please ensure that the number of function response parts is equal to the number of function call parts of the "+
				"function call turn.", at)
		if m.Role == "tool" {
			c.unless(open[m.CallID], "%s: Please ensure that function response turn comes immediately after a function call turn.", at)
			delete(open, m.CallID)
		}
		for k, call := range m.Calls {
			open[call.ID] = true
			c.unless(json.Valid([]byte(call.Function.Arguments)), "%s: arguments are no JSON", at)
			switch {
			case call.Extra != nil:
				signature := call.Extra.Google.Signature
				c.unless(signature == StandIn || signature == read.sign(call.Function.Name), "%s: Corrupted thought signature.", at)
			case k == 0 && i > turn:
				c.unless(false, "Function call is missing a thought_signature in functionCall parts. This is required for tools to "+
					"work correctly. Additional data, function call `default_api:%s`, position %d.", call.Function.Name, i)
			}
		}
		m.Calls = slices.Clone(m.Calls)
		for k := range m.Calls {
			m.Calls[k].ID = "" // clients rename them
		}
		m.CallID = ""
		read = read.with(m)
	}
	last := q.Messages[len(q.Messages)-1].Role
	c.unless(len(open) == 0 && (last == "user" || last == "tool"), "the last turn is one of the model, or lacks a response")
	return read
}

// plain are the messages as the offline model reads them.
func plain(list []said) (out []object) {
	for _, m := range list {
		o := object{"role": m.Role, "content": m.Content}
		var calls []call
		for _, c := range m.Calls {
			calls = append(calls, c.call)
		}
		if calls != nil {
			o["tool_calls"], o["reasoning_content"] = calls, "not told"
		}
		if m.CallID != "" {
			o["tool_call_id"] = m.CallID
		}
		out = append(out, o)
	}
	return out
}

// playGemini streams the answer: each call as one piece, all with the index 0, and thinking in the total only.
func playGemini(w http.ResponseWriter, q completion, a answer, read sum) {
	event := func(delta object, finish any) object {
		return object{"object": "chat.completion.chunk", "model": q.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	if a.text != "" {
		send(w, event(object{"role": "assistant", "content": a.text}, nil))
	}
	for i, c := range a.calls {
		piece := object{"index": 0, "id": c.ID, "type": "function", "function": c.Function}
		if i == 0 {
			piece["extra_content"] = object{"google": object{"thought_signature": read.sign(c.Function.Name)}}
		}
		send(w, event(object{"role": "assistant", "tool_calls": []object{piece}}, nil))
	}
	if a.finish == "" { // it broke off
		return
	}
	usage := object{
		"prompt_tokens": a.input, "completion_tokens": a.output - a.thought, "total_tokens": a.input + a.output,
		"prompt_tokens_details": object{"cached_tokens": a.input / 2},
	}
	send(w, event(object{"role": "assistant"}, a.finish), object{"choices": []object{}, "model": q.Model, "usage": usage})
	fmt.Fprint(w, "data: [DONE]\n\n")
}
