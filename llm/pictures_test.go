package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"lethe/internal/test/lethetest"
)

// dot is a small picture.
var dot = func() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}()

// dotOnly reads one picture; "broken" is none, and others are not there.
func dotOnly(ref string) ([]byte, error) {
	switch ref {
	case "dot":
		return dot, nil
	case "broken":
		return []byte("no picture"), nil
	}
	return nil, errors.New("no such blob")
}

// pictured are messages with pictures: what was said, and two results, one of which has none.
func pictured() []Message {
	see := Content{{Text: "look"}, {Text: "\n[image dot]", Ref: "dot"}, {Text: "\n[image broken]", Ref: "broken"}, {Text: "\n[image dot]", Ref: "dot"}}
	return []Message{
		{Role: "user", Content: see},
		{Role: "assistant", Calls: []ToolCall{{ID: "p", Name: "UNCOMPACT"}, {ID: "q", Name: "LIST"}}},
		{Role: "tool", CallID: "p", Content: Content{{Text: "opened"}, {Text: "\n[image dot]", Ref: "dot"}}},
		{Role: "tool", CallID: "q", Content: Text("listed")},
	}
}

// Pictures stand behind their texts: those of people in their message, those of results in one behind all results.
func TestPicturesAreShown(t *testing.T) {
	url := `{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(dot) + `"}}`
	said := `{"role":"user","content":[{"type":"text","text":"look\n[image dot]"},` + url +
		`,{"type":"text","text":"[image broken]\n[image dot]"},` + url + `]}`
	results := `{"role":"tool","content":"opened","tool_call_id":"p"},{"role":"tool","content":"listed","tool_call_id":"q"}`
	shown := `{"role":"user","content":[{"type":"text","text":"[image dot]"},` + url + `]}`
	for preset, want := range map[string][]string{
		"openai": {said, results + "," + shown + `,{"role":"user","content":"and?"}]`},
		"vllm": {said, results + `,{"role":"assistant","content":"` + fillUnit + `"},` +
			strings.TrimSuffix(shown, "]}") + `,{"type":"text","text":"\n\nand?"}]}]`},
	} {
		p, _ := Preset(preset)
		r := Request{Model: "m", Messages: append(pictured(), Message{Role: "user", Content: Text("and?")}), pictures: &pictures{read: dotOnly}}
		body, err := p.parts(r)
		lethetest.Must(t, err)
		text := string(slices.Concat(body...))
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s is not in\n%s", preset, part, text)
			}
		}
		r.pictures = nil
		blind, err := p.Body(r)
		lethetest.Must(t, err)
		if bytes.Contains(blind, []byte("image_url")) || !json.Valid(blind) ||
			!bytes.Contains(blind, []byte(`"look\n[image dot]\n[image broken]\n[image dot]"`)) {
			t.Errorf("%s: without pictures it is %s", preset, blind)
		}
	}
}

// What is kept is bounded, and nothing is kept where no picture is shown.
func TestFewPicturesAreKept(t *testing.T) {
	p := &pictures{read: func(string) ([]byte, error) { return dot, nil }}
	if p.of(""); p.kept != nil {
		t.Error("a text is kept")
	}
	p.of("a")
	p.size = maxKept
	if p.of("b"); len(p.kept) != 1 || p.size != len(p.of("b").data) {
		t.Errorf("%d pictures of %d bytes are kept", len(p.kept), p.size)
	}
}
