package rehearsal

import (
	"encoding/json"
	"strings"
	"testing"
)

type obj = map[string]any

func user(text string) obj   { return obj{"role": "user", "content": text} }
func system(text string) obj { return obj{"role": "system", "content": text} }
func said(text string) obj {
	return obj{"role": "assistant", "content": text, "reasoning_content": "r"}
}
func result(id, text string) obj {
	return obj{"role": "tool", "tool_call_id": id, "content": text}
}

func called(calls ...Call) obj {
	var list []obj
	for _, c := range calls {
		list = append(list, obj{"id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": c.Arguments}})
	}
	return obj{"role": "assistant", "content": nil, "reasoning_content": "r", "tool_calls": list}
}

func request(messages ...obj) obj {
	return obj{"model": "deepseek-v4-pro", "messages": messages, "stream": true}
}

func tools(names ...string) []obj {
	var out []obj
	for _, n := range names {
		out = append(out, obj{"type": "function", "function": obj{"name": n, "parameters": obj{"type": "object"}}})
	}
	return out
}

func with(r obj, more obj) obj {
	for k, v := range more {
		if r[k] = v; v == nil {
			delete(r, k)
		}
	}
	return r
}

// refused is why a request is refused, "" if it is not.
func refused(t *testing.T, v any, window int) string {
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refusal(body, window); err != nil {
		return err.Error()
	}
	return ""
}

