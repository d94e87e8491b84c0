package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"lethe/llm/rehearsal"
)

// history makes a trace of at least so many tokens that resembles the log of a
// coding agent: issues, reads, test runs, now and then a rule or a long output.
// The same numbers give the same trace.
func history(tokens int, seed uint64) []Item {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []Item
	size := 0
	put := func(kind, format string, args ...any) {
		item := Item{kind, fmt.Sprintf(format, args...)}
		out, size = append(out, item), size+rehearsal.Tokens(item.Text)
	}
	source := func(issue, lines int) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "%4d\tif err := store%d.load(key%d); err != nil { return pool.retry(%x) }\n", i, issue%9, rng.IntN(99), rng.Uint32())
		}
		return b.String()
	}
	for issue := 100; size < tokens; issue++ {
		rule := ""
		if rng.IntN(4) == 0 {
			rule = fmt.Sprintf(" Never push issue-%d to main without a test.", issue)
		}
		put(User, "#%d the build is red: deadlock in pool%d/reload_%d.go after the second reload.%s", issue, issue%5, issue, rule)
		for range 2 + rng.IntN(5) {
			put(Asst, "I read pool%d/reload_%d.go first.\n$ sed -n '1,$p' reload_%d.go", issue%5, issue, issue)
			put(Tool, "%s", source(issue, 20+rng.IntN(60)))
		}
		if rng.IntN(5) == 0 {
			put(Asst, "The whole log should tell.\n$ cat run.log")
			put(Tool, "%s", source(issue, 400+rng.IntN(400)))
		}
		put(Asst, "And the tests.\n$ go test ./pool%d/...", issue%5)
		put(Tool, "--- PASS: TestReload%d (0.%02ds)\nok  \tpool%d", issue, rng.IntN(100), issue%5)
		put(Asst, "#%d is fixed: reload_%d.go took its lock twice. I will watch the next run.", issue, issue)
	}
	return out
}
