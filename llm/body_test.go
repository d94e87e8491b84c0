package llm

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// everything uses each field of a request and each shape of a message.
func everything() Request {
	warm := 0.0
	return Request{
		Model: "some-model",
		Messages: []Message{
			{Role: "system", Content: "You are <lethe> & \"friends\"."},
			{Role: "user", Content: "first\nline two"},
			{Role: "user", Content: "second 你好 \u2028 🌊"},
			{Role: "assistant", Reasoning: "look", Content: "I look.", Calls: []ToolCall{
				{ID: "e3_1", Name: "READ_FILE", Arguments: `{"path":"a<b"}`}, {ID: "e3_2", Name: "COMPACT"}}},
			{Role: "tool", CallID: "e3_1", Content: "text"},
			{Role: "tool", CallID: "e3_2", Content: "done"},
			{Role: "user", Content: "and now?"},
			{Role: "assistant", Calls: []ToolCall{{ID: "e5_1", Name: "LIST", Arguments: "{}"}}},
			{Role: "tool", CallID: "e5_1", Content: ""},
			{Role: "assistant", Content: "Nothing there."},
			{Role: "assistant"},
			{Role: "user", Content: "thanks"},
		},
		// Neither the order of keys nor large numbers may change on the way.
		Tools:      json.RawMessage(`[ {"type":"function", "function":{"name":"READ_FILE","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"z":{"type":"integer","maximum":12345678901234567890},"a":{"enum":["<x>"]}}}}} ]`),
		ToolChoice: "auto", MaxTokens: 8192, Thinking: "enabled", Effort: "max",
		Temperature: &warm, JSON: true, UserID: "51c0",
	}
}

