package replay

import (
	"slices"
	"testing"
)

// Two million tokens have to go through in well under two minutes.
func BenchmarkRun(b *testing.B) {
	items := generated(b, 500_000, 1)
	tokens := 0
	for b.Loop() {
		tokens += replayed(b, slices.Clone(items), Default()).History.Tokens
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}
