package replay

import (
	"slices"
	"testing"
)

func BenchmarkRun(b *testing.B) {
	items := history(500_000, 1)
	tokens := 0
	for b.Loop() {
		tokens += replayed(b, slices.Clone(items), Default()).History.Tokens
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
}
