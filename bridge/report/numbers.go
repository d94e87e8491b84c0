package report

import (
	"fmt"

	"lethe/agent/budget"
)

// Count writes a number of tokens or bytes as people say it: 950, 1.2k, 18k, 1.2M.
func Count[N int | int64 | float64](n N) string {
	switch v := float64(n); {
	case v < 1000:
		return fmt.Sprintf("%.0f", v)
	case v < 9950:
		return fmt.Sprintf("%.1fk", v/1000)
	case v < 999_500:
		return fmt.Sprintf("%.0fk", v/1000)
	default:
		return fmt.Sprintf("%.1fM", v/1e6)
	}
}

// Dollars writes a sum in dollars: $0.01 and more to the cent.
func Dollars(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Share returns a part of a whole in percent.
func Share(part, whole int64) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// Hundredths returns a part of a whole in percent, as a width of at most 100.
func Hundredths[N int | budget.USD | float64](part, whole N) float64 {
	return min(100, 100*float64(part)/max(1e-9, float64(whole)))
}
