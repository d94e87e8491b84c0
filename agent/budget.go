package agent

import (
	"lethe/llm"
	"lethe/mind"
)

// Budget is what the parts of the next request cost, in estimated tokens.
type Budget struct {
	Epoch   int `json:"epoch"`
	Limit   int `json:"limit"` // tokens of the whole request with its answer, or what the provider was seen to take
	Total   int `json:"total"`
	System  int `json:"system"`
	Past    int `json:"past"`    // faded entries, MEMORY and the end of LIFE
	Live    int `json:"live"`    // live entries
	Entries int `json:"entries"` // how many those are
	Tools   int `json:"tools"`
	Answer  int `json:"answer"` // what is kept free for the answer
}

// BudgetOf estimates the budget of a state; a limit of 0 is the default. total is
// what a running identity has counted, or 0.
func BudgetOf(s *mind.State, limit, total int) Budget {
	var e llm.Estimator
	if w := s.Usage.LastWeight; w > 0 {
		e = e.Observe(int(w), int(s.Usage.LastInput))
	}
	limit = orDefault(limit, defaultLimit)
	if s.Window > 0 {
		limit = min(limit, s.Window)
	}
	r := request(s, "")
	if total > r.MaxTokens {
		e.CharsPerToken = float64(r.Weight()) / float64(total-r.MaxTokens)
	} else {
		total = e.Tokens(r.Weight()) + r.MaxTokens
	}
	b := Budget{Epoch: s.Epoch, Limit: limit, Total: total, Entries: len(s.Live), Answer: r.MaxTokens, Tools: e.Tokens(llm.Weight(string(r.Tools)))}
	for i, m := range r.Messages {
		switch n := e.Tokens(m.Weight()); i {
		case 0:
			b.System = n
		case 1: // below
		default:
			b.Live += n
		}
	}
	b.Past = max(0, total-b.System-b.Live-b.Tools-b.Answer) // the rest, so that the parts make the total
	return b
}
