package rehearsal

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"unicode"
)

// blockTokens is the granularity in which the cache counts: a hit is a multiple of it.
const blockTokens = 64

// maxEnds bounds what the cache holds to about 10 MB.
const maxEnds = 1 << 17

// An end is a point of a request at which a message ends: the hash of all before it, and the tokens of that.
type end struct {
	hash   [sha256.Size]byte
	tokens int
}

// ends measures a request. Its head is whatever belongs to the prefix beside the messages; of that only the tools are
// text. The ids of calls are no part of it: the service's own rendering has none, and clients rename them.
func ends(head, tools string, messages ...Message) (out []end) {
	h, tokens := sha256.New(), Tokens(tools)
	put := func(texts ...string) {
		for _, s := range texts {
			fmt.Fprintf(h, "%d %s", len(s), s)
		}
	}
	put(head, tools)
	for _, m := range messages {
		reasoning := *cmp.Or(m.Reasoning, new(string))
		put(m.Role, reasoning, m.Text())
		tokens += messageTokens + Tokens(reasoning) + Tokens(m.Text())
		for _, c := range m.Calls {
			put("call", c.Name, c.Arguments)
			tokens += Tokens(c.Name) + Tokens(c.Arguments)
		}
		out = append(out, end{[sha256.Size]byte(h.Sum(nil)), tokens})
	}
	return out
}

// hit returns how many tokens of a request the cache serves: all up to the last message that ended so in an earlier
// request or with a reply to one. Then the cache knows this one.
func (s *Server) hit(request []end) (tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) > maxEnds {
		clear(s.seen)
	}
	for _, e := range request {
		if s.seen[e.hash] {
			tokens = e.tokens / blockTokens * blockTokens
		}
		s.seen[e.hash] = true
	}
	return tokens
}

// Tokens estimates how many tokens a text is: four ASCII characters, two other
// letters, or one CJK character make a token, and a started token counts. It is
// deliberately simple, so that a test can compute it by hand; DeepSeek's own page
// gives 0.3 tokens for an English character and 0.6 for a Chinese one.
func Tokens(text string) int {
	q := 0
	for _, r := range text {
		q += Quarters(r)
	}
	return tokensOf(q)
}

// messageTokens is the cost of a message's frame: role and separators.
const messageTokens = 4

func tokensOf(quarters int) int { return (quarters + 3) / 4 }

// Quarters is the cost of a rune in quarter tokens.
func Quarters(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case r < 0x2e80 && !unicode.IsSymbol(r):
		return 2
	default: // CJK, emoji, geometric shapes
		return 4
	}
}

// cut returns the longest prefix of text that is at most n tokens.
func cut(text string, n int) string {
	q := 0
	for i, r := range text {
		if q += Quarters(r); q > 4*n {
			return text[:i]
		}
	}
	return text
}

// output counts the tokens of an answer.
func (a Answer) output() int {
	n := Tokens(a.Text) + Tokens(a.Reasoning)
	for _, c := range a.Calls {
		n += Tokens(c.Name) + Tokens(c.Arguments)
	}
	return n
}

// usage is what the response tells of an answer to a prompt of so many tokens, of which cached come from the cache.
func (a Answer) usage(prompt, cached int) object {
	output := a.output()
	return object{
		"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
		"prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": prompt - cached,
		"completion_tokens_details": object{"reasoning_tokens": Tokens(a.Reasoning)},
	}
}