// Bodies are part of the promise that a life sends the same bytes after an
// update of the program: a change here breaks the prefix cache of every life.
func TestGoldenBodies(t *testing.T) {
	for _, name := range Presets() {
		p, _ := Preset(name)
		got, err := p.Body(everything())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "body-"+name+".json")
		if *update {
			if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append(got, '\n'), want) {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
}

type wireBody struct {
	Messages []wireMessage              `json:"messages"`
	Rest     map[string]json.RawMessage `json:"-"`
}

func bodyOf(t interface{ Fatal(...any) }, preset string, r Request) wireBody {
	p, _ := Preset(preset)
	raw, err := p.Body(r)
	if err != nil {
		t.Fatal(err)
	}
	var b wireBody
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &b.Rest); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestToolsAreSentAsTheyAre(t *testing.T) {
	var want bytes.Buffer
	if err := json.Compact(&want, everything().Tools); err != nil {
		t.Fatal(err)
	}
	for _, preset := range Presets() {
		if got := bodyOf(t, preset, everything()).Rest["tools"]; string(got) != want.String() {
			t.Errorf("%s: %s", preset, got)
		}
	}
	for _, none := range []string{"", "[]", " [ ] "} {
		b := bodyOf(t, "deepseek", Request{Model: "m", Tools: json.RawMessage(none), ToolChoice: "auto"})
		if b.Rest["tools"] != nil || b.Rest["tool_choice"] != nil {
			t.Errorf("tools %q: sent", none)
		}
	}
}

func TestParameters(t *testing.T) {
	on, off, silent := everything(), everything(), Request{Model: "m"}
	off.Thinking = "disabled"
	for _, test := range []struct {
		preset string
		r      Request
		field  string
		want   string // "" when the field must be absent
	}{
		{"deepseek", on, "thinking", `{"type":"enabled"}`},
		{"deepseek", on, "reasoning_effort", `"max"`},
		{"deepseek", on, "user_id", `"51c0"`},
		{"deepseek", on, "max_tokens", "8192"},
		{"deepseek", on, "temperature", "0"},
		{"deepseek", on, "tool_choice", `"auto"`},
		{"deepseek", on, "response_format", `{"type":"json_object"}`},
		{"deepseek", on, "stream", "true"},
		{"deepseek", on, "stream_options", `{"include_usage":true}`},
		{"deepseek", off, "thinking", `{"type":"disabled"}`},
		{"deepseek", off, "reasoning_effort", ""},
		{"deepseek", silent, "thinking", ""},
		{"deepseek", silent, "temperature", ""},
		{"deepseek", silent, "max_tokens", ""},
		{"deepseek", silent, "response_format", ""},
		{"deepseek", silent, "user_id", ""},
		{"openai", on, "max_completion_tokens", "8192"},
		{"openai", on, "max_tokens", ""},
		{"openai", on, "thinking", ""},
		{"openai", on, "reasoning_effort", `"high"`},
		{"openai", off, "reasoning_effort", `"none"`},
		{"openai", on, "user_id", ""},
		{"openai", on, "prompt_cache_key", `"51c0"`},
		{"openrouter", on, "reasoning", `{"effort":"xhigh","enabled":true}`},
		{"openrouter", off, "reasoning", `{"enabled":false}`},
		{"openrouter", silent, "reasoning", ""},
		{"openrouter", on, "user", `"51c0"`},
		{"ollama", off, "reasoning_effort", `"none"`},
		{"groq", off, "reasoning_effort", ""},
		{"mistral", on, "stream_options", ""},
		{"mistral", on, "reasoning_effort", ""},
		{"vllm", off, "chat_template_kwargs", `{"enable_thinking":false}`},
		{"vllm", silent, "chat_template_kwargs", ""},
		{"custom", on, "thinking", ""},
		{"custom", on, "user_id", ""},
	} {
		if got := string(bodyOf(t, test.preset, test.r).Rest[test.field]); got != test.want {
			t.Errorf("%s: %s = %s, want %s", test.preset, test.field, got, test.want)
		}
	}
}

func TestReasoningGoesBack(t *testing.T) {
	r := everything()
	for _, test := range []struct {
		preset                       string
		withCalls, bare, final, same string // reasoning of messages 3, 7, 9 and 3's other field
	}{
		{"deepseek", "look", noReasoning, "", ""},
		{"ollama", "look", "", "", ""},
		{"openrouter", "look", noReasoning, "", ""},
		{"openai", "", "", "", ""},
		{"groq", "", "", "", ""},
	} {
		m := bodyOf(t, test.preset, r).Messages
		p, _ := Preset(test.preset)
		field := func(w wireMessage) (own, other string) {
			if p.ReasoningField == "reasoning" {
				return w.Reasoning, w.ReasoningContent
			}
			return w.ReasoningContent, w.Reasoning
		}
		for i, want := range map[int]string{3: test.withCalls, 7: test.bare, 9: test.final} {
			if got, other := field(m[i]); got != want || other != "" {
				t.Errorf("%s: message %d: %q and %q, want %q", test.preset, i, got, other, want)
			}
		}
	}
	for _, m := range bodyOf(t, "custom", r).Messages {
		if (m.Role == "assistant") != (m.ReasoningContent != "") {
			t.Errorf("custom: %+v", m)
		}
	}
}

func TestNoEmptyAssistantMessage(t *testing.T) {
	for _, preset := range Presets() {
		for _, m := range bodyOf(t, preset, everything()).Messages {
			if m.Role == "assistant" && m.Content == "" && len(m.ToolCalls) == 0 {
				t.Errorf("%s: %+v", preset, m)
			}
		}
	}
}

func TestShortCallIDs(t *testing.T) {
	nine := regexp.MustCompile(`^[a-z0-9]{9}$`)
	m := bodyOf(t, "mistral", everything()).Messages
	ids := map[string]bool{}
	var asked, answered []string
	for _, msg := range m {
		for _, c := range msg.ToolCalls {
			asked = append(asked, c.ID)
			ids[c.ID] = true
		}
		if msg.Role == "tool" {
			answered = append(answered, msg.ToolCallID)
		}
	}
	if len(ids) != 3 || strings.Join(asked, " ") != strings.Join(answered, " ") {
		t.Errorf("asked %v, answered %v", asked, answered)
	}
	for id := range ids {
		if !nine.MatchString(id) {
			t.Errorf("id %q", id)
		}
	}
}
