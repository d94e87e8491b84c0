package llm

import (
	"encoding/base64"
	"strings"
	"sync"

	"lethe/internal/picture"
)

// pictures are those that requests show, as providers take them. It keeps a few: who encodes a request again, for an
// attempt or an epoch, need not scale them again.
type pictures struct {
	read func(hash string) ([]byte, error)

	mu   sync.Mutex // one is decoded at a time: that takes memory
	kept map[string]shown
	size int // bytes that are kept
}

// maxKept bounds pictures.size.
const maxKept = 16 << 20

// shown is a picture as a provider takes it.
type shown struct {
	kind string // its media type; "" for one that cannot be shown
	data string // base64
}

// of returns the picture of a Ref, which may be "". p may be nil.
func (p *pictures) of(ref string) (s shown) {
	if p == nil || p.read == nil || ref == "" {
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.kept[ref]
	if known {
		return s
	}
	body, err := p.read(ref)
	if err != nil {
		return s
	}
	if kind, fit, err := picture.Fit(body); err == nil {
		s = shown{kind, base64.StdEncoding.EncodeToString(fit)}
	}
	if p.size += len(s.data); p.kept == nil || p.size > maxKept {
		p.kept, p.size = map[string]shown{}, len(s.data)
	}
	p.kept[ref] = s
	return s
}

// parts are a content as the OpenAI dialect has it. Behind the text of a picture stands the picture, if it can be shown.
func (p *pictures) parts(c Content) (parts []wirePart) {
	text := ""
	for _, part := range c {
		text += part.Text
		if s := p.of(part.Ref); s.kind != "" {
			url := imageURL{"data:" + s.kind + ";base64," + s.data}
			words := wirePart{Type: "text", Text: strings.TrimPrefix(text, "\n")}
			parts = append(parts, words, wirePart{Type: "image_url", Image: &url})
			text = ""
		}
	}
	if text != "" {
		parts = append(parts, wirePart{Type: "text", Text: text})
	}
	return parts
}
