package replay

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"lethe/internal/test/lethetest"
	_ "lethe/internal/test/seed"
)

func TestMain(m *testing.M) {
	if os.Getenv("LETHE_LONG") == "" {
		_ = flag.Set("rapid.checks", "20") // it is there
	}
	goleak.VerifyTestMain(m)
}

var update = flag.Bool("update", false, "write the golden files anew")

// small are options under which little is enough to be forgotten.
func small() Options {
	o := Default()
	o.Limit, o.MaxTokens, o.Delay = 36_000, 12_000, 1
	return o
}

func replayed(t testing.TB, items []Item, opts Options) Report {
	t.Helper()
	r, err := Run(t.Context(), of(items), opts)
	lethetest.Must(t, err)
	return r
}

// A golden report: what changes it changes what every life costs. Neither the
// clock nor the order in which summaries come back is in it.
func TestGoldenReport(t *testing.T) {
	got := replayed(t, history(100, 640, 7), small()).String()
	if again := replayed(t, history(100, 640, 7), small()).String(); again != got {
		t.Errorf("the same trace gives\n%s\nthen\n%s", got, again)
	}
	const golden = "testdata/report.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the report has changed; if that is meant, run with -update\n%s\nwant\n%s", got, want)
	}
}

// Whatever comes, in whatever order: no request is over the limit, none waits,
// and every byte can be reached. What a request will be counted as is an estimate;
// texts that change from one script to another in a moment have it lag behind, by
// as much as a character of the one may count more than one of the other.
func TestBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := small()
		o.Limit, o.MaxTokens = rapid.SampledFrom([]int{18_000, 24_000, 40_000}).Draw(t, "limit"), 0
		o.Compactor = rapid.SampledFrom([]string{ByModel, Mechanical}).Draw(t, "compactor")
		o.Target = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "target")
		o.Delay = rapid.IntRange(0, 30).Draw(t, "delay")
		texts, most := []string{"ok ", "Never push to main. ", "{\"k\":1}\n", "crème brûlée "}, o.Limit
		if rapid.Bool().Draw(t, "scripts") {
			texts, most = append(texts, "日本語の文章。", "◆ e1 inbound\n◱hash=00 gist=x◲ ", "a\x00b\xff🦊 "), 2*o.Limit
		}
		text := rapid.SampledFrom(texts)
		item := rapid.Custom(func(t *rapid.T) Item {
			times := rapid.SampledFrom([]int{1, 30, 300, 2000, 8000}).Draw(t, "times")
			return Item{rapid.SampledFrom([]string{User, Asst, Asst, Tool, Tool}).Draw(t, "kind"), strings.Repeat(text.Draw(t, "text"), times)}
		})
		items := rapid.SliceOfN(item, 1, 40).Draw(t, "items")
		for i, it := range items { // an answer is bounded by max_tokens
			if it.Kind == Asst {
				items[i].Text = strings.ToValidUTF8(it.Text[:min(len(it.Text), 2000)], "")
			}
		}
		r, err := Run(context.Background(), of(items), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Delayed > 0 || r.Largest > most || (r.Over > 0) != (r.Largest > o.Limit) {
			t.Fatalf("%d requests over the limit, %d delayed, the largest %d of %d", r.Over, r.Delayed, r.Largest, o.Limit)
		}
		if r.Reach.Unreachable != 0 || r.Reach.Near() < 0.999999 {
			t.Fatalf("%+v", r.Reach)
		}
	})
}

// What a setting costs or saves, beside the same history.
func TestSettings(t *testing.T) {
	items := history(100, 640, 8)
	with := func(f func(*Options)) Report {
		o := small()
		f(&o)
		r := replayed(t, items, o)
		if r.Compactions == 0 || r.Over > 0 || r.Delayed > 0 || r.PerMillion <= 0 || r.Reach.Unreachable != 0 || r.Reach.Near() < 0.9999 {
			t.Errorf("%+v", r)
		}
		return r
	}
	usual := with(func(*Options) {})
	if r := with(func(o *Options) { o.Compactor = Mechanical }); r.Compaction.Requests > 0 || r.Mechanical != r.Compactions {
		t.Errorf("mechanical: %+v", r)
	}
	if r := with(func(o *Options) { o.Target = 0.75 }); r.PerMillion <= usual.PerMillion || r.Compactions <= usual.Compactions {
		t.Errorf("little fades: %+v", r)
	}
	// Answers that never come in time: the mechanical path makes room.
	if r := with(func(o *Options) { o.Delay = 1000 }); r.Discarded == 0 || r.Mechanical != r.Compactions || r.Compaction.Requests == 0 {
		t.Errorf("late answers: %+v", r)
	}
}

func TestEmptyTrace(t *testing.T) {
	r := replayed(t, nil, Default())
	if r.Main.Requests != 0 || r.PerMillion != 0 || r.CacheShare != 0 || r.Reach.Unreachable != 0 {
		t.Errorf("%+v", r)
	}
	if r = replayed(t, []Item{{User, "hello?"}}, Default()); r.Main.Requests != 0 || r.History.Lines != 1 {
		t.Errorf("nobody answers: %+v", r)
	}
	_ = r.String() // no division by zero
}

func TestOptionErrors(t *testing.T) {
	nan := 0.0
	nan /= nan
	for option, f := range map[string]func(*Options){
		"limit":       func(o *Options) { o.Limit = 0 },
		"limit ":      func(o *Options) { o.Limit = 5000 },
		"max-tokens":  func(o *Options) { o.MaxTokens = o.Limit },
		"max-tokens ": func(o *Options) { o.MaxTokens = -1 },
		"compactor":   func(o *Options) { o.Compactor = "best" },
		"target":      func(o *Options) { o.Target = 1.5 },
		"target ":     func(o *Options) { o.Target = nan },
		"delay":       func(o *Options) { o.Delay = -1 },
		"model":       func(o *Options) { o.Model = "gpt-5" },
	} {
		o := Default()
		f(&o)
		_, err := Run(context.Background(), of(nil), o)
		var bad *OptionError
		if !errors.As(err, &bad) || bad.Option != strings.TrimSpace(option) {
			t.Errorf("%s: %v", option, err)
		}
	}
}

func TestRunErrors(t *testing.T) {
	bad := Read(strings.NewReader("{\"kind\":\"user\",\"text\":\"x\"}\n{\"kind\":\"asst\"}\n"))
	if _, err := Run(context.Background(), bad, Default()); err == nil || err.Error() != `read trace: line 2: no "text"` {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, of([]Item{{Asst, "x"}}), Default()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
