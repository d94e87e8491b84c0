package llm

import (
	"bytes"
	"crypto/sha256"
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
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 32, 32))); err != nil {
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
	see := Content{{Text: "look"}, {Text: "\n[image dot]", Ref: "dot"}, {Text: "\n[image broken]", Ref: "broken"},
		{Text: "\n[image dot]", Ref: "dot"}}
	return []Message{
		{Role: "user", Content: see},
		{Role: "assistant", Calls: []ToolCall{{ID: "p", Name: "UNCOMPACT"}, {ID: "q", Name: "LIST"}}},
		{Role: "tool", CallID: "p", Content: Text("opened")},
		{Role: "tool", CallID: "q", Content: Text("listed")},
		{Role: "user", Content: Content{{Text: "\n[image dot]", Ref: "dot"}}, Aside: true},
	}
}

// Pictures stand behind their texts: those of people in their message, those of results in one behind all results.
func TestPicturesAreShown(t *testing.T) {
	url := `{"image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(dot) + `"},"type":"image_url"}`
	block := `{"source":{"data":"` + base64.StdEncoding.EncodeToString(dot) + `","media_type":"image/png","type":"base64"},"type":"image"}`
	said := `{"content":[{"text":"look\n[image dot]","type":"text"},` + url +
		`,{"text":"[image broken]\n[image dot]","type":"text"},` + url + `],"role":"user"}`
	results := `{"role":"tool","content":"opened","tool_call_id":"p"},{"role":"tool","content":"listed","tool_call_id":"q"}`
	shown := `{"content":[{"text":"[image dot]","type":"text"},` + url + `]`
	for preset, want := range map[string][]string{
		"openai": {said, results + "," + shown + `,"role":"user"},{"role":"user","content":"and?"}]`},
		"vllm": {said, results + `,{"role":"assistant","content":"` + fillUnit + `"},` +
			strings.TrimSuffix(shown, "]") + `,{"text":"\n\nand?","type":"text"}],"role":"user"}]`},
		"anthropic": {
			`"text":"look\n[image dot]","type":"text"},` + block + `,{"text":"[image broken]\n[image dot]","type":"text"},` + block + `]`,
			`"tool_use_id":"q","type":"tool_result"},{"text":"[image dot]","type":"text"},` + block + `,{"text":"and?"`,
		},
	} {
		p, _ := Preset(preset)
		r := Request{Model: "m", Messages: append(pictured(), Message{Role: "user", Content: Text("and?")}), pictures: album()}
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

// What is kept is bounded, nothing is kept where no picture is shown, and what was erased meanwhile is not shown.
func TestFewPicturesAreKept(t *testing.T) {
	p := album()
	if p.of(""); len(p.kept) != 0 {
		t.Error("a text is kept")
	}
	stands := dot
	p.read = func(ref string) ([]byte, error) { return append(stands[:len(stands):len(stands)], ref...), nil }
	for i := range maxKept + 1 {
		if p.of(string(rune('a' + i))); len(p.kept) != i%maxKept+1 {
			t.Errorf("%d pictures are kept after %d", len(p.kept), i+1)
		}
	}
	before := p.of("a").kind
	stands = make([]byte, len(dot))
	if after := p.of("a").kind; before != "image/png" || after != "" {
		t.Errorf("%q is shown, and %q when it is erased", before, after)
	}
}

func album() *pictures { return &pictures{read: dotOnly, kept: map[[sha256.Size]byte]shown{}} }
