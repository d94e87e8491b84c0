// Package prompt renders the next request of an identity and counts it: how it begins, what comes last, what its parts
// cost. Texts that others wrote, rules and the catalogue, go into the system message; each is recorded as a blob before
// it is shown, and named by a ref at the head of its section.
package prompt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"lethe/agent/home"
	"lethe/agent/llm"
	"lethe/compactor"
	"lethe/life"
	"lethe/mind"
)

// DefaultLimit is the largest request in tokens, where nobody has configured another.
const DefaultLimit = 100_000

// Bound is the largest request in tokens, its answer included: what was configured, or the model's window, if that is
// less.
func Bound(known llm.Known, model string, configured int) int {
	info, _ := known.Of(model)
	limit := cmp.Or(configured, DefaultLimit)
	return min(limit, cmp.Or(info.Window, limit))
}

// Limit is at most the size that the provider has been seen to take.
func Limit(s *mind.State, bound int) int { return min(cmp.Or(s.Window, bound), bound) }

// Estimator knows what the last reply of a life has told of the length of tokens.
func Estimator(s *mind.State) (e llm.Estimator) {
	if w := s.Usage.LastWeight; w > 0 {
		e = e.Observe(int(w), int(s.Usage.LastInput))
	}
	return e
}

// Window divides a limit.
func Window(e llm.Estimator, stable mind.Stable, limit int) compactor.Window {
	system := llm.Message{Role: "system", Content: llm.Text(stable.System)}
	return compactor.Window{
		Limit:  limit,
		Fixed:  e.Tokens(system.Weight() + llm.Weight(stable.Tools)),
		Answer: stable.Params.MaxTokens,
	}
}

// Rendering keeps the messages that all requests of an epoch begin with: an entry stays as it is until the next epoch, once no
// result is awaited.
type Rendering struct {
	epoch   int
	stable  mind.Stable
	tools   json.RawMessage
	weight  int // of the tools
	entries int // of State.Live that are in prefix
	prefix  llm.Prefix
}

// follow brings the rendering up to date.
func (r *Rendering) follow(s *mind.State) {
	sameEpoch := r.epoch == s.Epoch && r.stable == s.Stable
	if !sameEpoch || r.entries > len(s.Live) {
		tools := s.Stable.Tools
		*r = Rendering{epoch: s.Epoch, stable: s.Stable, tools: json.RawMessage(tools), weight: llm.Weight(tools)}
		r.prefix.Add((&mind.State{Stable: s.Stable}).Messages("")...)
	}
	for ; r.entries < len(s.Live) && !s.Live[r.entries].Waits(); r.entries++ {
		r.prefix.Add(s.Live[r.entries].Messages(s.Stable)...)
	}
}

// Request renders the next call to the model. tail goes last.
func (r *Rendering) Request(s *mind.State, tail string) llm.Request {
	r.follow(s)
	p := s.Stable.Params
	q := llm.Request{
		Model: p.Model, Tools: r.tools, MaxTokens: p.MaxTokens, Thinking: p.Thinking, Effort: p.Effort,
		UserID: s.Self[:32], Spare: s.Stable.Spare, Messages: r.prefix.Messages(), Prefix: r.prefix,
	}
	if tail != "" {
		q.Messages = append(q.Messages, llm.Message{Role: "user", Content: llm.Text(tail), Aside: true})
	}
	return q
}

// Tokens estimates the next request.
func (r *Rendering) Tokens(s *mind.State, tail string, e llm.Estimator) int {
	r.follow(s)
	weight := r.weight + r.prefix.Weight()
	if tail != "" {
		weight += llm.Message{Content: llm.Text(tail)}.Weight()
	}
	return e.Tokens(weight) + r.stable.Params.MaxTokens
}

// A Frame has the parts of a request beside the state, and its bounds.
type Frame struct {
	ID       home.Identity
	Life     *life.Log
	Lines    int // newest lines of LIFE that a prompt shows
	Limit    int
	Estimate llm.Estimator
	Log      *slog.Logger
}

// Notes reads MEMORY and the lines of LIFE that were asked for, each within its share of the free weight. Their own bounds
// are less unless the limit is small.
func (f Frame) Notes(stable mind.Stable) (memory string, lines []string, err error) {
	text, err := f.ID.ReadOwn(home.MemoryFile, f.Log)
	if err != nil {
		return "", nil, err
	}
	if lines, err = f.Life.Lines(f.Lines); err != nil {
		return "", nil, err
	}
	free := f.Estimate.Chars(Window(f.Estimate, stable, f.Limit).Free())
	lines = compactor.Recent(lines, min(mind.MaxLife, free/compactor.LifeShare), llm.Weight)
	return mind.CutMemory(string(text), free/compactor.MemoryShare), lines, nil
}

