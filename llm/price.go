package llm

import (
	"fmt"
	"time"
)

// price is in USD per million tokens.
type price struct{ hit, miss, output float64 }

// prices is DeepSeek's list, off-peak.
var prices = map[string]price{
	"deepseek-v4-pro":   {hit: 0.022, miss: 0.66, output: 1.98},
	"deepseek-flash":    {hit: 0.003, miss: 0.15, output: 0.60},
	"deepseek-v4-flash": {hit: 0.003, miss: 0.15, output: 0.60}, // an old alias
}

// Cost returns what a call at that time cost in USD, by DeepSeek's list, in
// which peak hours are double. known is false for other models, whose price
// depends on who serves them.
func Cost(model string, u Usage, at time.Time) (usd float64, known bool) {
	p, known := prices[model]
	if !known {
		return 0, false
	}
	cached := min(max(u.Cached, 0), max(u.Input, 0))
	usd = (float64(cached)*p.hit + float64(max(u.Input, 0)-cached)*p.miss + float64(max(u.Output, 0))*p.output) / 1e6
	if peak(at) {
		usd *= 2
	}
	return usd, true
}

// Dollars renders what calls of a model have cost, or a question mark for a model without a
// price. The offline one is for nothing.
func Dollars(model string, usd float64) string {
	if _, known := prices[model]; !known && usd == 0 && model != "rehearsal" {
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
