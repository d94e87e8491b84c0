package replay

import (
	"crypto/sha256"
	"hash"

	"lethe/agent/llm"
	"lethe/agent/llm/rehearsal"
)

// How DeepSeek's prefix cache is published to work, which the offline model only approximates.

// blockTokens is the granularity in which the cache counts: a hit is a multiple
// of it, and what is shorter is not cached.
const blockTokens = 64

// maxDigests bounds each set of the cache, at about 10 MB: 8 million distinct tokens. An
// ordinary life stays below it.
const maxDigests = 1 << 17

// A digest names a prefix: the hash of everything from the start of the request
// to some point in it.
type digest [16]byte

// A mark is a point of a request: its digest and the tokens before it.
type mark struct {
	key    digest
	tokens int
}

// prompt is a request as the prefix cache sees it: what stands at its head, and its
// messages so far, with the digest at the end of every message and of every whole block.
// It holds no text, and is grown message by message, so that the requests of a long
// conversation cost only what is new in each. It is for one goroutine.
type prompt struct {
	h        hash.Hash
	quarters int
	blocks   []digest // blocks[i] ends at (i+1)*blockTokens tokens
	ends     []mark   // ends of messages
}

// beginPrompt begins a request. params is whatever names the model and its
// parameters; like the tools, its bytes belong to the prefix.
func beginPrompt(params, tools string) *prompt {
	p := &prompt{h: sha256.New()}
	p.h.Write([]byte(params))
	p.h.Write([]byte{0})
	p.feed(tools)
	return p
}

// Add appends messages. The ids of calls are no part of them: the service's own
// rendering has none, and clients rename them.
func (p *prompt) Add(messages ...rehearsal.Message) {
	for _, m := range messages {
		p.h.Write([]byte{0})
		p.quarters += messageQuarters
		p.h.Write([]byte(m.Role))
		if m.Reasoning != nil && *m.Reasoning != "" {
			p.h.Write([]byte{1})
			p.feed(*m.Reasoning)
		}
		p.h.Write([]byte{2})
		p.feed(m.Text())
		for _, c := range m.Calls {
			p.h.Write([]byte{3})
			p.feed(c.Name)
			p.h.Write([]byte{4})
			p.feed(c.Arguments)
		}
		p.h.Write([]byte{5})
		p.ends = append(p.ends, mark{p.digest(), p.Tokens()})
	}
}

// answered appends a reply.
func (p *prompt) answered(a rehearsal.Answer) {
	p.Add(rehearsal.Message{Role: "assistant", Content: &a.Text, Reasoning: &a.Reasoning, Calls: a.Calls})
}

// Tokens is how many tokens the request is so far, as Tokens counts.
func (p *prompt) Tokens() int { return (p.quarters + 3) / 4 }

func (p *prompt) digest() (d digest) {
	copy(d[:], p.h.Sum(nil))
	return d
}

func (p *prompt) end() mark { return p.ends[len(p.ends)-1] }

// feed hashes text and notes the digest wherever a block is full.
func (p *prompt) feed(text string) {
	const block = 4 * blockTokens
	done := 0
	for i, r := range text {
		// A rune that would overflow the block belongs to the next one.
		for p.quarters+rehearsal.Quarters(r) > (len(p.blocks)+1)*block {
			p.h.Write([]byte(text[done:i]))
			done = i
			p.blocks = append(p.blocks, p.digest())
		}
		p.quarters += rehearsal.Quarters(r)
	}
	p.h.Write([]byte(text[done:]))
}

// accountant counts what requests cost: what the service would have found in its prefix
// cache. Units end where an earlier input or an earlier output ended, or where an earlier
// request's common prefix with another one ended. A unit hits only whole.
//
// The service also stores units at fixed intervals of long texts; the interval is
// not published, so these are left out and the count is a lower bound.
//
// The answers depend on the order of the requests. Its zero value has an empty cache.
type accountant struct {
	units digests // where they end
	seen  digests // every block of every request
}

// count accounts for one request, of at least one message, and its reply. The
// reply is appended to the prompt, as the next request of the conversation has it.
func (a *accountant) count(p *prompt, reply rehearsal.Answer) llm.Usage {
	u := llm.Usage{Input: p.Tokens(), Cached: a.hit(p), Output: rehearsal.Tokens(reply.Reasoning) + rehearsal.Tokens(reply.Text)}
	for _, c := range reply.Calls {
		u.Output += rehearsal.Tokens(c.Name) + rehearsal.Tokens(c.Arguments)
	}
	a.store(p)
	p.answered(reply)
	a.store(p)
	return u
}

// hit returns how many tokens of the request are served from the cache.
func (a *accountant) hit(p *prompt) int {
	hit, common := 0, 0
	for _, m := range p.ends {
		if a.units[m.key] {
			hit = max(hit, m.tokens/blockTokens*blockTokens)
		}
	}
	for i, b := range p.blocks {
		if a.units[b] {
			hit = max(hit, (i+1)*blockTokens)
		}
		if a.seen[b] {
			common = i + 1
		}
	}
	if common*blockTokens > hit {
		a.units.add(p.blocks[common-1])
	}
	return hit
}

// store adds a request, or one that has been extended by its reply.
func (a *accountant) store(p *prompt) {
	a.units.add(p.end().key)
	for _, b := range p.blocks {
		a.seen.add(b)
	}
}

// digests is a set of bounded size: one that is full begins anew.
type digests map[digest]bool

func (s *digests) add(d digest) {
	if *s == nil || len(*s) >= maxDigests {
		*s = digests{}
	}
	(*s)[d] = true
}

// messageQuarters is the cost of a message's frame, in quarter tokens, as the offline model counts it.
const messageQuarters = 16
