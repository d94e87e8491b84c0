package rehearsal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"lethe/agent/llm/rehearsal"
)

// blockTokens is the unit of the cache: a hit is a multiple of it.
const blockTokens = 64

// maxEnds bounds what the cache holds to about 10 MB.
const maxEnds = 1 << 17

// An end is a point of a request at which a message ends: the hash of all before it, and the tokens of that.
type end struct {
	hash   [sha256.Size]byte
	tokens int
}

// prefix is whatever belongs to a prompt before its messages.
type prefix struct {
	Model, Thinking, Effort, UserID, Tools string
	MaxTokens                              int
}

// ends measures a request. The ids of calls are no part of it: the service's own rendering has no ids, and clients
// rename them.
func (p prefix) ends(messages []rehearsal.Message) (out []end) {
	h, tokens := sha256.New(), new(checker).tools(p.Tools)
	put := func(texts ...string) {
		for _, s := range texts {
			fmt.Fprintf(h, "%d %s", len(s), s)
		}
	}
	put(p.Model, p.Thinking, p.Effort, fmt.Sprint(p.MaxTokens), p.UserID, p.Tools)
	for _, message := range messages {
		put(message.Role, *cmp.Or(message.Reasoning, new(string)), message.Text())
		for _, c := range message.Calls {
			put("call", c.Name, c.Arguments)
		}
		tokens += message.Tokens()
		out = append(out, end{[sha256.Size]byte(h.Sum(nil)), tokens})
	}
	return out
}

// cached returns how many tokens of a request the cache serves: whole blocks up to the last message that ended so in an
// earlier request or with a reply to one. Then the cache knows this request and its answer.
func (s *Server) cached(ctx context.Context, r *Request, answer Answer) (tokens int) {
	p := ctx.Value(exchangeKey{}).(*exchange).prefix
	reply := rehearsal.Message{
		Role: "assistant", Content: &answer.Text, Reasoning: &answer.Reasoning, Calls: answer.Calls,
	}
	all := p.ends(append(slices.Clone(r.Messages), reply))
	request := all[:len(r.Messages)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) > maxEnds {
		clear(s.seen)
	}
	for _, e := range request {
		if s.seen[e.hash] {
			tokens = e.tokens / blockTokens * blockTokens
		}
	}
	for _, e := range all {
		s.seen[e.hash] = true
	}
	return tokens
}
