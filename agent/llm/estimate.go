package llm

import (
	"bytes"
	"math"
	"slices"
)

// Bounds and start of Estimator.CharsPerToken. No known tokenizer leaves them
// on text that an agent lives on: a Chinese character counts from a fifth to two tokens.
const (
	minChars     = 1.0
	maxChars     = 12
	defaultChars = 3.3  // 1 / 0.3
	maxChange    = 1.25 // from one request to the next
)

// Estimator converts weighted characters to tokens for one model, as the provider counted
// the last request: the next one is most often the same and a little more, so that only
// what is new is guessed. It is a plain value: the zero value is ready, and equal
// observations in equal order give equal estimates on every machine.
type Estimator struct {
	CharsPerToken float64 // weighted characters; 0 means 3.3
}

// Tokens estimates the tokens of that many weighted characters, rounded up.
func (e Estimator) Tokens(chars int) int {
	if chars <= 0 {
		return 0
	}
	return int(math.Ceil(float64(chars) / e.ratio()))
}

// Chars is the largest number of weighted characters that Tokens puts at no
// more than tokens.
func (e Estimator) Chars(tokens int) int {
	if tokens <= 0 {
		return 0
	}
	n := int(float64(tokens) * e.ratio())
	for n > 0 && e.Tokens(n) > tokens {
		n--
	}
	return n
}

// Observe returns an estimator that knows that a request of chars weighted
// characters counted tokens. One wild count after others moves it by a quarter at most.
// Requests of less than 200 tokens are mostly frame and teach nothing.
func (e Estimator) Observe(chars, tokens int) Estimator {
	if chars <= 0 || tokens < leastCount {
		return e
	}
	seen := clampChars(float64(chars) / float64(tokens))
	if e.CharsPerToken != 0 {
		seen = min(max(seen, e.ratio()/maxChange), e.ratio()*maxChange)
	}
	return Estimator{clampChars(seen)}
}

// Most bounds the tokens of a request: of its weighted characters, shared stand at the beginning of a request
// that counted so many tokens in all. Nobody has counted the others; each may be a token, as in base64 it nearly is.
func Most(chars, shared, counted int) int {
	return chars - shared + min(shared, int(math.Ceil(maxChange*float64(counted))))
}

func (e Estimator) ratio() float64 {
	if e.CharsPerToken == 0 {
		return defaultChars
	}
	return clampChars(e.CharsPerToken)
}

func clampChars(r float64) float64 { return min(max(r, minChars), maxChars) }

// Shared returns the weighted characters that both requests begin with; 0 where they ask different models.
func (r Request) Shared(last Request) (n int) {
	if r.Model != last.Model || !bytes.Equal(r.Tools, last.Tools) {
		return 0
	}
	n = toolsOf(r.Tools).weight
	for i, m := range r.Messages {
		if i == len(last.Messages) || !same(m, last.Messages[i]) {
			break
		}
		n += m.Weight()
	}
	return n
}

// same reports whether two messages are sent as the same bytes.
func same(m, n Message) bool {
	sameFields := m.Role == n.Role && m.CallID == n.CallID
	sameThoughts := m.Reasoning == n.Reasoning && m.Opaque == n.Opaque
	if !sameFields || !sameThoughts {
		return false
	}
	return slices.Equal(m.Content, n.Content) && slices.Equal(m.Calls, n.Calls)
}

// Weight returns the weighted characters of the whole prompt: messages and
// tools. MaxTokens is not part of it.
func (r Request) Weight() int {
	n := toolsOf(r.Tools).weight + r.Prefix.weight
	for _, m := range r.Messages[len(r.Prefix.messages):] {
		n += m.Weight()
	}
	return n
}

// leastCount is the least count that teaches anything: smaller requests are mostly frame.
const leastCount = 200

// Counts judges a provider's counts of one model's requests. Only they tell that a server drops what its window does
// not hold. The zero value is ready.
type Counts struct {
	Most int // the largest count of the model, perhaps from before

	last  Request
	count int // of last
	odd   int // odd counts in a row; see isOdd
}

// Judge notes a count. believed says that it may teach the length of tokens. cut says that the server dropped a part
// of this request and of an earlier one: it takes some Most tokens.
func (c *Counts) Judge(r Request, tokens int) (believed, cut bool) {
	if c.last.Model != "" && c.last.Model != r.Model {
		*c = Counts{}
	}
	if tokens < leastCount {
		return true, false
	}
	defer func() { c.last, c.count, c.Most = r, tokens, max(c.Most, tokens) }()
	switch {
	case !c.isOdd(r, tokens):
		c.odd = 0
		return true, false
	case tokens >= c.Most*3/4: // a server that counts what is new alone has counted more before
		c.odd++
	}
	return false, c.odd >= 2
}

// isOdd reports whether no tokenizer makes so few tokens of a request, or of its part behind the last one. It reads
// the texts of a long request only where its weight, or what is new in it, leaves a doubt.
func (c *Counts) isOdd(r Request, tokens int) bool {
	isHeavy := r.Weight() > maxChars*tokens
	if isHeavy && least(r.Messages)+toolsOf(r.Tools).weight/maxChars > tokens {
		return true
	}
	known := len(c.last.Messages)
	if c.count == 0 || known > len(r.Messages) {
		return false
	}
	tooMuch := least(r.Messages[known:]) > max(tokens-c.count, leastCount)
	return tooMuch && r.Shared(c.last) == c.last.Weight()
}

// least is the smallest number of tokens that the texts and arguments of messages make. Templates leave out thoughts,
// and a picture counts as much as its provider likes.
func least(messages []Message) int {
	weight := 0
	for _, m := range messages {
		weight += Weight(m.Content.String())
		for _, call := range m.Calls {
			weight += Weight(call.Arguments)
		}
	}
	return weight / maxChars
}
