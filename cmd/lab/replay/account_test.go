package replay

import (
	"strings"
	"testing"

	"lethe/agent/llm/rehearsal"
	"lethe/mind"
	"lethe/mind/message"
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

// What is served from the cache ends where an earlier request or its reply did, or the common prefix of two earlier
// requests: the service's rule.
func TestAccountant(t *testing.T) {
	var a accountant
	said := func(role, letter string, tokens int) rehearsal.Message {
		text := strings.Repeat(letter, 4*tokens)
		return rehearsal.Message{Role: role, Content: &text}
	}
	first, z := said("user", "a", 196), said("assistant", "z", 60)
	for i, c := range []struct {
		messages     []rehearsal.Message
		input, cache int
	}{
		{[]rehearsal.Message{first}, 200, 0},
		{[]rehearsal.Message{first, z, said("user", "b", 36)}, 304, 256},
		{[]rehearsal.Message{first, said("assistant", "y", 60), said("user", "b", 36)}, 304, 192},
		{[]rehearsal.Message{first, z, said("user", "b", 36), z, said("user", "c", 10)}, 382, 320},
		{[]rehearsal.Message{said("system", "s", 196), said("user", "b", 16)}, 220, 0},
		{[]rehearsal.Message{said("system", "s", 196), said("user", "c", 16)}, 220, 0},
		{[]rehearsal.Message{said("system", "s", 196), said("user", "d", 16)}, 220, 192},
	} {
		p := beginPrompt("", "")
		p.Add(c.messages...)
		if u := a.count(p, rehearsal.Answer{Text: *z.Content}); u.Input != c.input || u.Cached != c.cache {
			t.Errorf("request %d: %+v, want %d of %d", i, u, c.cache, c.input)
		}
	}
}
