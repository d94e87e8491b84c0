package chat_test

import (
	"strings"
	"testing"

	"lethe/chat"
	"lethe/internal/test/lethetest"
)

// The lines of docs/agents.md are read, and written back as they stand.
func TestOutcomesOfThePage(t *testing.T) {
	_, rest, _ := strings.Cut(lethetest.Page(t, "agents.md"), "```outcome\n")
	lines, _, _ := strings.Cut(rest, "\n```")
	for i, line := range strings.Split(lines, "\n") {
		o, ok := chat.ParseOutcome(line)
		if !ok || o.String() != line || o.N != i+1 || o.Failed != (i == 1) {
			t.Errorf("%q is read as %+v, %v", line, o, ok)
		}
	}
	for _, line := range []string{"", " result 1: x", "result 0: x", "result 01: x", "result: x", "result 1 x", "Result 1: x",
		"the result 1: x", "result 99999999999: x"} {
		if o, ok := chat.ParseOutcome(line); ok {
			t.Errorf("%q is read as %+v", line, o)
		}
	}
}
