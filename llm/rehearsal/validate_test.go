package rehearsal

import (
	"net/http"
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	c1, c2 := Call{"e1_1", "BASH", "{}"}, Call{"e1_2", "LIST", "{}"}
	noReasoning := called(c1)
	delete(noReasoning, "reasoning_content")
	blankReasoning := called(c1)
	blankReasoning["reasoning_content"] = " "
	schema := func(p any) []obj {
		return []obj{{"type": "function", "function": obj{"name": "A", "parameters": p}}}
	}
	tests := []struct {
		name string
		req  any
		want string // in the message; "" means accepted
	}{
		{"plain", request(user("hi")), ""},
		{"a list", []obj{}, "Failed to deserialize the JSON body"},
		{"no messages", request(), "Empty input messages"},
		{"unknown model", with(request(user("hi")), obj{"model": "deepseek-chat"}), "supported API model names"},
		{"no model", with(request(user("hi")), obj{"model": nil}), "supported API model names"},
		{"wildcard model", with(request(user("hi")), obj{"model": "rehearsal-7"}), ""},
		{"unknown role", request(user("hi"), obj{"role": "developer", "content": "x"}), "messages[1].role: unknown variant `developer`"},
		{"no role", request(obj{"content": "x"}), "messages[0].role"},
		{"content is a list", request(obj{"role": "user", "content": []obj{}}), "Message.content"},
		{"system without content", request(obj{"role": "system"}, user("x")), "messages[0]: missing field `content`"},
		{"empty user", request(user("")), "messages[0]"},
		{"blank user", request(system("s"), user(" \n")), "messages[1]"},
		{"empty assistant", request(user("x"), said(""), user("y")), "content or tool_calls must be set (messages[1])"},
		{"empty calls", request(user("x"), obj{"role": "assistant", "content": "c", "tool_calls": []obj{}}, user("y")), "messages[1].tool_calls"},
		{"pair", request(user("x"), called(c1), result("e1_1", "r")), ""},
		{"pair in any order", request(user("x"), called(c1, c2), result("e1_2", "r"), result("e1_1", "r")), ""},
		{"empty result is a result", request(user("x"), called(c1), result("e1_1", "")), ""},
		{"no result", request(user("x"), called(c1), user("y")), "insufficient tool messages following messages[1], found none at messages[2]"},
		{"no result at the end", request(user("x"), called(c1)), "insufficient tool messages following messages[1]"},
		{"half the results", request(user("x"), called(c1, c2), result("e1_1", "r"), user("y")), "found none at messages[3]"},
		{"late result", request(user("x"), called(c1), user("y"), result("e1_1", "r")), "messages[2]"},
		{"result without call", request(user("x"), result("e9_1", "r")), "preceding message with 'tool_calls' (messages[1]"},
		{"result twice", request(user("x"), called(c1), result("e1_1", "r"), result("e1_1", "r")), "must be a response to a preceding message with 'tool_calls' (messages[3]"},
		{"id twice in a message", request(user("x"), called(c1, c1), result("e1_1", "r")), "Duplicate value for 'tool_calls[].id' e1_1 in messages[1]"},
		{"id twice in a request", request(user("x"), called(c1), result("e1_1", "r"), user("y"), called(c1), result("e1_1", "r")), "in messages[4], first used in messages[1]"},
		{"no id", request(user("x"), called(Call{"", "A", "{}"}), result("e1_1", "r")), "messages[1].tool_calls[0]: missing field `id`"},
		{"result without id", request(user("x"), called(c1), obj{"role": "tool", "content": "r"}), "messages[2]: missing field `tool_call_id`"},
		{"arguments are prose", request(user("x"), called(Call{"e1_1", "A", "ls -l"}), result("e1_1", "r")), "messages[1].tool_calls[0].function.arguments"},
		{"arguments are empty", request(user("x"), called(Call{"e1_1", "A", ""}), result("e1_1", "r")), "messages[1]"},
		{"arguments are a list", request(user("x"), called(Call{"e1_1", "A", "[]"}), result("e1_1", "r")), "messages[1]"},
		{"calls of a user", request(obj{"role": "user", "content": "x", "tool_calls": []obj{{}}}), "messages[0]: tool_calls"},
		{"no reasoning", request(user("x"), noReasoning, result("e1_1", "r")), "`reasoning_content` in the thinking mode must be passed back to the API. (messages[1])"},
		{"blank reasoning", request(user("x"), blankReasoning, result("e1_1", "r")), "(messages[1])"},
		{"no reasoning, not thinking", with(request(user("x"), noReasoning, result("e1_1", "r")), obj{"thinking": obj{"type": "disabled"}}), ""},
		{"no reasoning without calls", request(user("x"), obj{"role": "assistant", "content": "a"}, user("y")), ""},
		{"ends with the assistant", request(user("x"), said("y")), "messages[1] is assistant"},
		{"max_tokens 0", with(request(user("x")), obj{"max_tokens": 0}), "max_tokens"},
		{"max_tokens too large", with(request(user("x")), obj{"max_tokens": MaxOutput + 1}), "[1, 393216]"},
		{"max_tokens no number", with(request(user("x")), obj{"max_tokens": "9"}), "max_tokens"},
		{"max_tokens", with(request(user("x")), obj{"max_tokens": MaxOutput}), ""},
		{"thinking", with(request(user("x")), obj{"thinking": obj{"type": "on"}}), "thinking.type"},
		{"effort", with(request(user("x")), obj{"reasoning_effort": "huge"}), "reasoning_effort"},
		{"effort max", with(request(user("x")), obj{"reasoning_effort": "max"}), ""},
		{"no stream", with(request(user("x")), obj{"stream": false}), "stream should be true"},
		{"tools", with(request(user("x")), obj{"tools": tools(allTools...)}), ""},
		{"empty tools", with(request(user("x")), obj{"tools": []obj{}}), "'tools'"},
		{"tool twice", with(request(user("x")), obj{"tools": tools("A", "A")}), "tools[1]"},
		{"tool name", with(request(user("x")), obj{"tools": tools("a b")}), "tools[0].function.name"},
		{"tool type", with(request(user("x")), obj{"tools": []obj{{"type": "web"}}}), "tools[0].type"},
		{"schema no object", with(request(user("x")), obj{"tools": schema(obj{"type": "string"})}), "function 'A' (tools[0])"},
		{"schema no schema", with(request(user("x")), obj{"tools": schema([]int{1})}), "Failed to deserialize"},
	}
	_, url := start(t, Options{})
	for _, tt := range tests {
		g := send(t, url, tt.req)
		if tt.want == "" {
			if g.status != http.StatusOK || !g.done {
				t.Errorf("%s: refused: %s", tt.name, g.raw)
			}
			continue
		}
		message, kind := g.error(t)
		if g.status != http.StatusBadRequest || !strings.Contains(message, tt.want) || kind != "invalid_request_error" {
			t.Errorf("%s: status %d, message %q (%s), want %q in it", tt.name, g.status, message, kind, tt.want)
		}
	}
}

func TestOverflow(t *testing.T) {
	// 4 tokens for the frame and 100 for the text.
	_, url := start(t, Options{Window: 150})
	r := func(max int) obj { return with(request(user(strings.Repeat("x", 400))), obj{"max_tokens": max}) }
	if g := send(t, url, r(46)); g.status != 200 {
		t.Errorf("150 of 150 tokens refused: %s", g.raw)
	}
	message, _ := send(t, url, r(47)).error(t)
	const want = "This model's maximum context length is 150 tokens. However, you requested 151 tokens (104 in the messages, 47 in the completion). Please reduce the length of the messages or completion."
	if message != want {
		t.Errorf("message %q", message)
	}
}
