package replay

import (
	"testing"

	"lethe/llm/message"
	"lethe/llm/rehearsal"
	"lethe/mind"
)

func TestLedgerPrices(t *testing.T) {
	stable := mind.Stable{Params: mind.Params{Model: "deepseek-v4-pro"}}
	messages := []mind.Message{{Role: "user", Content: message.Text(string(make([]byte, 4*996)))}} // and 4 for its frame
	l, err := newLedger("deepseek-v4-pro")
	if err != nil {
		t.Fatal(err)
	}
	var tally Tally
	for range 2 {
		l.count(&tally, newPrompt(stable, messages), rehearsal.Answer{Text: "12345678"})
	}
	// 1000 missed; then 960 hit, by blocks of 64, and 40 missed.
	want := (1040*0.66 + 960*0.022 + 4*1.98) / 1e6
	if tally.Requests != 2 || tally.Input != 2000 || tally.Cached != 960 || tally.Output != 4 || abs(tally.USD-want) > 1e-12 {
		t.Errorf("%+v, want %.9f USD", tally, want)
	}
	if _, err := newLedger("gpt-5"); err == nil || err.Error() != `replay with model: "gpt-5" is not on DeepSeek's price list` {
		t.Errorf("%v", err)
	}
}

func abs(x float64) float64 { return max(x, -x) }
