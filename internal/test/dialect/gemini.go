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
	checker := &checker{shape: geminiError, kind: "INVALID_ARGUMENT"}
	var asked completion
	checker.decode(body, &asked, "Invalid JSON payload received")
	if checker.no != nil {
		return checker.no
	}
	checker.unless(strings.HasPrefix(asked.Model, "gemini-"), "models/%s is not found", asked.Model)
	checker.unless(slices.Contains([]string{"", "none", "minimal", "low", "medium", "high"}, asked.Effort),
		"Invalid value at 'reasoning_effort': %q", asked.Effort)
	read := checker.signatures(asked)
	if checker.no != nil {
		return checker.no
	}
	request := object{"model": "rehearsal", "stream": true, "stream_options": object{"include_usage": true}, "messages": plain(asked.Messages)}
	if asked.MaxTokens > 0 {
		request["max_tokens"] = asked.MaxTokens
	}
	if asked.Tools != nil {
		request["tools"] = asked.Tools
	}
	answer, status, problem := s.ask(r.Context(), request)
	if status != http.StatusOK {
		return &refusal{status, "INTERNAL", problem, geminiError}
	}
	playGemini(w, asked, answer, read)
	return nil
}

// signatures checks what each call has, and returns all that was read. Of the calls of the turn that goes on, the first
// of each reply has to have one.
func (c *checker) signatures(asked completion) sum {
	read, turn := sum("").with(asked.Tools), 0
	for i, m := range asked.Messages {
		if m.Role == "user" {
			turn = i
		}
	}
	open := map[string]bool{}
	for i, said := range asked.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		c.unless(slices.Contains([]string{"system", "user", "assistant", "tool"}, said.Role), "%s: Please use a valid role: %q", at, said.Role)
		c.unless(said.Role != "user" || strings.TrimSpace(said.Content) != "",
			"%s: Unable to submit request because it must have a text parameter.", at)
		c.unless(said.Role == "tool" || len(open) == 0,
			"%s: Please ensure that the number of function response parts is equal to the number of function call parts of the "+
				"function call turn.", at)
		if said.Role == "tool" {
			c.unless(open[said.CallID], "%s: Please ensure that function response turn comes immediately after a function call turn.", at)
			delete(open, said.CallID)
		}
		for k, call := range said.Calls {
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
		said.Calls = slices.Clone(said.Calls)
		for k := range said.Calls {
			said.Calls[k].ID = "" // clients rename them
		}
		said.CallID = ""
		read = read.with(said)
	}
	last := asked.Messages[len(asked.Messages)-1].Role
	isAsked := last == "user" || last == "tool"
	c.unless(isAsked && len(open) == 0, "the last turn is one of the model, or lacks a response")
	return read
}

// plain are the messages as the offline model reads them.
func plain(list []said) (out []object) {
	for _, said := range list {
		o := object{"role": said.Role, "content": said.Content}
		var calls []call
		for _, c := range said.Calls {
			calls = append(calls, c.call)
		}
		if calls != nil {
			o["tool_calls"], o["reasoning_content"] = calls, "not told"
		}
		if said.CallID != "" {
			o["tool_call_id"] = said.CallID
		}
		out = append(out, o)
	}
	return out
}

// playGemini streams the answer: each call as one piece, all with the index 0, and thinking in the total only.
func playGemini(w http.ResponseWriter, asked completion, answer answer, read sum) {
	event := func(delta object, finish any) object {
		return object{"object": "chat.completion.chunk", "model": asked.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	if answer.text != "" {
		send(w, event(object{"role": "assistant", "content": answer.text}, nil))
	}
	for i, c := range answer.calls {
		piece := object{"index": 0, "id": c.ID, "type": "function", "function": c.Function}
		if i == 0 {
			piece["extra_content"] = object{"google": object{"thought_signature": read.sign(c.Function.Name)}}
		}
		send(w, event(object{"role": "assistant", "tool_calls": []object{piece}}, nil))
	}
	if answer.finish == "" { // it broke off
		return
	}
	usage := object{
		"prompt_tokens": answer.input, "completion_tokens": answer.output - answer.thought, "total_tokens": answer.input + answer.output,
		"prompt_tokens_details": object{"cached_tokens": answer.input / 2},
	}
	send(w, event(object{"role": "assistant"}, answer.finish), object{"choices": []object{}, "model": asked.Model, "usage": usage})
	fmt.Fprint(w, "data: [DONE]\n\n")
}
