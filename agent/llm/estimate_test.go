package llm

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
	_ "lethe/internal/test/seed"
)

func TestWeight(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 2, "Ж": 2, "你好": 4, "안": 2, "ก": 3, "→": 3, "🌊": 6, "\xff": 3, "a你🌊": 9,
		"eight or more letters, 你, eight or more": 40,
	} {
		if got := Weight(text); got != want {
			t.Errorf("Weight(%q) = %d, want %d", text, got, want)
		}
	}
	// Everything that is sent counts, and nothing else.
	r := everything()
	least := Weight(string(r.Tools))
	for _, m := range r.Messages {
		least += m.Weight()
		if sent := Weight(m.Content.String()) + Weight(m.Reasoning) + len(m.CallID); m.Weight() <= sent {
			t.Errorf("%+v weighs %d, its text %d", m, m.Weight(), sent)
		}
	}
	if bare := (Request{Model: "m", MaxTokens: 1 << 20}).Weight(); bare != 0 || r.Weight() != least {
		t.Errorf("an empty request weighs %d, another %d, want %d", bare, r.Weight(), least)
	}
}

func TestEstimatorLearns(t *testing.T) {
	var e Estimator
	if got := e.Tokens(3300); got != 1000 {
		t.Errorf("fresh: %d", got)
	}
	e = e.Observe(40_000, 10_000)
	if got := e.Tokens(41_000); got != 10_250 {
		t.Errorf("after one observation of 4 characters a token: %d tokens", got)
	}
	// One wild observation moves it by a quarter at most.
	if wild := e.Observe(1_000_000, 1_000_000); wild.Tokens(40_000) != 12_500 {
		t.Errorf("one wild observation: %d tokens", wild.Tokens(40_000))
	}
	for _, nothing := range [][2]int{{0, 500}, {-1, 500}, {500, 0}, {500, -1}, {50, 20}} {
		if got := e.Observe(nothing[0], nothing[1]); got != e {
			t.Errorf("Observe%v changed it", nothing)
		}
	}
}

func TestEstimatorIsBoundedAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Estimator{rapid.SampledFrom([]float64{0, -1, 1e9, 3}).Draw(t, "ratio")}
		for range rapid.IntRange(0, 10).Draw(t, "observations") {
			e = e.Observe(rapid.IntRange(-1, 1<<40).Draw(t, "chars"), rapid.IntRange(-1, 1<<40).Draw(t, "tokens"))
		}
		chars := rapid.IntRange(0, 1<<30).Draw(t, "n")
		n := e.Tokens(chars)
		if float64(n) < float64(chars)/maxChars || float64(n) > float64(chars)/minChars+1 {
			t.Fatalf("%+v: %d characters are %d tokens", e, chars, n)
		}
		if e.Tokens(chars+1) < n {
			t.Fatal("more characters, fewer tokens")
		}
		if fit := e.Chars(n); e.Tokens(fit) > n || e.Tokens(fit+1) <= n {
			t.Fatalf("%+v: Chars(%d) = %d", e, n, fit)
		}
	})
}

