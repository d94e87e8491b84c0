package llm

import (
	"encoding/json"

	deepseek "github.com/cohesion-org/deepseek-go"
)

// chunk is one event of an answer: the library's types, and in place of some fields what other providers send there.
type chunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   *struct {
		deepseek.StreamUsage
		Details struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type choice struct {
	deepseek.StreamChoices
	Delta struct {
		Content          content         `json:"content"`
		ReasoningContent content         `json:"reasoning_content"`
		Reasoning        content         `json:"reasoning"`
		ToolCalls        []fragment      `json:"tool_calls"`
		Details          json.RawMessage `json:"reasoning_details"`
	} `json:"delta"`
}

// fragment is a piece of a tool call.
type fragment struct {
	deepseek.ToolCall
	Index    *int            `json:"index"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // text, or the JSON itself where text belongs
	} `json:"function"`
}

// content is text, or Mistral's list of parts, in which thinking is a part of its own. Any other value says nothing.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		_ = json.Unmarshal(raw, &c.text)
		return nil
	}
	var parts []struct {
		Text     string  `json:"text"`
		Thinking content `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return nil
}
