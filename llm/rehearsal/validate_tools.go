package rehearsal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sync"
)

const maxTools = 128

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// tools checks the offered functions: names, and schemas as far as a service
// must understand them to call the function.
func (c *checker) tools(r *Request, w *wireRequest) *refusal {
	if !absent(w.Tools) {
		var tools []wireTool
		if err := json.Unmarshal(w.Tools, &tools); err != nil {
			return deserialise("tools: %v", err)
		}
		if len(tools) == 0 || len(tools) > maxTools {
			return invalid("Invalid 'tools': expected an array of 1 to %d functions, but got %d", maxTools, len(tools))
		}
		for i, t := range tools {
			if ref := checkTool(i, t, r); ref != nil {
				return ref
			}
			r.Tools = append(r.Tools, Tool{t.Function.Name, t.Function.Parameters})
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, w.Tools); err != nil {
			return deserialise("tools: %v", err)
		}
		r.tools = compact.Bytes()
	}
	return c.choice(r)
}

func checkTool(i int, t wireTool, r *Request) *refusal {
	if t.Type != "function" {
		return deserialise("tools[%d].type: unknown variant `%s`, expected `function`", i, t.Type)
	}
	if t.Function == nil || !toolName().MatchString(t.Function.Name) {
		return invalid("Invalid 'tools[%d].function.name': expected a string that matches %s", i, toolName())
	}
	if r.offers(t.Function.Name) {
		return invalid("Tool names must be unique: tools[%d].function.name %s", i, t.Function.Name)
	}
	if absent(t.Function.Parameters) {
		return nil
	}
	if msg := checkSchema(t.Function.Parameters); msg != "" {
		return invalid("Invalid schema for function '%s' (tools[%d]): %s", t.Function.Name, i, msg)
	}
	return nil
}

// checkSchema says what is wrong with the schema of a function's parameters.
func checkSchema(raw json.RawMessage) string {
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err.Error()
	}
	if s.Type != "object" {
		return `schema must be a JSON Schema of 'type: "object"', got 'type: "` + s.Type + `"'`
	}
	for name, p := range s.Properties {
		if !isObject(p) {
			return "property " + name + " is not an object"
		}
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return "required property " + name + " is not among the properties"
		}
	}
	return ""
}

// choice checks tool_choice, of which it takes words only. While thinking, the
// service takes none and auto.
func (c *checker) choice(r *Request) *refusal {
	word := "auto"
	if !absent(r.ToolChoice) && json.Unmarshal(r.ToolChoice, &word) != nil {
		word = string(r.ToolChoice)
	}
	switch {
	case word == "none" || word == "auto":
		return nil
	case word != "required":
		return deserialise("tool_choice: unknown variant `%s`, expected one of `none`, `auto`, `required`", word)
	case r.Thinking:
		return invalid("Thinking mode does not support this tool_choice")
	case len(r.Tools) == 0:
		return invalid("When using `tool_choice`, `tools` must be set.")
	}
	return nil
}
