package llm

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// everything uses each field of a request and each shape of a message.
func everything() Request {
	return Request{
		Model: "some-model",
		Messages: []Message{
			{Role: "system", Content: Text("You are <lethe> & \"friends\".")},
			{Role: "user", Content: Text("first\nline two")},
			{Role: "user", Content: Text("second 你好 \u2028 🌊")},
			{Role: "assistant", Reasoning: "look", Content: Text("I look."), Calls: []ToolCall{
				{ID: "e3_1", Name: "READ_FILE", Arguments: `{"path":"a<b"}`}, {ID: "e3_2", Name: "COMPACT"}}},
			{Role: "tool", CallID: "e3_1", Content: Text("text")},
			{Role: "tool", CallID: "e3_2", Content: Text("done")},
			{Role: "user", Content: Text("and now?")},
			{Role: "assistant", Calls: []ToolCall{{ID: "e5_1", Name: "LIST", Arguments: "{}"}}},
			{Role: "tool", CallID: "e5_1", Content: Text("")},
			{Role: "assistant", Content: Text("Nothing there.")},
			{Role: "assistant"},
			{Role: "user", Content: Text("thanks")},
		},
		// Neither the order of keys nor large numbers may change on the way.
		Tools: json.RawMessage(`[ {"type":"function", "function":{"name":"READ_FILE","strict":true,` +
			`"parameters":{"type":"object","additionalProperties":false,"properties":{"z":{"type":"integer",` +
			`"maximum":12345678901234567890},"a":{"enum":["<x>"]}}}}} ]`),
		MaxTokens: 8192, Thinking: "enabled", Effort: "max",
		UserID: "51c0",
	}
}

// Bodies are part of the promise that a life sends the same bytes after an
// update of the program: a change here breaks the prefix cache of every life. The
// files also show what each preset makes of each field and each shape of message.
func TestGoldenBodies(t *testing.T) {
	for _, name := range Presets() {
		p, _ := Preset(name)
		got, err := p.Body(everything())
		lethetest.Must(t, err)
		golden(t, "body-"+name, got)
	}
}

