package rehearsal

import (
	"crypto/sha256"
	"hash"
	"sync"
)

// BlockTokens is the granularity in which the cache counts: a hit is a multiple
// of it, and what is shorter is not cached.
const BlockTokens = 64

// generationSize bounds the cache: a generation holds 4 million distinct tokens and
// costs about 10 MB; an ordinary life stays below one.
const generationSize = 1 << 16

// A digest names a prefix: the hash of everything from the start of the request
// to some point in it.
type digest [16]byte

// A mark is a point of a request: its digest and the tokens before it.
type mark struct {
	key    digest
	tokens int
}

// A prefix walks a request and notes the digest at the end of every message and
// of every whole block. It holds no text.
type prefix struct {
	h        hash.Hash
	quarters int
	blocks   []digest // blocks[i] ends at (i+1)*BlockTokens tokens
	ends     []mark   // ends of messages
}

func newPrefix(r *Request) *prefix {
	p := &prefix{h: sha256.New()}
	p.h.Write(r.params)
	p.feed(string(r.tools))
	for _, m := range r.Messages {
		p.add(m)
	}
	return p
}

// add appends a message. The ids of calls are no part of it: the service's own
// rendering has none, and clients rename them.
func (p *prefix) add(m Message) {
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
	p.ends = append(p.ends, mark{p.digest(), p.tokens()})
}

func (p *prefix) tokens() int { return tokensOf(p.quarters) }

func (p *prefix) digest() (d digest) {
	copy(d[:], p.h.Sum(nil))
	return d
}

func (p *prefix) end() mark { return p.ends[len(p.ends)-1] }

// feed hashes text and notes the digest wherever a block is full.
func (p *prefix) feed(text string) {
	const block = 4 * BlockTokens
	done := 0
	for i, r := range text {
		// A rune that would overflow the block belongs to the next one.
		for p.quarters+quarters(r) > (len(p.blocks)+1)*block {
			p.h.Write([]byte(text[done:i]))
			done = i
			p.blocks = append(p.blocks, p.digest())
		}
		p.quarters += quarters(r)
	}
	p.h.Write([]byte(text[done:]))
}

// A cache counts what the service would have found in its prefix cache: units
// end where an earlier input or an earlier output ended, or where an earlier
// request's common prefix with another one ended. A unit hits only whole.
//
// The service also stores units at fixed intervals of long texts; the interval is
// not published, so these are left out and the count is a lower bound.
type cache struct {
	mu     sync.Mutex
	ends   generations // ends of inputs and outputs, exact
	shared generations // blocks at which common prefixes end
	seen   generations // every block of every request
}

// hit returns how many tokens of the request are served from the cache, and
// stores what the request adds to it.
func (c *cache) hit(p *prefix) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	hit := 0
	for _, m := range p.ends {
		if c.ends.has(m.key) {
			hit = max(hit, m.tokens/BlockTokens*BlockTokens)
		}
	}
	common := 0
	for i, b := range p.blocks {
		if c.shared.has(b) {
			hit = max(hit, (i+1)*BlockTokens)
		}
		if c.seen.has(b) {
			common = i + 1
		}
		c.seen.add(b)
	}
	if common*BlockTokens > hit {
		c.shared.add(p.blocks[common-1])
	}
	c.ends.add(p.end().key)
	return hit
}

// store adds the end of an output, after p has been extended by the reply.
func (c *cache) store(p *prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends.add(p.end().key)
	for _, b := range p.blocks {
		c.seen.add(b)
	}
}

// generations is a set of bounded size that forgets what was not asked for in a
// while: two maps, of which the older is dropped when the younger is full.
type generations struct {
	young, old map[digest]struct{}
}

func (g *generations) has(d digest) bool {
	if _, ok := g.young[d]; ok {
		return true
	}
	_, ok := g.old[d]
	if ok {
		g.add(d)
	}
	return ok
}

func (g *generations) add(d digest) {
	if g.young == nil || len(g.young) >= generationSize {
		g.old, g.young = g.young, make(map[digest]struct{})
	}
	g.young[d] = struct{}{}
}
