package llm

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"

	"lethe/internal/picture"
)

// pictures are shown by requests, in a form that providers take. It keeps a few, so that a request that is encoded
// again, for an attempt or an epoch, does not scale them again.
type pictures struct {
	read func(hash string) ([]byte, error)

	mu   sync.Mutex                  // one is decoded at a time: that takes memory
	kept map[[sha256.Size]byte]shown // by the sum of its blob
}

// maxKept bounds the pictures that are kept, of up to 4 MiB each, mostly of some 0.3.
const maxKept = 16

// shown is a picture as a provider takes it.
type shown struct {
	kind string // its media type; "" if it cannot be shown
	data string // base64
}

// of returns the picture of a Ref, which may be "". What stands at the Ref is read each time, since it may have been
// erased. p may be nil.
func (p *pictures) of(ref string) (s shown) {
	if p == nil || p.read == nil || ref == "" {
		return s
	}
	body, err := p.read(ref)
	if err != nil {
		return s
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := sha256.Sum256(body)
	if s, known := p.kept[sum]; known {
		return s
	}
	if kind, fit, err := picture.Fit(body); err == nil {
		s = shown{kind, base64.StdEncoding.EncodeToString(fit)}
	}
	if len(p.kept) == maxKept {
		clear(p.kept)
	}
	p.kept[sum] = s
	return s
}

// blocks are a content in the form of a dialect. Behind the text of a picture stands the picture, if it can be shown.
func (p *pictures) blocks(c Content, form func(shown) object) (blocks []any) {
	text := ""
	for _, part := range c {
		text += part.Text
		if s := p.of(part.Ref); s.kind != "" {
			blocks = append(say(blocks, strings.TrimPrefix(text, "\n")), form(s))
			text = ""
		}
	}
	return say(blocks, text)
}

// images are the pictures of a content, as Ollama takes them.
func (p *pictures) images(c Content) (images []string) {
	for _, part := range c {
		if s := p.of(part.Ref); s.kind != "" {
			images = append(images, s.data)
		}
	}
	return images
}

// part is a picture in OpenAI's dialect.
func (s shown) part() object {
	return object{"type": "image_url", "image_url": object{"url": "data:" + s.kind + ";base64," + s.data}}
}

// block is one in Anthropic's.
func (s shown) block() object {
	return object{"type": "image", "source": object{"type": "base64", "media_type": s.kind, "data": s.data}}
}
