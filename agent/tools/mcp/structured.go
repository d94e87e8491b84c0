package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// structured returns the JSON of a structured content, without losing digits; "" for none.
func structured(content any) string {
	if content == nil {
		return ""
	}
	if text, ok := content.(string); ok && json.Valid([]byte(text)) { // see exact
		return text
	}
	text, _ := json.Marshal(content) // it was read from JSON
	return string(text)
}

// repeats reports whether texts say all that a structured content does: as JSON, as its one value, or each text one item
// of its list.
func repeats(texts []string, content string) bool {
	value, ok := decode(content)
	return ok && says(texts, value)
}

func says(texts []string, value any) bool {
	joined := strings.Join(texts, "\n")
	if text, isText := value.(string); isText && text == joined {
		return true
	}
	if said, ok := decode(joined); ok && reflect.DeepEqual(said, value) {
		return true
	}
	switch v := value.(type) {
	case map[string]any: // some frameworks wrap a value that is no object so
		if len(v) != 1 {
			return false
		}
		for _, inner := range v {
			return says(texts, inner)
		}
	case []any:
		if len(v) != len(texts) {
			return false
		}
		for i := range v {
			if !says(texts[i:i+1], v[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// decode reads JSON with all digits of its numbers.
func decode(text string) (value any, ok bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	err := d.Decode(&value)
	return value, err == nil && !d.More()
}
