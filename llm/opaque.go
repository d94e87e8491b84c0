package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// verbatim is JSON that a provider wants back, as it stands in a request; nil for what is none.
func verbatim(s string) json.RawMessage {
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return nil
}

// back is what goes back in a field.
func (p PresetInfo) back(field, s string) json.RawMessage {
	if p.OpaqueField != field {
		return nil
	}
	return verbatim(s)
}

// isPlace reports whether a block is the place of a text or a call.
func isPlace(block object) bool { return block["type"] == "text" || block["type"] == "tool_use" }

// pieces are what a stream brings of OpenRouter's reasoning_details, or the blocks of a reply of Anthropic's.
type pieces []object

// whole is what the provider wants back of them. Where nothing is signed, that is nothing.
func (p pieces) whole() string {
	for n := len(p); n > 0 && isPlace(p[n-1]); n-- {
		p = p[:n-1]
	}
	if !slices.ContainsFunc(p, func(o object) bool { return word(o["signature"])+word(o["data"]) != "" }) {
		return ""
	}
	var list pieces
	for n := 1; len(p) > 0; p, n = p[n:], 1 {
		for n < len(p) && goesOn(p[0], p[n]) {
			n++
		}
		list = append(list, joined(p[:n]))
	}
	text, _ := encode(list) // it was decoded: cannot fail
	return string(text)
}

// goesOn reports whether next has more of the text of first.
func goesOn(first, next object) bool {
	return first["index"] != nil && first["data"] == nil && next["data"] == nil &&
		fmt.Sprint(first["index"], first["type"]) == fmt.Sprint(next["index"], next["type"])
}

// joined makes one of the pieces of a text. One alone stays as it is.
func joined(p pieces) object {
	if len(p) == 1 {
		return p[0]
	}
	one := object{}
	for _, piece := range p {
		for field, value := range piece {
			if value != nil {
				one[field] = value
			}
		}
	}
	for _, field := range []string{"text", "summary"} {
		var text strings.Builder
		for _, piece := range p {
			text.WriteString(word(piece[field]))
		}
		if one[field] != nil {
			one[field] = text.String()
		}
	}
	return one
}
