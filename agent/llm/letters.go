package llm

import (
	"bytes"
	"encoding/json"

	"lethe/internal/pattern"
)

// content is text, or Mistral's list of parts, in which thinking is a part of its own. Other values are passed over.
type content struct {
	text, thinking string
	raw            []byte // the JSON of text, if halves of letters may stand in it
}

func (c *content) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		_ = json.Unmarshal(raw, &c.text)
		mayHaveHalves := bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`))
		if raw[0] == '"' && mayHaveHalves {
			c.raw = bytes.Clone(raw)
		}
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

// letters joins the pieces of a text. Some servers escape a letter as a pair of UTF-16 halves, and cut between them.
type letters struct{ half string }

// firstHalf is the first half of a letter at the end of a JSON string.
var firstHalf = pattern.Lazy(`[^\\](?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})"$`)

// decode returns the text of the next piece. It keeps back the half of a letter at the end.
func (l *letters) decode(c content) string {
	if c.raw == nil {
		lost := l.half != "" && c.text != ""
		if lost { // its other half never came
			l.half = ""
			return "\uFFFD" + c.text
		}
		return c.text
	}
	body, half := c.raw[1:len(c.raw)-1], ""
	if at := firstHalf().FindSubmatchIndex(c.raw); at != nil {
		body, half = c.raw[1:at[2]], string(c.raw[at[2]:at[3]])
	}
	joined := `"` + l.half + string(body) + `"`
	l.half = half
	var text string
	_ = json.Unmarshal([]byte(joined), &text) // it was valid in pieces
	return text
}
