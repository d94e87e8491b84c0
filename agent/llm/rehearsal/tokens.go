package rehearsal

import (
	"cmp"
	"unicode"
)

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

// Tokens is the size of a message in a prompt, with its frame.
func (m Message) Tokens() int {
	n := messageTokens + Tokens(*cmp.Or(m.Reasoning, new(string))) + Tokens(m.Text())
	for _, c := range m.Calls {
		n += Tokens(c.Name) + Tokens(c.Arguments)
	}
	return n
}

// tokens is the size of the prompt.
func (r *Request) tokens() int {
	n := Tokens(r.tools)
	for _, m := range r.Messages {
		n += m.Tokens()
	}
	return n
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