// golden holds a body to a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	file := filepath.Join("testdata", name+".json")
	if *update {
		lethetest.Must(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	lethetest.Must(t, err)
	if !bytes.Equal(append(got, '\n'), want) {
		t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
	}
}

// aTurn is a turn that a compaction has cut: its first reply stands without what its provider wanted back.
func aTurn(first, opaque, ofCall string) Request {
	call := func(id, opaque, ofCall string) Message {
		calls := []ToolCall{{ID: id + "_1", Name: "LIST", Opaque: ofCall}, {ID: id + "_2", Name: "LIST"}}
		return Message{Role: "assistant", Content: Text("I 漢 look."), Reasoning: "Look.", Opaque: opaque, Calls: calls}
	}
	result := func(id string) Message { return Message{Role: "tool", CallID: id, Content: Text("a file")} }
	return Request{Model: "m", MaxTokens: 8192, Thinking: "enabled", Messages: []Message{
		{Role: "system", Content: Text("soul")}, {Role: "user", Content: Text("past")}, {Role: "user", Content: Text("list them")},
		call("e2", first, ""), result("e2_1"), result("e2_2"), {Role: "user", Content: Text("a hint"), Aside: true},
		call("e4", opaque, ofCall), result("e4_1"), result("e4_2"),
	}}
}

// What providers want back stands where they want it.
func TestOpaque(t *testing.T) {
	const thought = `[{"signature":"cw==","thinking":"Look.","type":"thinking"},{"runes":3,"type":"text"},{"type":"tool_use",` +
		`"id":"toolu_1"},{"data":"ZA==","type":"redacted_thinking"}]`
	const details = `[{"type":"reasoning.text","text":"Look.","signature":"cw==","index":0}]`
	const signature = `{"google":{"thought_signature":"cw=="}}`
	for name, r := range map[string]Request{
		"anthropic": aTurn("", thought, ""), "openrouter": aTurn("", details, ""), "gemini": aTurn("", "", signature),
		"deepseek": aTurn("", thought, signature),
	} {
		p, _ := Preset(name)
		got, err := p.Body(r)
		lethetest.Must(t, err)
		golden(t, "opaque-"+name, got)
	}
	p, _ := Preset("anthropic")
	for model, want := range map[string]string{
		"claude-sonnet-5-5": `"thinking":{"display":"summarized","type":"adaptive"}`,
		"claude-haiku-4-5":  `"thinking":{"budget_tokens":4096,"type":"enabled"}`, "claude-opus-4-1-20250805": `"budget_tokens"`,
		"claude-opus-4-6": `"adaptive"`, "claude-3-7-sonnet-20250219": `"budget_tokens"`,
	} {
		r := aTurn(thought, thought, "")
		r.Model = model
		whole, err := p.Body(r)
		lethetest.Must(t, err)
		r.Messages[3].Opaque = "" // a turn that a compaction has cut
		cut, err := p.Body(r)
		lethetest.Must(t, err)
		if !bytes.Contains(whole, []byte(want)) || bytes.Contains(cut, []byte(`"adaptive"`)) != strings.Contains(want,
			"adaptive") || bytes.Contains(cut, []byte("budget")) {
			t.Errorf("%s\n%s\n%s", model, whole, cut)
		}
	}
}

type wireBody struct {
	Messages []wireMessage              `json:"messages"`
	Rest     map[string]json.RawMessage `json:"-"`
}

func bodyOf(t lethetest.Failer, preset string, r Request) wireBody {
	p, _ := Preset(preset)
	raw, err := p.Body(r)
	lethetest.Must(t, err)
	var b wireBody
	lethetest.Must(t, json.Unmarshal(raw, &b))
	lethetest.Must(t, json.Unmarshal(raw, &b.Rest))
	return b
}

func TestNoTools(t *testing.T) {
	for _, none := range []string{"", "[]", " [ ] "} {
		b := bodyOf(t, "deepseek", Request{Model: "m", Tools: json.RawMessage(none)})
		if b.Rest["tools"] != nil || b.Rest["tool_choice"] != nil {
			t.Errorf("tools %q: sent", none)
		}
	}
}

// What is not given, or switched off, is left out or said in the provider's words.
func TestParameters(t *testing.T) {
	off, silent := everything(), Request{Model: "m"}
	off.Thinking = "disabled"
	for _, test := range []struct {
		preset string
		r      Request
		field  string
		want   string // "" when the field must be absent
	}{
		{"deepseek", off, "thinking", `{"type":"disabled"}`},
		{"deepseek", off, "reasoning_effort", ""},
		{"deepseek", silent, "thinking", ""},
		{"deepseek", silent, "temperature", ""},
		{"deepseek", silent, "max_tokens", ""},
		{"deepseek", silent, "response_format", ""},
		{"deepseek", silent, "user_id", ""},
		{"openai", off, "reasoning_effort", `"none"`},
		{"openrouter", off, "reasoning", `{"enabled":false}`},
		{"openrouter", silent, "reasoning", ""},
		{"ollama", off, "think", `false`},
		{"groq", off, "reasoning_effort", ""},
		{"vllm", off, "chat_template_kwargs", `{"enable_thinking":false}`},
		{"vllm", silent, "chat_template_kwargs", ""},
	} {
		if got := string(bodyOf(t, test.preset, test.r).Rest[test.field]); got != test.want {
			t.Errorf("%s: %s = %s, want %s", test.preset, test.field, got, test.want)
		}
	}
}

// OpenAI's newer models refuse to think where there are tools, also where nobody says how much.
func TestToolsOrThinking(t *testing.T) {
	openai, _ := Preset("openai")
	tools := json.RawMessage(`[{"type":"function"}]`)
	for _, test := range []struct {
		model, effort string
		tools         json.RawMessage
		want          string
	}{
		{"gpt-5.6", "high", tools, `"reasoning_effort":"none"`},
		{"gpt-5.6-luna", "", tools, `"reasoning_effort":"none"`},
		{"gpt-5.6", "max", nil, `"reasoning_effort":"high"`},
		{"gpt-5.1", "low", tools, `"reasoning_effort":"low"`},
	} {
		r := Request{Model: test.model, Effort: test.effort, Thinking: "enabled", Tools: test.tools}
		if body, err := openai.Body(r); err != nil || !strings.Contains(string(body), test.want) {
			t.Errorf("%+v: %s, %v", test, body, err)
		}
	}
}

// A strict gateway gets a stand-in for missing reasoning on each reply, in new epochs only where there are calls.
func TestSpareStandIns(t *testing.T) {
	said := []Message{{Role: "user", Content: Text("hello")}, {Role: "assistant", Content: Text("hi")}, {Role: "user", Content: Text("go on")},
		{Role: "assistant", Calls: []ToolCall{{ID: "e1_1", Name: "LIST"}}}, {Role: "tool", CallID: "e1_1", Content: Text("none")}}
	for preset, want := range map[string][2]int{"custom": {2, 1}, "deepseek": {1, 1}, "openai": {0, 0}} {
		p, _ := Preset(preset)
		var prefix Prefix
		prefix.Add(said...)
		for i, spare := range []bool{false, true, false} {
			body, err := p.Body(Request{Model: "m", Messages: prefix.Messages(), Prefix: prefix, Spare: spare})
			if err != nil {
				t.Fatal(err)
			}
			if got := bytes.Count(body, []byte("no reasoning recorded")); got != want[i%2] {
				t.Errorf("%s, spare %t: %d stand-ins, want %d", preset, spare, got, want[i%2])
			}
		}
	}
}
