package llm

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
)

// Prefix has the messages that a request and later ones begin with: each is weighed when it is added, and encoded
// when it is first sent. Nobody changes them then. Copies share what is encoded; the zero value is empty.
type Prefix struct {
	messages []Message
	weight   int
	sent     *sent
}

// Add adds messages; copies stay as they are.
func (p *Prefix) Add(more ...Message) {
	p.sent, p.messages = cmp.Or(p.sent, &sent{}), append(p.messages, more...)
	for _, m := range more {
		p.weight += m.Weight()
	}
}

// Messages returns the messages.
func (p Prefix) Messages() []Message { return slices.Clip(p.messages) }

// Weight returns their weighted characters.
func (p Prefix) Weight() int { return p.weight }

// sent is the part of a prefix that one preset has sent.
type sent struct {
	mu sync.Mutex
	writer
	count int // messages that it has written
}

// encode returns what r has of messages, in parts.
func (p PresetInfo) encode(r Request) [][]byte {
	s, prefix := cmp.Or(r.Prefix.sent, &sent{}), r.Prefix.messages
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.preset != p || s.count > len(prefix) {
		s.writer, s.count = writer{preset: p, pictures: r.pictures, names: map[string]string{}}, 0
	}
	for _, m := range prefix[s.count:] {
		s.add(m)
	}
	s.count = len(prefix)
	rest := s.writer
	rest.out = nil
	for _, m := range r.Messages[s.count:] {
		rest.add(m)
	}
	rest.flush()
	return [][]byte{[]byte("["), s.out, bytes.TrimSuffix(rest.out, []byte(",")), []byte("]")}
}

// writer writes messages in a preset's dialect. What is written depends on what stands
// before it only, and a reply closes it: that keeps prefixes.
type writer struct {
	preset   PresetInfo
	pictures *pictures
	out      []byte            // messages, with a comma behind each
	last     *wireMessage      // behind them; others may join it
	ended    bool              // last is a result that has ended its turn
	names    map[string]string // of the tools of calls, for Ollama
}

func (w *writer) add(m Message) {
	next := w.preset.message(m)
	if w.preset.Dialect == Ollama {
		for _, call := range m.Calls {
			w.names[call.ID] = call.Name
		}
		next.ToolName = w.names[m.CallID]
	}
	if w.preset.Alternate && w.last != nil {
		if w.joins(m) {
			next, w.last = *w.last, nil // which copies have, too
			next.Content += "\n\n" + m.Content.String()
			next.said = slices.Concat(next.said, Text("\n\n"), m.Content)
		} else if fill, ok := fillerBetween(w.last.Role, m.Role); ok {
			w.flush()
			filler := w.preset.message(fill)
			w.last = &filler
		}
	}
	w.flush()
	w.last, w.ended = &next, next.Role == "tool" && (m.Role == "tool" && m.Aside || m.Role == "user" && w.ended)
}

func (w *writer) flush() {
	if w.last != nil {
		var message any = w.last
		if w.preset.Dialect == Ollama {
			w.last.Images = w.pictures.images(w.last.said)
		} else if said := w.last.said; len(said) != 1 || said[0].Ref != "" {
			if parts := w.pictures.blocks(said, shown.part); len(parts) > 1 {
				message = object{"role": "user", "content": parts}
			}
		}
		text, _ := encode(message) // of plain fields: cannot fail
		w.out, w.last = append(append(w.out, text...), ','), nil
	}
}
