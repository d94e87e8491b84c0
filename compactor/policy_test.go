package compactor_test

import (
	"errors"
	"lethe/compactor"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	w := compactor.Window{Limit: 100_000, Fixed: 4000, Answer: 16_000}
	if w.Free() != 80_000 || w.Batch() != 12_500 || w.Page() != 8000 {
		t.Errorf("%d free, a batch of %d, a page of %d", w.Free(), w.Batch(), w.Page())
	}
	if s := w.Settings(); s != compactor.Default(100_000) {
		t.Errorf("with room for all budgets: %+v", s)
	}
	small := compactor.Window{Limit: 16_000, Fixed: 8000, Answer: 2000}
	if past := small.Settings().Past * 0.26 * 16_000; past < 1999 || past > 2001 {
		t.Errorf("the past may have %f of 6000 tokens", past)
	}
	for _, c := range []struct {
		tokens, after int
		due           bool
	}{{85_000, 0, false}, {85_001, 0, true}, {86_000, 84_500, false}, {87_000, 84_500, true}} {
		if w.Due(c.tokens, c.after) != c.due {
			t.Errorf("%d tokens, %d after the last compaction: due is %v", c.tokens, c.after, !c.due)
		}
	}
	for _, c := range []struct{ tokens, told, want int }{
		{95_000, 0, 71_250}, {95_000, 60_000, 60_000}, {95_000, 99_000, 85_500}, {120_000, 110_000, 90_000}, {95_000, 5000, 7000},
	} {
		if got := w.Lower(c.tokens, c.told); got != c.want {
			t.Errorf("%d tokens refused with %d: the limit becomes %d, want %d", c.tokens, c.told, got, c.want)
		}
	}
}

// The least limit is enough, and none below it is.
func TestLeastLimit(t *testing.T) {
	for _, fixed := range []int{0, 4000, 30_000, 200_000} {
		for _, asked := range []int{0, 1024, 50_000} {
			free := func(limit int) int {
				answer := asked
				if asked == 0 {
					answer = compactor.AnswerTokens(0, limit)
				}
				return compactor.Window{Limit: limit, Fixed: fixed, Answer: answer}.Free()
			}
			leastFree := compactor.MinFree(fixed)
			least, _ := compactor.LeastLimit(fixed, leastFree, asked)
			if free(least) < leastFree || free(least-3) >= leastFree {
				t.Errorf("fixed %d, answer %d: %d leaves %d free", fixed, asked, least, free(least))
			}
		}
	}
}

func TestRecent(t *testing.T) {
	lines := []string{"one", "two", "three"}
	weigh := func(s string) int { return len(s) }
	for most, want := range map[int]string{0: "", 6: "three", 10: "two three", 100: "one two three"} {
		if got := strings.Join(compactor.Recent(lines, most, weigh), " "); got != want {
			t.Errorf("%q weigh no more than %d, want %q", got, most, want)
		}
	}
}

// Room is made by the gentlest measure that suffices, and each is taken as long
// as it brings something.
func TestMakeRoom(t *testing.T) {
	w, set := compactor.Window{Limit: 1000}, compactor.Settings{Target: 0.5}
	for name, c := range map[string]struct {
		freed []int // tokens, by compaction
		calls []float64
		fits  bool
	}{
		"at once":    {[]int{300}, []float64{0.5}, true},
		"in rounds":  {[]int{100, 50, 100}, []float64{0.5, 0.5, 0.5}, true},
		"harder":     {[]int{0, 0, 200}, []float64{0.5, 0, 0}, true},
		"impossible": {nil, []float64{0.5, 0, 0, 0, 0, 0}, false},
	} {
		tokens, freed := 1100, c.freed
		var calls []float64
		fits, err := w.MakeRoom(set, func() int { return tokens }, func(set compactor.Settings, _ float64) error {
			calls = append(calls, set.Target)
			if len(freed) > 0 {
				tokens, freed = tokens-freed[0], freed[1:]
			}
			return nil
		})
		if err != nil || fits != c.fits || !slices.Equal(calls, c.calls) {
			t.Errorf("%s: %v %v %v", name, fits, calls, err)
		}
	}
	broken := errors.New("disk full")
	if _, err := w.MakeRoom(set, func() int { return 2000 },
		func(compactor.Settings, float64) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestBackoff(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var b compactor.Backoff
	for i, want := range []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour} {
		if pause, first := b.Failed(now); pause != want || first != (i == 0) || !b.Waits(now.Add(want-1)) || b.Waits(now.Add(want)) {
			t.Errorf("failure %d: a pause of %v, first %v", i, pause, first)
		}
	}
	for range 50 {
		b.Failed(now)
	}
	if pause, _ := b.Failed(now); pause != 8*time.Hour {
		t.Errorf("at last a pause of %v", pause)
	}
	b.Succeeded()
	if b.Waits(now) || b.Outpaced() || !b.Outpaced() {
		t.Error("only the second job in a row that is outpaced has failed")
	}
	if _, first := b.Failed(now); !first {
		t.Error("that the summariser is too slow is not told")
	}
}
