package llm_test

import (
	"lethe/agent/llm"
	"regexp"
	"testing"
	"time"
)

// Each row of the table belongs to a preset, is dated, and says what can be: who has only half of a price has none.
func TestTable(t *testing.T) {
	if len(llm.ModelsTable) > 8<<10 {
		t.Errorf("the table has %d bytes", len(llm.ModelsTable))
	}
	from := regexp.MustCompile(`^202\d-[01]\d-[0-3]\d \S+$`)
	if len(llm.Table()) < 40 {
		t.Errorf("the table has %d rows", len(llm.Table()))
	}
	for name, row := range llm.Table() {
		if llm.ParseName(name).Preset == "" {
			t.Errorf("%s is of no preset", name)
		}
		if !from.MatchString(row.From) || row.Window < 4096 || row.Output < 0 || row.Output > row.Window {
			t.Errorf("%s: %+v", name, row)
		}
		if (row.Miss > 0) != (row.Price.Output > 0) || row.Hit < 0 || row.Hit > row.Miss || row.Price.Output < row.Miss {
			t.Errorf("%s costs %+v", name, row.Price)
		}
	}
}

func TestKnown(t *testing.T) {
	pro, _ := llm.Known(nil).Of("deepseek-v4-pro")
	if pro.Window != 1_000_000 || pro.Output != 384_000 || pro.Price != (llm.Price{0.022, 0.66, 0.66, 1.98, true}) {
		t.Errorf("%+v", pro)
	}
	known := llm.Known{"mine": {Window: 1}, "custom:mine": {Window: 2}, "custom:mine-2025-04-14": {Window: 3}}
	for model, row := range map[string]llm.Info{"gpt-5.1": llm.Table()["openai:gpt-5.1"],
		"deepseek-v4-pro": llm.Table()["deepseek:deepseek-v4-pro"]} {
		if info, _ := llm.Know("openai").Of(model); info.Window != row.Window || info.Miss != row.Miss || row.Miss == 0 {
			t.Errorf("%s: %+v", model, info)
		}
	}
	for name, window := range map[string]int{
		"mine": 1, "mine@high": 1, "custom:mine": 2, "custom:mine-2025-04-14": 3, "custom:mine-20250415@max": 2,
		"deepseek:deepseek-v4-pro": pro.Window, "deepseek-v4-pro-20261101": pro.Window,
		"custom:deepseek-v4-pro": 0, "mine-mini": 0, "mine-0415": 0, "openai:mine": 0,
	} {
		if info, ok := known.Of(name); info.Window != window || ok != (window > 0) {
			t.Errorf("%s has %+v, %v, want %d", name, info, ok, window)
		}
	}
}

// What the cache takes in may be dearer than what it does not.
func TestWritten(t *testing.T) {
	known := llm.Known{"m": {Price: llm.Price{Hit: 1, Miss: 10, Write: 12, Output: 50}}}
	at := time.Now()
	usd, priced := known.Cost("m", llm.Usage{Input: 1_000_000, Cached: 500_000, Written: 400_000, Output: 100_000}, at)
	if want := 0.5 + 4.8 + 1 + 5; usd != want || !priced {
		t.Errorf("%v, want %v", usd, want)
	}
	if usd, _ := known.Cost("m", llm.Usage{Input: 1_000_000, Cached: 900_000, Written: 900_000}, at); usd != 0.9+1.2 {
		t.Errorf("absurd usage: %v", usd)
	}
	if usd, _ := known.Worst("m", 1_000_000, 0, at); usd != 12 {
		t.Errorf("the worst is %v", usd)
	}
	if u := (llm.Usage{Input: 10, Cached: 4, Written: 2}).AtLeast(20, 0); u.Cached != 8 || u.Written != 4 {
		t.Errorf("%+v", u)
	}
}