// Over a life, with compactions, the estimate is within 3 % of what servers count that cut text
// in other ways. What is never known before is the first request; where a character of one
// script counts more than one of another, a compaction that takes most of one script away is noticed
// by the request after it.
func TestEstimatorOverALife(t *testing.T) {
	letters := func(ascii, cjk float64) func(string) float64 {
		return func(s string) (n float64) {
			for _, r := range s {
				if n += ascii; r >= 0x2e80 {
					n += cjk - ascii
				}
			}
			return n
		}
	}
	for name, count := range map[string]func(string) float64{
		"/3": letters(1./3, 1./3), "/5": letters(.2, .2), "CJK 1": letters(.25, 1), "CJK 1.5": letters(.25, 1.5), "CJK 0.6": letters(.3, .6),
	} {
		for script, lines := range map[string][]string{"Latin": {"We meet at the harbour on Friday. "},
			"Chinese": {"我们星期五在港口见面。"}, "both": {"We meet on Friday. ", "带上汤锅。"}} {
			var e Estimator
			live := []Message{{Role: "system", Content: Text(strings.Repeat("You are Ada. ", 600))}}
			sum, wrong := 0.0, 0
			for i := range 300 {
				live = append(live, Message{Role: "user", Content: Text(strings.Repeat(lines[i%len(lines)], 5+i%40))})
				if len(live) > 60 { // a compaction
					live = append(live[:1:1], live[40:]...)
				}
				real := 0.0
				for _, m := range live {
					real += count(m.Content.String()) + 4
				}
				weight := Request{Messages: live}.Weight()
				off := math.Abs(float64(e.Tokens(weight))/real - 1)
				if e = e.Observe(weight, int(real)); i == 0 {
					continue
				}
				if sum += off; off > 0.03 {
					wrong++
				}
			}
			if sum/299 > 0.015 || wrong > 20 {
				t.Errorf("%s, %s: %.1f %% on average, %d requests by more than 3 %%", name, script, sum/299*100, wrong)
			}
		}
	}
}

func TestCost(t *testing.T) {
	friday := func(clock string) time.Time {
		at, err := time.Parse("2006-01-02 15:04", "2026-11-20 "+clock)
		lethetest.Must(t, err)
		return at
	}
	million := Usage{Input: 2_000_000, Cached: 1_000_000, Output: 1_000_000, Reasoning: 500_000}
	const pro, flash = 0.022 + 0.66 + 1.98, 0.003 + 0.15 + 0.60
	shanghai := time.FixedZone("CST", 8*3600)
	for _, test := range []struct {
		model string
		at    time.Time
		want  float64
	}{
		{"deepseek-v4-pro", friday("12:00"), pro},
		{"deepseek-flash", friday("12:00"), flash},
		{"deepseek-v4-pro", friday("01:00"), 2 * pro},
		{"deepseek-v4-pro", friday("04:00"), pro},
		{"deepseek-v4-pro", friday("06:00"), 2 * pro},
		{"deepseek-flash", friday("09:59"), 2 * flash},
		{"deepseek-v4-pro", friday("10:00"), pro},
		{"deepseek-v4-pro", friday("02:00").AddDate(0, 0, 1), pro},                  // Saturday
		{"deepseek-v4-pro", friday("07:00").AddDate(0, 0, 2), pro},                  // Sunday
		{"deepseek-v4-pro", friday("07:00").AddDate(0, 0, 3), 2 * pro},              // Monday
		{"deepseek-v4-pro", time.Date(2026, 11, 20, 9, 0, 0, 0, shanghai), 2 * pro}, // 01:00 UTC
	} {
		got, known := Known(nil).Cost(test.model, million, test.at)
		if !known || math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s at %s: %v, %v, want %v", test.model, test.at, got, known, test.want)
		}
	}
	if usd, known := Known(nil).Cost("gpt-0", million, friday("12:00")); known || usd != 0 {
		t.Errorf("unknown model: %v, %v", usd, known)
	}
	for model, want := range map[string]string{"gpt-0": "?", "rehearsal": "0.0000", "deepseek-flash": "0.0000"} {
		if got := Dollars(model, 0); got != want {
			t.Errorf("nothing of %s is %s", model, got)
		}
	}
	if usd, _ := Known(nil).Cost("deepseek-flash", Usage{Input: 10, Cached: 20, Output: -5}, friday("12:00")); usd < 0 ||
		math.Abs(usd-10*0.003/1e6) > 1e-12 {
		t.Errorf("absurd usage: %v", usd)
	}
}

