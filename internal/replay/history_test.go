package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lethe/internal/lethetest"
	"lethe/llm/rehearsal"
)

// history makes a trace of at least so many requests that resembles a day of a coding agent, in which some step tokens
// come in from one request to the next: turns of 5 to 45 requests, each with some words, a command or an edit, and its
// result; now and then a person's line in the middle of a turn, or a rule. Nothing is longer than what is shown of a
// result, so all of it costs. The same numbers give the same trace.
func history(requests, step int, seed uint64) []Item {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []Item
	asked, size := 0, 0
	put := func(kind, format string, args ...any) {
		item := Item{kind, fmt.Sprintf(format, args...)}
		if out, size = append(out, item), size+rehearsal.Tokens(item.Text); kind == Asst {
			asked++
		}
	}
	// code is a listing of a share of a step on average, at most so many tokens: most are short, some ten times as long.
	// What the steps so far lack, or have too much, goes into the next ones.
	code := func(issue int, share float64, most int) string {
		var b strings.Builder
		lack := 1 + max(-0.5, min(0.5, float64(asked*step-size)/float64(10*step)))
		size := min(most, int(lack*share*float64(step)*math.Exp(0.9*rng.NormFloat64()-0.9*0.9/2)))
		for size *= 4; b.Len() < size; {
			fmt.Fprintf(&b, "%4d\tif err := store%d.load(key%d); err != nil { return pool.retry(%x) }\n", b.Len()/70, issue%9, rng.IntN(99), rng.Uint32())
		}
		return b.String()[:min(b.Len(), max(size, 40))]
	}
	for issue := 100; asked < requests; issue++ {
		rule := ""
		if rng.IntN(4) == 0 {
			rule = fmt.Sprintf(" Never push issue-%d to main without a test.", issue)
		}
		put(User, "#%d the build is red: deadlock in pool%d/reload_%d.go after the second reload.%s\n%s", issue, issue%5, issue, rule, code(issue, 0.2, step))
		for range 4 + int(min(40, 12*rng.ExpFloat64())) {
			switch n := rng.IntN(100); {
			case n < 20:
				put(Asst, "The lock is taken twice in reload_%d.go; I change that.\n$ edit reload_%d.go\n%s", issue, issue, code(issue, 0.6, step))
				put(Tool, "edited reload_%d.go. It reads now:\n%s", issue, code(issue, 0.5, 1900))
			case n < 40:
				put(Asst, "And the tests of pool%d, with the race detector.\n$ go test -race ./pool%d/... -run TestReload%d", issue%5, issue%5, issue)
				put(Tool, "--- PASS: TestReload%d (0.%02ds)\n%sok  \tpool%d", issue, rng.IntN(100), code(issue, 0.5, 1900), issue%5)
			case n < 43:
				put(User, "And what of store%d? It was slow on Friday as well.", rng.IntN(9))
				fallthrough
			default:
				put(Asst, "I read how pool%d/reload_%d.go takes its locks, before I change anything there.\n$ sed -n '1,$p' reload_%d.go", issue%5, issue, issue)
				put(Tool, "%s", code(issue, 1.24, 1900))
			}
		}
		put(Asst, "#%d is fixed: reload_%d.go took its lock twice. I will watch the next run.\n%s", issue, issue, code(issue, 0.2, step))
	}
	return out
}

// What a day of a coding agent costs with the default settings; docs/internals/forgetting.md has the figures.
func TestCostOfADay(t *testing.T) {
	if !lethetest.Long() {
		t.Skip("takes a minute; LETHE_LONG=1 runs it")
	}
	for step, most := range map[int]float64{640: 4.1, 830: 3.6} {
		r := replayed(t, history(1870, step, 1), Default())
		t.Logf("steps of %d tokens\n%s", step, r)
		if got := float64(r.History.Tokens) / float64(r.Main.Requests*step); math.Abs(got-1) > 0.03 {
			t.Errorf("steps of %.0f tokens, not %d", got*float64(step), step)
		}
		if r.PerMillion > most || r.Delayed+r.Over+r.Mechanical > 0 || within2(r.Reach) < 0.999999 {
			t.Errorf("more than %.2f USD, or a turn that waited, or text out of reach", most)
		}
	}
}
