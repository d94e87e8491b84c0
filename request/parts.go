package request

import (
	"cmp"
	"log/slog"

	"lethe/home"
	"lethe/life"
	"lethe/llm"
	"lethe/mind"
)

// Parts is what the parts of the next request cost, in estimated tokens.
type Parts struct {
	Epoch   int `json:"epoch"`
	Limit   int `json:"limit"` // tokens of the whole request with its answer, or what the provider was seen to take
	Total   int `json:"total"`
	System  int `json:"system"`
	Past    int `json:"past"`    // faded entries, pins and MEMORY
	Live    int `json:"live"`    // live entries
	Entries int `json:"entries"` // how many those are
	Tools   int `json:"tools"`
	Answer  int `json:"answer"` // what is kept free for the answer
}

// PartsOf estimates the parts for the state of an identity; a limit of 0 is the default.
func PartsOf(id home.Identity, s *mind.State, limit int) Parts {
	e, tail := Estimator(s), ""
	limit = Limit(s, cmp.Or(limit, DefaultLimit))
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
	for _, m := range messages[min(2, len(messages)):] { // the one between them is the past
		p.Live += e.Tokens(m.Weight())
	}
	p.Past = max(0, p.Total-p.System-p.Live-p.Tools-p.Answer) // the rest, so that the parts make the total
	return p
}