// Tail goes last in the classic order.
func (f Frame) Tail(stable mind.Stable) string {
	memory, lines, err := f.Notes(stable)
	if err != nil { // a request without them is better than no request
		return ""
	}
	return mind.Notes(memory, lines)
}

// Parts are the costs of the parts of the next request, in estimated tokens.
type Parts struct {
	Epoch   int `json:"epoch"`
	Limit   int `json:"limit"` // tokens of the whole request with its answer, or what the provider was seen to take
	Total   int `json:"total"`
	System  int `json:"system"`
	Others  int `json:"others,omitempty"` // of System, what others wrote: rules of people, and the catalogue
	Past    int `json:"past"`             // faded entries, pins and MEMORY
	Live    int `json:"live"`             // live entries
	Entries int `json:"entries"`          // how many those are
	Tools   int `json:"tools"`
	Answer  int `json:"answer"` // what is kept free for the answer
}

// Used is the request alone, without what is kept free for its answer.
func (p Parts) Used() int { return p.Total - p.Answer }

// Free is the rest of the limit.
func (p Parts) Free() int { return max(p.Limit-p.Total, 0) }

// PartsOf estimates the parts for the state of an identity; of the limit it is bound by.
func PartsOf(id home.Identity, s *mind.State, limit int) Parts {
	e, tail := Estimator(s), ""
	limit = Limit(s, limit)
	if s.Stable.Params.Order == mind.OrderTail {
		log, err := life.View(id.LIFE())
		if err != nil { // and s has just been read from it
			return Parts{}
		}
		defer log.Close()
		tail = Frame{ID: id, Life: log, Limit: limit, Estimate: e, Log: slog.New(slog.DiscardHandler)}.Tail(s.Stable)
	}
	r := new(Rendering).Request(s, tail)
	p := Parts{
		Epoch: s.Epoch, Limit: limit, Total: e.Tokens(r.Weight()) + r.MaxTokens, Entries: len(s.Live), Answer: r.MaxTokens,
		Tools: e.Tokens(llm.Weight(string(r.Tools))),
	}
	messages := s.Messages("")
	p.System = e.Tokens(messages[0].Weight())
	if others := Of(s.Stable.System); others != "" {
		p.Others = e.Tokens(llm.Weight(others))
	}
	for _, m := range messages[min(2, len(messages)):] { // the one between them is the past
		p.Live += e.Tokens(m.Weight())
	}
	p.Past = max(0, p.Total-p.System-p.Live-p.Tools-p.Answer) // the rest, so that the parts make the total
	return p
}

// Cost estimates the next request without sending it.
type Cost struct {
	Model  string  `json:"model"`
	Input  int     `json:"input"`             // estimated tokens
	Cached int     `json:"cached"`            // of Input, what the last request of the epoch had: the provider's cache serves it
	USD    float64 `json:"usd,omitzero"`      // of Input
	Most   float64 `json:"most_usd,omitzero"` // with the longest answer
}

// CostOf estimates the cost of a request of these parts with a model. A model other than the epoch's has nothing cached.
func CostOf(s *mind.State, p Parts, known llm.Known, model string, at time.Time) Cost {
	c := Cost{Model: model, Input: p.Used()}
	weight := llm.Weight(s.Stable.Tools)
	sameModel := model == s.Stable.Params.Model
	for _, m := range s.Messages("") {
		isLastReply := m.Role == "assistant" && weight == int(s.Usage.LastWeight)
		if sameModel && isLastReply {
			c.Cached = Estimator(s).Tokens(weight)
		}
		weight += m.Weight()
	}
	u := llm.Usage{Input: c.Input, Cached: c.Cached, Written: c.Input - c.Cached}
	c.USD, _ = known.Cost(model, u, at)
	u.Output = p.Answer
	c.Most, _ = known.Cost(model, u, at)
	return c
}

// Check refuses a limit that leaves no room for a conversation; answer bounds the tokens of an answer. The
// limit that it asks for is enough, with all that tools say of themselves where it is not small. What a provider counts
// or takes refuses no life.
func Check(stable mind.Stable, all json.RawMessage, limit, answer int) error {
	w := Window(llm.Estimator{}, stable, limit)
	free := compactor.MinFree(limit)
	if w.Free() >= free {
		return nil
	}
	least, room := compactor.LeastLimit(w.Fixed, free, answer)
	if limit < compactor.SmallLimit && least >= compactor.SmallLimit {
		stable.Tools, free = string(all), compactor.MinFree(compactor.SmallLimit)
		w.Fixed = Window(llm.Estimator{}, stable, limit).Fixed
		least, room = compactor.LeastLimit(w.Fixed, free, answer)
	}
	return fmt.Errorf(
		"context limit %d is too small: needs at least %d tokens: prompt and tools %d, answer %d, conversation %d; "+
			"set context.limit = %d, for a model whose window is no smaller",
		w.Limit, least, w.Fixed, room, free, (least+499)/500*500,
	)
}
