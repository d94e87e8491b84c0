package replay

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
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

// resident makes a trace of a life that works without an end while somebody writes to it so many times, some words on
// average and now and then a page. Each message but the first comes behind an answer.
func resident(requests, messages, words int, seed uint64) []Item {
	rng := rand.New(rand.NewPCG(seed, 2))
	var out []Item
	day := history(requests, 830, seed)
	for i, item := range day {
		if item.Kind == User || item.Kind == Asst && (i == len(day)-1 || day[i+1].Kind != Tool) {
			continue // only the messages are heard, and what answers them ends a turn
		}
		if n := len(out); item.Kind == Asst && rng.IntN(requests) < messages {
			if n > 0 {
				out = append(out, Item{Asst, fmt.Sprintf("That is done: %d.", n)})
			}
			size := 1 + int(float64(words)*math.Exp(rng.NormFloat64()-0.5))
			out = append(out, Item{User, fmt.Sprintf("Now look at store%d, please. ", n) + strings.Repeat("It was slow on Friday. ", 1+size/5)})
		}
		out = append(out, item)
	}
	return append(out, Item{Asst, "All is done."})
}

// ended is a trace in which only every so manieth task ends with an answer, none where that is 0: the others go on
// until somebody says something else.
func ended(items []Item, every int) (out []Item) {
	done := 0
	for i, item := range items {
		if item.Kind == Asst && (i == len(items)-1 || items[i+1].Kind == User) {
			if done++; every == 0 || done%every > 0 {
				continue
			}
		}
		out = append(out, item)
	}
	return out
}

// What a day of a coding agent costs with the default settings, and that it costs hardly more where few tasks end with an
// answer, or none; docs/internals/forgetting.md has the figures.
func TestCostOfADay(t *testing.T) {
	if !lethetest.Long() {
		t.Skip("takes minutes; LETHE_LONG=1 runs it")
	}
	for step, most := range map[int]float64{640: 4.1, 830: 3.6} {
		items := history(1870, step, 1)
		all := cheap(t, fmt.Sprintf("steps of %d tokens", step), items, most)
		if got := float64(all.History.Tokens) / float64(all.Main.Requests*step); math.Abs(got-1) > 0.03 {
			t.Errorf("steps of %.0f tokens, not %d", got*float64(step), step)
		}
		for _, every := range []int{20, 0} {
			cheap(t, fmt.Sprintf("steps of %d tokens, of so many tasks ends one: %d", step, every), ended(items, every), all.PerMillion+0.3)
		}
	}
	for _, words := range []int{150, 800} {
		items := resident(1870, 181, words, 1)
		all := cheap(t, fmt.Sprintf("181 messages of %d tokens", words), items, 3.6)
		for _, every := range []int{20, 0} {
			cheap(t, fmt.Sprintf("181 messages of %d tokens, of so many tasks ends one: %d", words, every), ended(items, every), all.PerMillion+0.3)
		}
	}
}

// cheap replays a trace with the default settings, for at most so many USD a million tokens.
func cheap(t *testing.T, name string, items []Item, most float64) Report {
	t.Helper()
	r := replayed(t, items, Default())
	t.Logf("%s\n%s", name, r)
	if r.PerMillion > most || r.Delayed+r.Over+r.Mechanical > 0 || within2(r.Reach) < 0.999999 || 10*r.Unused > r.Summaries {
		t.Errorf("%s: more than %.2f USD, or a turn that waited, text out of reach, or summaries in vain", name, most)
	}
	return r
}

// Of the summaries that are asked for at most one in ten is not used, of work and of talk, where the limit is small too.
func TestSummariesAreUsed(t *testing.T) {
	for name, items := range map[string][]Item{
		"work": history(300, 300, 3), "work without an end": ended(history(300, 300, 4), 0), "talk": talk(t, 0), "talk without an end": talk(t, 1),
	} {
		for _, limit := range []int{15_000, 20_000, 36_000} {
			o := Default()
			o.Limit, o.MaxTokens = limit, min(2500, limit/6)
			r := replayed(t, items, o)
			t.Logf("%s, limit %d\n%s", name, limit, r)
			if 10*r.Unused > r.Summaries || limit < 36_000 && r.Summaries == 0 || r.Delayed+r.Over > 0 || within2(r.Reach) < 0.999999 {
				t.Errorf("%s, limit %d: of %d summaries %d were not used\n%s", name, limit, r.Summaries, r.Unused, r)
			}
		}
	}
}

// talk is a trace of the two plays of docs/internals/plays, one after the other and each twice: what people say in them, read from files
// where they name one, with short answers, which so many calls post.
func talk(t *testing.T, calls int) (out []Item) {
	t.Helper()
	for _, name := range []string{"club", "service", "club", "service"} {
		script := lethetest.Page(t, "internals/plays/"+name+".txt")
		files, file := map[string]string{}, ""
		for line := range strings.Lines(script) {
			who, text, said := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case line == ".\n":
				file = ""
			case file != "":
				files[file] += line
			case strings.HasPrefix(line, "file "):
				file = strings.TrimSpace(line[5:])
			case said && !strings.ContainsAny(who, " #="):
				out = append(out, Item{User, who + ": " + text})
				for _, named := range slices.Sorted(maps.Keys(files)) {
					if strings.Contains(text, named) {
						out = append(out, Item{Asst, "I look at " + named}, Item{Tool, files[named]})
					}
				}
				out = append(out, Item{Asst, "I keep in mind, " + who + ": " + text[:len(text)/2]})
				out = append(out, slices.Repeat([]Item{{Tool, "It is in the room."}}, calls)...)
			}
		}
	}
	return out
}
