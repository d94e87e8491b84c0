package budget_test

import (
	"testing"

	"lethe/agent/budget"
)

// A thousand writes have the price that config.toml says; else only those to a bucket have one.
func TestWritesCost(t *testing.T) {
	own := 2.0
	for _, c := range []struct {
		url   string
		price *float64
		want  budget.USD
	}{{"s3://h/b/p", nil, budget.Of(10)}, {"file:///x", nil, 0}, {"nats://h/x", &own, budget.Of(4000)}} {
		if got := budget.Writes(c.url, c.price, 2_000_000); got != c.want {
			t.Errorf("%s: %s", c.url, got)
		}
	}
}
