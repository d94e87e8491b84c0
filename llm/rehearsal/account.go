package rehearsal

import (
	"crypto/sha256"
	"hash"
	"slices"
)

// Prompt is a request as the prefix cache sees it: what stands at its head, and
// its messages so far. It holds digests, no text, and is grown message by
// message, so that the requests of a long conversation cost only what is new in
// each. It is for one goroutine.
type Prompt struct{ p *prefix }

// NewPrompt begins a request. params is whatever names the model and its
// parameters; like the tools, its bytes belong to the prefix.
func NewPrompt(params, tools string) *Prompt {
	p := &prefix{h: sha256.New()}
	p.h.Write([]byte(params))
	p.h.Write([]byte{0})
	p.feed(tools)
	return &Prompt{p}
}

// Add appends messages.
func (p *Prompt) Add(messages ...Message) {
	for _, m := range messages {
		p.p.add(m)
	}
}

// Tokens is how many tokens the request is so far, as Tokens counts.
func (p *Prompt) Tokens() int { return p.p.tokens() }

// Clone returns a prompt that goes its own way from here.
func (p *Prompt) Clone() *Prompt {
	c := *p.p
	c.h = cloneHash(p.p.h)
	c.blocks, c.ends = slices.Clip(c.blocks), slices.Clip(c.ends)
	return &Prompt{&c}
}

func cloneHash(h hash.Hash) hash.Hash {
	c, err := h.(hash.Cloner).Clone()
	if err != nil { // of crypto/sha256: cannot happen
		panic(err)
	}
	return c.(hash.Hash)
}

// Accountant tells what requests cost, by the rules of the Server's cache and
// without a Server: for programs that go through thousands of requests. It is
// safe for concurrent use, but the answers depend on the order of the requests.
type Accountant struct{ cache cache }

// NewAccountant returns an Accountant whose cache is empty.
func NewAccountant() *Accountant {
	return &Accountant{}
}

// Count accounts for one request, of at least one message, and its reply. The
// reply is appended to the prompt, as the next request of the conversation has it.
func (a *Accountant) Count(p *Prompt, reply Answer) Usage {
	hit := a.cache.hit(p.p)
	u := newUsage(p.p.tokens(), hit, reply)
	p.p.add(Message{Role: "assistant", Content: &reply.Text, Reasoning: &reply.Reasoning, Calls: reply.Calls})
	a.cache.store(p.p)
	return Usage{Calls: 1, Input: u.Prompt, Cached: u.Hit, Output: u.Completion, Reasoning: u.Details.Reasoning}
}

// Task answers the compactor's task that ends the messages, as the Server does, but
// makes a summary as long as a model would: ratio of its source. It is false when
// the last of the messages is no task.
func Task(messages []Message, ratio float64) (Answer, bool) {
	t, ok := taskOf(messages)
	if !ok {
		return Answer{}, false
	}
	return t.answer(messages, ratio), true
}
