package llm_test

import (
	"lethe/agent/llm"
	"testing"
)

func TestParseName(t *testing.T) {
	for text, want := range map[string]llm.Name{
		"deepseek-v4-pro":                     {"", "deepseek-v4-pro", ""},
		"openai:gpt-5.1@high":                 {"openai", "gpt-5.1", "high"},
		"openrouter:qwen/qwen3:free":          {"openrouter", "qwen/qwen3:free", ""},
		"qwen3:8b":                            {"", "qwen3:8b", ""},
		"qwen/qwen3:free@max":                 {"", "qwen/qwen3:free", "max"},
		"claude@20251101":                     {"", "claude@20251101", ""},
		"deepseek:":                           {"deepseek", "", ""},
		"deepseek:@low":                       {"deepseek", "", "low"},
		"custom:accounts/me/models/a:b@c@max": {"custom", "accounts/me/models/a:b@c", "max"},
		"":                                    {},
	} {
		if got := llm.ParseName(text); got != want {
			t.Errorf("ParseName(%q) = %+v, want %+v", text, got, want)
		}
	}
}
