package llm

import (
	"cmp"
	"fmt"
	"time"
)

// Price is what a model costs in USD per million tokens.
type Price struct {
	Hit    float64 `toml:"hit"`  // input from the provider's cache; left out: as Miss
	Miss   float64 `toml:"miss"` // other input
	Output float64 `toml:"output"`
	peak   bool    // double in DeepSeek's peak hours
}

// list is DeepSeek's as of November 2026, off-peak.
var list = map[string]Price{
	"deepseek-v4-pro":   {0.022, 0.66, 1.98, true},
	"deepseek-flash":    {0.003, 0.15, 0.60, true},
	"deepseek-v4-flash": {0.003, 0.15, 0.60, true}, // an old alias
}

// Prices are those that somebody has configured, by model. They go before the list.
type Prices map[string]Price

// Of returns the price of a model; the others depend on who serves them.
func (p Prices) Of(model string) (price Price, known bool) {
	if price, known = p[model]; known {
		price.Hit = cmp.Or(price.Hit, price.Miss)
		return price, known
	}
	price, known = list[model]
	return price, known
}

// Cost returns what a call at that time cost in USD.
func (p Prices) Cost(model string, u Usage, at time.Time) (usd float64, known bool) {
	price, known := p.Of(model)
	usd = price.of(u)
	if price.peak && peak(at) {
		usd *= 2
	}
	return usd, known
}

// Worst returns the most that a call may cost in USD that begins then, is counted as so
// many tokens at most, and ends within callCap.
func (p Prices) Worst(model string, input, output int, at time.Time) (usd float64, known bool) {
	price, known := p.Of(model)
	fresh, cached := Usage{Input: input, Output: output}, Usage{Input: input, Cached: input, Output: output}
	usd = max(price.of(fresh), price.of(cached))
	for h := time.Duration(0); h <= callCap; h += time.Hour {
		if price.peak && peak(at.Add(h)) {
			return 2 * usd, known
		}
	}
	return usd, known
}

func (p Price) of(u Usage) (usd float64) {
	cached := min(max(u.Cached, 0), max(u.Input, 0))
	return (float64(cached)*p.Hit + float64(max(u.Input, 0)-cached)*p.Miss + float64(max(u.Output, 0))*p.Output) / 1e6
}

// Dollars renders what calls of a model have cost, or a question mark for a model without a
// price. The offline one is for nothing.
func Dollars(model string, usd float64) string {
	if _, known := list[model]; !known && usd == 0 && model != "rehearsal" {
		return "?"
	}
	return fmt.Sprintf("%.4f", usd)
}

// peak says whether it is Monday to Friday, 01–04 or 06–10 UTC, the end of each
// excluded.
func peak(at time.Time) bool {
	at = at.UTC()
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		return false
	}
	h := at.Hour()
	return h >= 1 && h < 4 || h >= 6 && h < 10
}
