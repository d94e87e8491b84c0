package replay

import (
	"testing"

	"pgregory.net/rapid"

	"lethe/llm/rehearsal"
	"lethe/mind"
)

func plain(role, text string) mind.Message { return mind.Message{Role: role, Content: text} }

// However requests go on from each other, the trunk is the same prompt and the
// same weight as one that is made from nothing.
func TestTrunkFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stable := mind.Stable{Tools: `[{"x":"é"}]`, Params: mind.Params{Model: "m", MaxTokens: 7}}
		message := rapid.Custom(func(t *rapid.T) mind.Message {
			m := plain(rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role"), rapid.StringMatching(`[ab日é ]{0,300}`).Draw(t, "text"))
			if rapid.Bool().Draw(t, "calls") {
				m.Calls = []mind.WireCall{{ID: "e1_1", Tool: "BASH", Args: rapid.StringN(0, 9, -1).Draw(t, "args")}}
			}
			m.Reasoning = rapid.StringN(0, 3, -1).Draw(t, "reasoning")
			return m
		})
		grown, grownLedger := newTrunk(stable), rehearsal.NewAccountant()
		freshLedger := rehearsal.NewAccountant()
		var messages []mind.Message
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			messages = messages[:rapid.IntRange(0, len(messages)).Draw(t, "keep")]
			messages = append(messages[:len(messages):len(messages)], rapid.SliceOfN(message, 1, 3).Draw(t, "new")...)
			tail := rapid.SliceOfN(message, 0, 1).Draw(t, "tail")
			grown.follow(messages)
			p, weight := grown.with(tail...)
			fresh := newTrunk(stable)
			fresh.follow(append(messages[:len(messages):len(messages)], tail...))
			reply := rehearsal.Answer{Text: "ok"}
			a, b := grownLedger.Count(p, reply), freshLedger.Count(fresh.prompt, reply)
			if a != b || weight != fresh.weight {
				t.Fatalf("%+v of weight %d, from nothing %+v of weight %d", a, weight, b, fresh.weight)
			}
		}
	})
}

func TestLedgerPrices(t *testing.T) {
	stable := mind.Stable{Params: mind.Params{Model: "deepseek-v4-pro"}}
	l, err := newLedger("deepseek-v4-pro")
	if err != nil {
		t.Fatal(err)
	}
	trunk := newTrunk(stable)
	trunk.follow([]mind.Message{plain("user", string(make([]byte, 4*996)))}) // and 4 for its frame
	var tally Tally
	for range 2 {
		p, _ := trunk.with()
		l.count(&tally, p, rehearsal.Answer{Text: "12345678"})
	}
	// 1000 missed; then 960 hit, by blocks of 64, and 40 missed.
	want := (1040*0.66 + 960*0.022 + 4*1.98) / 1e6
	if tally.Requests != 2 || tally.Input != 2000 || tally.Cached != 960 || tally.Missed() != 1040 || tally.Output != 4 || abs(tally.USD-want) > 1e-12 {
		t.Errorf("%+v, want %.9f USD", tally, want)
	}
	if _, err := newLedger("gpt-5"); err == nil || err.Error() != `replay with model: "gpt-5" is not on DeepSeek's price list` {
		t.Errorf("%v", err)
	}
}

func abs(x float64) float64 { return max(x, -x) }