// What no counted request began with may be a token a character; the rest counts as it did, and a quarter.
func TestMost(t *testing.T) {
	last := Request{Model: "m", Tools: []byte(`[{"a":1}]`),
		Messages: []Message{{Role: "system", Content: Text("You are Ada.")}, {Role: "user", Content: Text("hello")}}}
	next := last
	next.Messages = append(slices.Clone(last.Messages),
		Message{Role: "assistant", Calls: []ToolCall{{ID: "1", Name: "BASH", Arguments: "{}"}}})
	edited, other, tools := next, next, next
	edited.Messages = append(slices.Clone(next.Messages[:1]), Message{Role: "user", Content: Text("help")})
	other.Model, tools.Tools = "n", []byte(`[{"a":2}]`)
	for name, c := range map[string]struct {
		request Request
		shared  int
	}{
		"the same": {last, last.Weight()}, "one more": {next, last.Weight()}, "nothing counted": {Request{Model: "m"}, 0},
		"edited": {edited, len(last.Tools) + last.Messages[0].Weight()}, "another model": {other, 0}, "other tools": {tools, 0},
	} {
		if got := c.request.Shared(last); got != c.shared {
			t.Errorf("%s: %d characters are shared, want %d", name, got, c.shared)
		}
	}
	for _, c := range []struct{ chars, shared, counted, want int }{
		{1000, 0, 0, 1000}, {1000, 800, 200, 450}, {1000, 50, 200, 1000}, {0, 0, 0, 0}, {1000, 1000, 200, 250},
	} {
		if got := Most(c.chars, c.shared, c.counted); got != c.want {
			t.Errorf("Most(%d, %d, %d) = %d, want %d", c.chars, c.shared, c.counted, got, c.want)
		}
	}
}

// A server that keeps the end of a prompt counts that alone: after two such counts it is known. One odd count, one of a
// server that counts only what its cache lacks, and thoughts that a template leaves out, are nothing.
func TestCounts(t *testing.T) {
	t.Parallel()
	grow := func(r Request, chars, thoughts int) Request {
		reply := Message{Role: "assistant", Content: Text("ok"), Reasoning: strings.Repeat("hm ", thoughts/3)}
		said := Message{Role: "user", Content: Text(strings.Repeat("word ", chars/5))}
		r.Messages = append(slices.Clone(r.Messages), reply, said)
		return r
	}
	for name, test := range map[string]struct {
		chars, thoughts int // that each request is longer by
		count           func(n, real, more int) int
		believed        int // of eight counts
		cut             bool
	}{
		"all of it":      {16_000, 0, func(_, real, _ int) int { return real }, 8, false},
		"a small window": {16_000, 0, func(_, real, _ int) int { return min(real, 2051) }, 0, true},
		"a window":       {16_000, 0, func(_, real, _ int) int { return min(real, 20_000) }, 4, true},
		"whole messages": {16_000, 0, func(n, real, _ int) int { return min(real, 20_000-n%3*900) }, 0, true},
		"one odd count": {16_000, 0, func(n, real, _ int) int {
			if n == 3 {
				real = 300
			}
			return real
		}, 7, false},
		"what is new alone": {16_000, 0, func(_, _, more int) int { return more }, 1, false},
		"without thoughts":  {400, 16_000, func(n, real, _ int) int { return real - n*16_000/3 }, 8, false},
		"nothing":           {16_000, 0, func(int, int, int) int { return 0 }, 8, false},
	} {
		r := Request{Model: "m", Messages: []Message{
			{Role: "system", Content: Text(strings.Repeat("rule ", 5600))}, {Role: "user", Content: Text("past")},
		}}
		var counts Counts
		believed, cut, before := 0, false, 0
		for n := range 8 {
			real := Estimator{}.Tokens(r.Weight())
			ok, is := counts.Judge(r, test.count(n, real, real-before))
			if ok {
				believed++
			}
			cut, before = cut || is, real
			r = grow(r, test.chars, test.thoughts)
		}
		if cut != test.cut || test.believed > 0 && believed != test.believed {
			t.Errorf("%s: cut %v, and %d counts were believed", name, cut, believed)
		}
	}
}