func TestRefusals(t *testing.T) {
	c1, c2 := Call{ID: "e1_1", Name: "BASH", Arguments: "{}"}, Call{ID: "e1_2", Name: "LIST", Arguments: "{}"}
	noReasoning := called(c1)
	delete(noReasoning, "reasoning_content")
	blankReasoning := called(c1)
	blankReasoning["reasoning_content"] = " "
	schema := func(p any) []obj {
		return []obj{{"type": "function", "function": obj{"name": "A", "parameters": p}}}
	}
	r1 := result("e1_1", "r")
	after := func(more ...obj) obj { return request(append([]obj{user("x")}, more...)...) }
	set := func(key string, value any) obj { return with(after(), obj{key: value}) }
	arguments := func(text string) obj { return called(Call{ID: "e1_1", Name: "A", Arguments: text}) }
	tests := []struct {
		name string
		req  any
		want string // in the message; "" means accepted
	}{
		{"plain", request(user("hi")), ""},
		{"a list", []obj{}, "Failed to deserialize the JSON body"},
		{"no messages", request(), "Empty input messages"},
		{"unknown model", set("model", "deepseek-chat"), "supported API model names"},
		{"no model", set("model", nil), "supported API model names"},
		{"wildcard model", set("model", "rehearsal-7"), ""},
		{"unknown role", request(user("hi"), obj{"role": "developer", "content": "x"}), "messages[1].role: unknown variant `developer`"},
		{"no role", request(obj{"content": "x"}), "messages[0].role"},
		{"content is a list", request(obj{"role": "user", "content": []obj{}}), "Message.content"},
		{"system without content", request(obj{"role": "system"}, user("x")), "messages[0]: missing field `content`"},
		{"empty user", request(user("")), "messages[0]"},
		{"blank user", request(system("s"), user(" \n")), "messages[1]"},
		{"empty assistant", after(said(""), user("y")), "content or tool_calls must be set (messages[1])"},
		{"empty calls", after(obj{"role": "assistant", "content": "c", "tool_calls": []obj{}}, user("y")), "messages[1].tool_calls"},
		{"pair", after(called(c1), r1), ""},
		{"pair in any order", after(called(c1, c2), result("e1_2", "r"), r1), ""},
		{"empty result is a result", after(called(c1), result("e1_1", "")), ""},
		{"no result", after(called(c1), user("y")), "insufficient tool messages following messages[1], found none at messages[2]"},
		{"no result at the end", after(called(c1)), "insufficient tool messages following messages[1]"},
		{"half the results", after(called(c1, c2), r1, user("y")), "found none at messages[3]"},
		{"late result", after(called(c1), user("y"), r1), "messages[2]"},
		{"result without call", after(result("e9_1", "r")), "preceding message with 'tool_calls' (messages[1]"},
		{"result twice", after(called(c1), r1, r1),
			"must be a response to a preceding message with 'tool_calls' (messages[3]"},
		{"id twice in a message", after(called(c1, c1), r1),
			"Duplicate value for 'tool_calls[].id' e1_1 in messages[1]"},
		{"id twice in a request", after(called(c1), r1, user("y"), called(c1), r1),
			"in messages[4], first used in messages[1]"},
		{"no id", after(called(Call{ID: "", Name: "A", Arguments: "{}"}), r1),
			"messages[1].tool_calls[0]: missing field `id`"},
		{"result without id", after(called(c1), obj{"role": "tool", "content": "r"}), "messages[2]: missing field `tool_call_id`"},
		{"arguments are prose", after(arguments("ls -l"), r1),
			"messages[1].tool_calls[0].function.arguments"},
		{"arguments are empty", after(arguments(""), r1), "messages[1]"},
		{"arguments are a list", after(arguments("[]"), r1), "messages[1]"},
		{"calls of a user", request(obj{"role": "user", "content": "x", "tool_calls": []obj{{}}}), "messages[0]: tool_calls"},
		{"no reasoning", after(noReasoning, r1),
			"`reasoning_content` in the thinking mode must be passed back to the API. (messages[1])"},
		{"blank reasoning", after(blankReasoning, r1), "(messages[1])"},
		{"no reasoning, not thinking", with(after(noReasoning, r1), obj{"thinking": obj{"type": "disabled"}}), ""},
		{"no reasoning without calls", after(obj{"role": "assistant", "content": "a"}, user("y")), ""},
		{"ends with the assistant", after(said("y")), "messages[1] is assistant"},
		{"max_tokens 0", set("max_tokens", 0), "max_tokens"},
		{"max_tokens too large", set("max_tokens", MaxOutput+1), "[1, 393216]"},
		{"max_tokens no number", set("max_tokens", "9"), "max_tokens"},
		{"max_tokens", set("max_tokens", MaxOutput), ""},
		{"thinking", set("thinking", obj{"type": "on"}), "thinking.type"},
		{"effort", set("reasoning_effort", "huge"), "reasoning_effort"},
		{"effort max", set("reasoning_effort", "max"), ""},
		{"no stream", set("stream", false), "stream should be true"},
		{"tools", set("tools", tools("A", "B")), ""},
		{"empty tools", set("tools", []obj{}), "'tools'"},
		{"tool twice", set("tools", tools("A", "A")), "tools[1]"},
		{"tool name", set("tools", tools("a b")), "tools[0].function.name"},
		{"tool type", set("tools", []obj{{"type": "web"}}), "tools[0].type"},
		{"schema no object", set("tools", schema(obj{"type": "string"})), "function 'A' (tools[0])"},
		{"schema no schema", set("tools", schema([]int{1})), "Failed to deserialize"},
	}
	for _, tt := range tests {
		why := refused(t, tt.req, DefaultWindow)
		if (why == "") != (tt.want == "") || !strings.Contains(why, tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.name, why, tt.want)
		}
	}
}

func TestOverflow(t *testing.T) {
	// 4 tokens for the frame and 100 for the text.
	r := func(max int) obj { return with(request(user(strings.Repeat("x", 400))), obj{"max_tokens": max}) }
	if why := refused(t, r(46), 150); why != "" {
		t.Errorf("150 of 150 tokens refused: %s", why)
	}
	message := refused(t, r(47), 150)
	const want = "This model's maximum context length is 150 tokens. However, you requested 151 tokens (104 in the messages, " +
		"47 in the completion). Please reduce the length of the messages or completion."
	if message != want {
		t.Errorf("message %q", message)
	}
}
